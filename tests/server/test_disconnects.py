"""Clients that leave, and a sidecar that leaves: nothing is left behind and nothing is lost."""

import itertools
import json
import random
import signal
import socket
import threading
import time
import unittest

from harness import (
    DEADLINE,
    DONE,
    LONG,
    SANITIZED,
    SEED,
    TestCase,
    answer,
    begin_stream,
    completion,
    config,
    event,
    send_chunk,
    spare_port,
    wait_until,
)
from malformed import AUTH
from swarm import CLOSE, FIN, RESET, Plan, Swarm

ASK = {"model": "hotel/demo", "messages": []}
BREAKER = "resilience: {circuit_breaker: {failure_threshold: 1}}"
# What a peak leaves open for a while by design: libcurl handles, a few descriptors each. Thousands of
# clients have left by then, so that a leak would show far above it.
KEPT = 24


def request(body, head=b""):
    body = json.dumps(body).encode()
    start = b"POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\n" + head + AUTH
    return start + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Disconnects(TestCase):
    CLIENTS = 200
    SECONDS = 60 if LONG else 15

    def sidecar(self, **options):
        """In front of a provider whose streams never end by themselves, and one that thinks long."""
        sim = self.sim()
        text = config(
            {"p1": sim}, {"demo": ["p1/frames-1000000+gap-20ms"], "slow": ["p1/delay-head-10m"]}, extra=BREAKER, **options
        )
        return self.hoteld(text), sim

    def leaver(self, rng):
        """A client that leaves at a random point."""
        data = request({"model": rng.choice(["hotel/demo", "hotel/demo", "hotel/slow"]), "messages": [], "stream": True})
        how = rng.choice([CLOSE, RESET, FIN])
        if rng.random() < 0.2:  # inside the request
            return Plan(data[: rng.randrange(len(data))], then=how)
        # Later: a last piece of nothing is "sent" after the pause.
        return Plan([data, b""], gap=rng.random() * 0.6, then=how)

    def churn(self, hoteld, rng, seconds, at_least=0):
        """Clients that come and leave for so long, and until so many have left; their number."""
        end = time.monotonic() + seconds

        def leavers():
            for number in itertools.count():
                if time.monotonic() > end and number > at_least:
                    return
                yield self.leaver(rng)

        return sum(1 for _ in Swarm(hoteld.address, width=self.CLIENTS).each(leavers()))

    def test_200_clients_that_leave_at_random_points_leave_nothing_behind(self):
        hoteld, sim = self.sidecar()
        rng = random.Random(SEED)
        self.churn(hoteld, rng, 1.0)
        wait_until(lambda: sim.open_connections() == 0, "the warm-up is over")
        descriptors = hoteld.descriptors()
        left = 0
        times = []
        stay = [request(dict(ASK, stream=True))] * 20
        for _ in range(3):
            # Those who stay are the live requests.
            staying = []
            for data in stay:
                client = hoteld.client()
                client.send(data)
                self.assertEqual(client.read_head()[0], 200)
                staying.append(client)
            left += self.churn(hoteld, rng, self.SECONDS / 3, at_least=4 * self.CLIENTS)
            quiet = time.monotonic()
            wait_until(lambda: sim.open_connections() == len(stay), "only live requests have connections")
            times.append(time.monotonic() - quiet)
            for client in staying:
                client.sock.close()
            quiet = time.monotonic()
            wait_until(lambda: sim.open_connections() == 0, "no request, no connection")
            times.append(time.monotonic() - quiet)
            wait_until(lambda: hoteld.descriptors() <= descriptors + KEPT, "no descriptor is left")
        print("\n%d clients left; the upstream followed within %.0f ms" % (left, max(times) * 1000))
        self.assertGreater(left, 10 * self.CLIENTS)
        # 0.1 on a machine of its own; where others have the processor, at least now and then.
        self.assertLess(min(times[0::2]), 2.0)
        self.assertLess(min(times[1::2]), 2.0)
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())
        self.assertNotIn(" charge ", hoteld.stderr())


