"""Clients that are broken or mean: none of them costs more than its own connection."""

import collections
import json
import random
import select
import signal
import socket
import threading
import time
import unittest

from harness import (
    DEADLINE,
    DONE,
    MIB,
    SANITIZED,
    SEED,
    TestCase,
    answer,
    begin_stream,
    chat,
    completion,
    config,
    endless,
    event,
    memory_bound,
    send_chunk,
    wait_until,
)
from malformed import AUTH, EVIL, MAX_BODY, REFUSALS, corpus
from swarm import Plan, Swarm

ASK = {"model": "hotel/demo", "messages": []}
BODY = json.dumps(ASK).encode()
STREAM = json.dumps(dict(ASK, stream=True)).encode()
BREAKER = "resilience: {circuit_breaker: {failure_threshold: 1}}"


class GoodClient:
    """Asks for good answers beside everything else, and keeps what happened."""

    def __init__(self, hoteld):
        self.hoteld = hoteld
        self.stopped = threading.Event()
        self.served = 0
        self.slowest = 0.0
        self.problem = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            while not self.stopped.wait(0.05):
                before = time.monotonic()
                if self.hoteld.chat(BODY).status != 200:
                    raise AssertionError("a good request was not served")
                if self.hoteld.request("GET", "/health").body != b"OK":
                    raise AssertionError("/health did not answer")
                self.slowest = max(self.slowest, time.monotonic() - before)
                self.served += 1
        except Exception as error:  # noqa: BLE001 - reported by the assertion in stop
            self.problem = repr(error)

    def stop(self):
        self.stopped.set()
        self.thread.join(DEADLINE)
        if self.problem is not None:
            raise AssertionError(self.problem)
        return self.served


class Malformed(TestCase):
    COUNT = 10000
    WARM_UP = 2000

    def check(self, plan):
        """The reason why what happened to `plan` is wrong; None when it is right."""
        name, statuses = plan.tag[:2]
        if plan.ended == "late":
            return "%s: the connection was never closed" % name
        if name == "pipelined":
            good = plan.tag[2]
            rest = bytes(plan.received)
            for _ in range(good):
                if not rest.startswith(b"HTTP/1.1 200 "):
                    return "pipelined: a good request was not served: %r" % rest[:100]
                rest = rest.partition(b"\r\n\r\nOK")[2]
            got = int(rest[9:12]) if rest.startswith(b"HTTP/1.1 ") else None
        else:
            got = plan.status
        if got in statuses:
            return None
        # A reset may overtake an answer when the server closes with unread bytes.
        if got is None and plan.ended == "reset" and name not in ("early end",):
            return None
        return "%s: %s instead of %s, ended %s" % (name, got, sorted(map(str, statuses)), plan.ended)

    def run_corpus(self, hoteld, plans, seen):
        for plan in Swarm(hoteld.address, width=100).each(plans):
            problem = self.check(plan)
            self.assertIsNone(problem, problem)
            name = plan.tag[0]
            seen[name, plan.status] += 1
            if b"\r\n\r\n" in plan.received:
                self.assertNotIn(EVIL, plan.received)

    def test_ten_thousand_malformed_requests_hurt_nobody(self):
        hoteld, (upstream,) = self.group(chat(), server="max_request_size: %d" % MAX_BODY)
        rng = random.Random(SEED)
        seen = collections.Counter()
        plans = corpus(rng, self.COUNT)
        hoteld.chat(BODY)
        descriptors = hoteld.descriptors()
        good = GoodClient(hoteld)
        warm_up = []
        for plan in plans:
            warm_up.append(plan)
            if len(warm_up) == self.WARM_UP:
                break
        started = time.monotonic()
        self.run_corpus(hoteld, iter(warm_up), seen)
        before = hoteld.rss()
        self.run_corpus(hoteld, plans, seen)
        took = time.monotonic() - started
        grown = hoteld.rss() - before
        served = good.stop()
        print("\n%d requests in %.1f s, rss %.1f MiB, grown by %.1f MiB, %d good ones beside, the slowest in %.0f ms"
              % (sum(seen.values()), took, before / MIB, grown / MIB, served, good.slowest * 1000))
        self.assertEqual(sum(seen.values()), self.COUNT)
        self.assertGreater(served, 5)
        self.assertLess(grown, memory_bound(8 * MIB))
        # Resets are rare where the answer is awaited: nearly all were told what is wrong.
        unanswered = sum(n for (name, status), n in seen.items()
                         if status is None and name not in ("early end", "reset", "mutated", "pipelined"))
        self.assertLess(unanswered, self.COUNT // 100)
        # Every kind of refusal was seen, and nothing else.
        statuses = {status for _, status in seen}
        self.assertLessEqual({400, 404, 411, 413, 414, 415, 417, 431, 501, 505, None}, statuses)
        self.assertLessEqual(statuses, REFUSALS | {200, None})
        self.assertEqual({name for name, status in seen if status == 200}, {"pipelined"})
        # What reached the provider are the good requests, one by one, and nothing of the others.
        self.assertEqual(len(upstream.seen), served + 1)
        self.assertFalse([one for one in upstream.seen if EVIL in one.raw])
        # One kept connection of a good request may be in the pool.
        wait_until(lambda: hoteld.descriptors() <= descriptors + 1, "all descriptors are given back")
        self.assertEqual(hoteld.chat(BODY).status, 200)

    def test_a_request_behind_a_good_one_is_not_part_of_it(self):
        hoteld, (upstream,) = self.group(chat())
        good = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + AUTH + b"Content-Length: %d\r\n\r\n" % len(BODY)
        evil = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + AUTH + b"Content-Length: 9 9\r\n\r\n" + EVIL
        with hoteld.client() as client:
            client.send(good + BODY + evil)
            self.assertEqual(client.read_answer().status, 200)
            self.assertEqual(client.read_answer().status, 400)
            self.assertTrue(client.is_closed())
        self.assertEqual([one.body for one in upstream.seen], [BODY.replace(b"hotel/demo", b"model-p1")])

    def test_a_request_for_a_provider_needs_a_length(self):
        hoteld, (upstream,) = self.group(chat())
        with hoteld.client() as client:
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + AUTH + b"\r\n")
            answered = client.read_answer()
            self.assertEqual((answered.status, answered.error["code"]), (411, "length_required"))
            self.assertTrue(client.is_closed())
        self.assertEqual(upstream.seen, [])