class HalfClose(TestCase):
    """A client that shuts its sending side while it waits counts as gone."""

    def held(self):
        reached = threading.Event()

        def script(conn, seen, number):
            reached.set()
            conn.recv(1)
            seen.closed.set()
            return False

        hoteld, (upstream,) = self.group(script, extra=BREAKER)
        return hoteld, upstream, reached

    def test_while_it_waits_for_the_answer(self):
        hoteld, upstream, reached = self.held()
        with hoteld.client() as client:
            client.send(request(ASK))
            self.assertTrue(reached.wait(DEADLINE))
            client.sock.shutdown(socket.SHUT_WR)
            self.assertTrue(upstream.seen[0].closed.wait(DEADLINE))
            self.assertTrue(client.is_closed())
        wait_until(lambda: "status=499" in hoteld.stderr(), "a record with status 499")
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())

    def test_also_with_pipelined_bytes_unread(self):
        hoteld, upstream, reached = self.held()
        with hoteld.client() as client:
            client.send(request(ASK))
            self.assertTrue(reached.wait(DEADLINE))
            client.send(b"x" * 1000)
            client.sock.shutdown(socket.SHUT_WR)
            self.assertTrue(upstream.seen[0].closed.wait(DEADLINE))
        wait_until(lambda: "status=499" in hoteld.stderr(), "a record with status 499")

    def test_behind_a_stream_that_runs(self):
        def script(conn, seen, number):
            begin_stream(conn)
            send_chunk(conn, event("first"))
            conn.recv(1)
            seen.closed.set()
            return False

        hoteld, (upstream,) = self.group(script, extra=BREAKER)
        with hoteld.client() as client:
            client.send(request(dict(ASK, stream=True)))
            self.assertEqual(client.read_head()[0], 200)
            self.assertTrue(client.read_chunk())
            client.sock.shutdown(socket.SHUT_WR)
            self.assertTrue(upstream.seen[0].closed.wait(DEADLINE))
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())

    def test_inside_a_request_it_ends_the_connection(self):
        hoteld, _, reached = self.held()
        data = request(ASK)
        for cut in (0, 1, 50, len(data) - 1):
            with hoteld.client() as client:
                client.send(data[:cut])
                client.sock.shutdown(socket.SHUT_WR)
                self.assertTrue(client.is_closed())
        self.assertFalse(reached.is_set())

    def test_a_refusal_still_reaches_who_has_closed_its_sending_side(self):
        hoteld, _, _ = self.held()
        with hoteld.client() as client:
            client.send(b"BREW /coffee HTTP/1.1\r\nHost: x\r\n\r\n")
            client.sock.shutdown(socket.SHUT_WR)
            self.assertEqual(client.read_answer().status, 501)


class Drain(TestCase):
    STREAMS = 50
    FRAMES = 160  # eight seconds: they run on while the doors close

    def test_SIGTERM_under_load_loses_no_accepted_request(self):
        sim = self.sim()
        text = config(
            {"p1": sim},
            {"demo": ["p1/frames-%d+gap-50ms" % self.FRAMES], "whole": ["p1/delay-head-300ms"]},
            server="drain_timeout: %ds" % (120 if SANITIZED else 60),
        )
        first = self.hoteld(text, args=["--listen", "127.0.0.1:%d" % spare_port()])
        ready = threading.Event()
        stop = threading.Event()
        answered, lost, refused, starting, shut_out = [], [], [], [], []

        def one():
            """A request on a connection of its own; only who was never connected may go without answer."""
            try:
                client = first.client(timeout=2 * DEADLINE)
            except ConnectionError:
                refused.append(time.monotonic())
                return
            connected = time.monotonic()
            with client:
                try:
                    client.send(request(dict(ASK, model="hotel/whole")))
                    got = client.read_answer()
                    if got.status == 200:
                        answered.append(got)
                    elif got.status == 503 and got.error["code"] == "starting":
                        starting.append(got)  # the second sidecar, which listens before it is ready
                    else:
                        lost.append(got.status)
                except ConnectionResetError:
                    shut_out.append(connected)
                except (OSError, AssertionError) as error:
                    lost.append(repr(error))

        def load():
            threads = []
            while not stop.wait(0.02):
                threads.append(threading.Thread(target=one))
                threads[-1].start()
                if len(answered) > 5:
                    ready.set()
            for thread in threads:
                thread.join()

        loader = threading.Thread(target=load)
        loader.start()
        streams = [
            Plan(request(dict(ASK, stream=True), b"Connection: close\r\n"), limit=3 * DEADLINE) for _ in range(self.STREAMS)
        ]
        swarm = threading.Thread(target=lambda: Swarm(first.address, width=self.STREAMS).run(streams))
        swarm.start()
        try:
            self.assertTrue(ready.wait(DEADLINE))
            wait_until(lambda: all(b"data:" in plan.received for plan in streams), "all streams run")
            first.signal(signal.SIGTERM)
            wait_until(lambda: refused, "nobody is connected any more")
            # The port is free while the first one still serves.
            self.assertIsNone(first.process.poll())
            second = self.hoteld(text, args=["--listen", "127.0.0.1:%d" % first.address[1]])
            self.assertEqual(second.chat(dict(ASK, model="hotel/whole")).status, 200)
            served = len(answered)
            wait_until(lambda: len(answered) > served + 5, "the load goes to the second one")
        finally:
            stop.set()
            loader.join()
            swarm.join()
        self.assertEqual(first.wait(2 * DEADLINE), 0)
        print("\n%d answered, %d refused at the door, %d told to wait" % (len(answered), len(refused), len(starting)))
        self.assertEqual(lost, [])
        # Between the last look at the queue and the close of the door the system lets somebody in and resets
        # them; who waited in the queue is the matter of another test.
        self.assertEqual([at for at in shut_out if at < refused[0] - 1], [])
        self.assertLessEqual(len(shut_out), 5)
        for plan in streams:
            self.assertEqual((plan.status, plan.ended), (200, "closed"))
            self.assertEqual(plan.received.count(b'"content":"'), self.FRAMES + plan.received.count(b'"content":""'))
            self.assertIn(DONE, plan.received)
            self.assertTrue(plan.received.endswith(b"0\r\n\r\n"))

    def test_what_has_been_sent_before_the_signal_is_served(self):
        """On a kept connection and on one that was just opened, read or not."""

        def script(conn, seen, number):
            return answer(conn, 200, completion())

        for kept in (True, False):
            with self.subTest(kept=kept):
                hoteld, _ = self.group(script)
                with hoteld.client() as client:
                    if kept:
                        client.send(request(ASK))
                        self.assertEqual(client.read_answer().status, 200)
                    hoteld.signal(signal.SIGSTOP)  # so that nothing is read before the signal
                    client.send(request(ASK))
                    hoteld.signal(signal.SIGTERM)
                    hoteld.signal(signal.SIGCONT)
                    self.assertEqual(client.read_answer().status, 200)
                    self.assertTrue(client.is_closed())
                self.assertEqual(hoteld.wait(), 0)

    def test_who_waits_to_be_accepted_is_served(self):
        hoteld, _ = self.group(lambda conn, seen, number: answer(conn, 200, completion()))
        hoteld.signal(signal.SIGSTOP)
        clients = [hoteld.client() for _ in range(100)]
        for client in clients:
            self.addCleanup(client.sock.close)
            client.send(request(ASK))
        hoteld.signal(signal.SIGTERM)
        hoteld.signal(signal.SIGCONT)
        for client in clients:
            self.assertEqual(client.read_answer().status, 200)
        self.assertEqual(hoteld.wait(), 0)

    def test_who_has_connected_and_sends_a_little_later_is_served(self):
        def on_time():
            hoteld, _ = self.group(lambda conn, seen, number: answer(conn, 200, completion()))
            with hoteld.client() as client:
                hoteld.chat(ASK)  # the connection in front of this one is accepted
                begun = time.monotonic()
                hoteld.signal(signal.SIGTERM)
                wait_until(lambda: "stopping" in hoteld.stderr(), "the stop has begun")
                client.send(request(ASK))
                # A second is given to it; on a loaded machine that may be over when it sends.
                if time.monotonic() - begun > 0.8:
                    return False
                self.assertEqual(client.read_answer().status, 200)
            self.assertEqual(hoteld.wait(), 0)
            return True

        wait_until(on_time, "it sends a little later and no more")


if __name__ == "__main__":
    unittest.main()