class Floods(TestCase):
    def test_empty_lines_are_skipped_at_no_cost(self):
        hoteld = self.hoteld(config({}))
        with hoteld.client() as client:
            before = hoteld.cpu_seconds()
            for _ in range(20):
                client.send(b"\r\n" * 32768)
            client.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(client.read_answer().body, b"OK")
            self.assertLess(hoteld.cpu_seconds() - before, 5.0 if SANITIZED else 0.5)

    def test_who_has_no_key_cannot_fill_the_memory(self):
        hoteld, _ = self.group(chat())
        size = 4 * MIB
        before = hoteld.rss()
        head = b"GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
        chunked = b"GET /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % size
        plans = [Plan(start + b"x" * (size - 1)) for start in (head, chunked) * 16]
        Swarm(hoteld.address, width=len(plans)).run(plans)
        for plan in plans:
            self.assertIn(plan.status, (413, None))
            self.assertIn(plan.ended, ("closed", "reset"))
        self.assertLess(hoteld.rss() - before, memory_bound(16 * MIB))

    def test_connections_beyond_the_limit_get_a_clear_503(self):
        hoteld = self.hoteld(config({}, server="max_connections: 20"))
        held = []
        for _ in range(20):
            client = hoteld.client()
            self.addCleanup(client.sock.close)
            client.send_request("GET", "/health")
            self.assertEqual(client.read_answer().status, 200)
            held.append(client)
        with hoteld.client() as client:
            client.send_request("GET", "/health")
            answered = client.read_answer()
            self.assertEqual((answered.status, answered.error["code"]), (503, "too_many_connections"))
            self.assertEqual(answered.headers["retry-after"], "1")
            self.assertTrue(client.is_closed())
        held.pop().sock.close()

        def served():
            try:
                return hoteld.request("GET", "/health").status == 200
            except ConnectionError:
                return False

        wait_until(served, "room again")

    def test_many_that_connect_and_say_nothing_are_let_go(self):
        hoteld = self.hoteld(config({}, server="head_timeout: 500ms"))
        descriptors = hoteld.descriptors()
        plans = [Plan([]) for _ in range(500)]
        Swarm(hoteld.address, width=500).run(plans)
        self.assertEqual({plan.ended for plan in plans}, {"closed"})
        wait_until(lambda: hoteld.descriptors() == descriptors, "all descriptors are given back")


class Slow(TestCase):
    HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + AUTH

    def trickle(self, client, data, gap=0.02):
        """Sends a byte every `gap` seconds until the server has answered."""
        end = time.monotonic() + DEADLINE
        for i in range(len(data)):
            if select.select([client.sock], [], [], gap)[0]:
                break
            try:
                client.send(data[i : i + 1])
            except OSError:
                break
            self.assertLess(time.monotonic(), end)

    def test_a_trickled_head_ends_at_head_timeout(self):
        hoteld, (upstream,) = self.group(chat(), server="head_timeout: 600ms")
        began = time.monotonic()
        with hoteld.client() as client:
            self.trickle(client, self.HEAD + b"X: " + b"y" * 2000)
            answered = client.read_answer()
            self.assertEqual((answered.status, answered.error["code"]), (408, "request_timeout"))
            self.assertTrue(client.is_closed())
        self.assertGreater(time.monotonic() - began, 0.5)
        self.assertEqual(upstream.seen, [])

    def test_trickled_empty_lines_are_no_way_to_stay(self):
        hoteld = self.hoteld(config({}, server="head_timeout: 600ms"))
        with hoteld.client() as client:
            self.trickle(client, b"\r\n" * 1000)
            try:
                # With half of an empty line there is something to answer.
                self.assertIn(client.read_to_end()[:13], (b"", b"HTTP/1.1 408 "))
            except ConnectionError:
                pass  # the last byte met the close

    def test_who_has_sent_in_time_is_served_by_a_loop_that_is_late(self):
        hoteld = self.hoteld(config({}, server="head_timeout: 3s"))
        count = 300  # more than a turn of the loop looks at

        def served():
            begun = time.monotonic()
            descriptors = hoteld.descriptors()
            clients = [hoteld.client() for _ in range(count)]
            try:
                wait_until(lambda: hoteld.descriptors() >= descriptors + count, "all are accepted")
                hoteld.signal(signal.SIGSTOP)
                in_time = time.monotonic() - begun < 2.5
                if in_time:
                    for client in clients:
                        client.send_request("GET", "/health")
                    time.sleep(3.5)
                hoteld.signal(signal.SIGCONT)
                if in_time:
                    self.assertEqual({client.read_answer().status for client in clients}, {200})
            finally:
                for client in clients:
                    client.sock.close()
            wait_until(lambda: hoteld.descriptors() <= descriptors, "all are gone")
            return in_time

        wait_until(served, "all connect within their time")

    def test_a_second_request_has_its_own_head_timeout(self):
        hoteld = self.hoteld(config({}, server="head_timeout: 600ms"))
        with hoteld.client() as client:
            client.send_request("GET", "/health")
            self.assertEqual(client.read_answer().status, 200)
            time.sleep(0.9)  # between requests the longer keep_alive_timeout holds
            self.trickle(client, b"GET /health HTTP/1.1\r\nX: " + b"y" * 2000)
            self.assertEqual(client.read_answer().status, 408)

    def test_a_body_without_progress_ends_at_body_timeout(self):
        hoteld, (upstream,) = self.group(chat(), server="body_timeout: 400ms")
        for framing, start in ((b"Content-Length: 1000\r\n\r\n", b"{"), (b"Transfer-Encoding: chunked\r\n\r\n", b"5\r\n{")):
            with hoteld.client() as client:
                client.send(self.HEAD + framing + start)
                answered = client.read_answer()
                self.assertEqual((answered.status, answered.error["code"]), (408, "request_timeout"))
                self.assertTrue(client.is_closed())
        self.assertEqual(upstream.seen, [])

    def test_a_trickled_body_ends_at_ten_times_body_timeout(self):
        hoteld, (upstream,) = self.group(chat(), server="body_timeout: 300ms")
        times = []
        # Where one of the two processes stands still for a whole body_timeout the rule of the test before
        # holds; hardly every time.
        while len(times) < 5 and (not times or times[-1] < 2.5):
            began = time.monotonic()
            with hoteld.client() as client:
                client.send(self.HEAD + b"Content-Length: 100000\r\n\r\n")
                self.trickle(client, b"x" * 5000)
                self.assertEqual(client.read_answer().status, 408)
            times.append(time.monotonic() - began)
        self.assertGreater(times[-1], 2.5)
        self.assertEqual(upstream.seen, [])

    def test_a_hundred_slow_ones_hold_nobody_up(self):
        limit = "6s" if SANITIZED else "2s"
        hoteld, _ = self.group(chat(), server="head_timeout: %s\nbody_timeout: %s" % (limit, limit))
        heads = [Plan([b"P"] + [b"x"] * 1000, gap=0.02) for _ in range(50)]
        bodies = [Plan([self.HEAD + b"Content-Length: 5000\r\n\r\n"], gap=0.02) for _ in range(50)]
        good = GoodClient(hoteld)
        Swarm(hoteld.address, width=100).run(heads + bodies)
        # Held up by them, it would have been served once at most.
        self.assertGreater(good.stop(), 2)
        self.assertEqual({plan.status for plan in heads + bodies}, {408})

    def test_continue_that_finds_no_room_does_not_spin(self):
        hoteld, _ = self.group(chat(), server="body_timeout: 60s")
        with hoteld.client(receive_buffer=4096) as client:
            head = self.HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            client.sock.settimeout(0.5)
            # Answers pile up unread until the system takes no more.
            try:
                for _ in range(30000):
                    client.send(head)
                    client.send(b"[]")
            except socket.timeout:
                pass

            def rests():
                before = hoteld.cpu_seconds()
                time.sleep(0.5)
                return hoteld.cpu_seconds() - before < 0.1

            wait_until(rests, "the loop rests")


class NeverReads(TestCase):
    def flood(self, sent):
        big = event("x" * 65000)

        def script(conn, seen, number):
            if b"small" in seen.body:
                return chat()(conn, seen, number)
            begin_stream(conn)
            try:
                while sent[0] < 200 * MIB:
                    send_chunk(conn, big)
                    sent[0] += len(big)
                send_chunk(conn, event(finish="stop") + DONE)
            except OSError:
                seen.closed.set()
                raise
            return False

        return script

    def test_R45_F075_it_holds_little_memory_and_is_cut_and_charges_nobody(self):
        sent = [0]
        hoteld, (upstream,) = self.group(self.flood(sent), extra=BREAKER, server="client_write_timeout: 3s")
        small = dict(ASK, messages=[{"role": "user", "content": "small"}])
        self.assertEqual(hoteld.chat(small).status, 200)
        before = hoteld.rss()
        with hoteld.client(receive_buffer=8192) as client:
            client.send_request("POST", "/v1/chat/completions", STREAM)
            self.assertEqual(client.read_head()[0], 200)
            waits = []
            peak = before
            while not upstream.seen[1].closed.is_set():
                at = time.monotonic()
                self.assertEqual(hoteld.chat(small).status, 200)
                waits.append(time.monotonic() - at)
                peak = max(peak, hoteld.rss())
                time.sleep(0.02)
                self.assertLess(at - upstream.seen[1].received_at, DEADLINE, "the client was never cut")
        print("\nsent %.1f MiB, rss grown by %.1f MiB, the slowest neighbour in %.0f ms"
              % (sent[0] / MIB, (peak - before) / MIB, max(waits) * 1000))
        self.assertLess(sent[0], 64 * MIB, "the upstream was not paused")
        self.assertLess(peak - before, memory_bound(8 * MIB))
        # Where a loop waits for the one that does not read, nobody is served until that one is cut.
        self.assertGreater(len(waits), 3)
        wait_until(lambda: "status=499" in hoteld.stderr(), "a record with status 499")
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())

    def test_F075_many_of_them_hold_little_memory_together(self):
        sent = [0]
        # As many threads here flood a gateway that a sanitizer slows down: it is to be late for nobody's first word.
        many = 15 if SANITIZED else 50
        extra = BREAKER + "\ntimeouts: {ttft_timeout: 10m, request_timeout: 10m}"
        hoteld, (upstream,) = self.group(self.flood(sent), extra=extra, server="client_write_timeout: 1s")
        before = hoteld.rss()
        clients = []
        for _ in range(many):
            client = hoteld.client(receive_buffer=8192)
            self.addCleanup(client.sock.close)
            client.send_request("POST", "/v1/chat/completions", STREAM)
            clients.append(client)
        peak = before
        end = time.monotonic() + 4 * DEADLINE
        while not (len(upstream.seen) == many and all(one.closed.is_set() for one in upstream.seen)):
            sent[0] = 0  # no end of it
            peak = max(peak, hoteld.rss())
            time.sleep(0.01)
            self.assertLess(time.monotonic(), end, "they were not cut")
        print("\nrss grown by %.1f MiB for %d" % ((peak - before) / MIB, many))
        self.assertLess(peak - before, memory_bound(50 * MIB))
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())

    def test_a_large_whole_answer_is_cut_as_well(self):
        large = completion("x" * (20 * MIB))
        hoteld, (upstream,) = self.group(
            lambda conn, seen, number: answer(conn, 200, large), extra=BREAKER, server="client_write_timeout: 500ms"
        )
        descriptors = hoteld.descriptors()
        with hoteld.client(receive_buffer=8192) as client:
            client.send_request("POST", "/v1/chat/completions", BODY)
            wait_until(lambda: "status=" in hoteld.stderr(), "the answer is complete")
            # The provider's connection is kept; the client's is closed although it never did.
            wait_until(lambda: hoteld.descriptors() <= descriptors + 1, "the client is cut")
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())


if __name__ == "__main__":
    unittest.main()
