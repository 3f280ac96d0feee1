"""Large bodies, in both directions: they neither stop the others nor take more memory than they must."""

import hashlib
import json
import signal
import threading
import time
import unittest

from harness import DEADLINE, MIB, SANITIZED, TestCase, answer, best_of, chat, completion, wait_until

UNKNOWN = "hotel/none"


def padded(model, size):
    """A request of about this size whose model stands last; of small numbers, which take longest to read."""
    end = b'0],"model":"%s"}' % model.encode()
    start = b'{"messages":['
    return start + b"0," * ((size - len(start) - len(end)) // 2) + end


def head(length, extra=()):
    lines = ["POST /v1/chat/completions HTTP/1.1", "Host: gateway", "Authorization: Bearer vk-test-0123456789abcdef"]
    if length is not None:
        lines.append("Content-Length: %d" % length)
    return "\r\n".join(lines + list(extra)).encode() + b"\r\n\r\n"


class Threads:
    """Runs a function several times at once and keeps what it returned."""

    def __init__(self, count, function):
        self.results = []
        self.threads = [threading.Thread(target=lambda: self.results.append(function())) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def running(self):
        return any(thread.is_alive() for thread in self.threads)

    def join(self):
        for thread in self.threads:
            thread.join(4 * DEADLINE)
        return self.results


class Reading(TestCase):
    SIZE = (2 if SANITIZED else 45) * MIB

    def longest_wait(self, hoteld, body):
        """What a small request waits at most while six large ones are sent and read."""
        large = Threads(6, lambda: hoteld.chat(body).status)
        small = json.dumps({"model": UNKNOWN}).encode()
        longest = 0.0
        with hoteld.client() as client:
            while large.running():
                began = time.monotonic()
                client.send_request("POST", "/v1/chat/completions", small)
                self.assertEqual(client.read_answer().status, 404)
                longest = max(longest, time.monotonic() - began)
        self.assertEqual(large.join(), [404] * 6)
        return longest

    def test_small_requests_do_not_wait_while_large_ones_are_read(self):
        hoteld, _ = self.group(chat())
        body = padded(UNKNOWN, self.SIZE)
        # Read on the loop every large body would stop it for at least twice as long. The machine may be
        # busy with other things, but hardly in each of the rounds.
        bound = 0.3 if SANITIZED else 0.1
        waits = best_of(lambda: self.longest_wait(hoteld, body), bound, rounds=15)
        print("longest wait of a small request: %s s" % ", ".join("%.3f" % wait for wait in waits))
        self.assertLess(waits[-1], bound)

    def test_a_large_body_that_is_read_elsewhere_arrives_byte_for_byte(self):
        hoteld, (upstream,) = self.group(chat("the answer"))
        body = padded("hotel/demo", 5 * MIB)
        reply = hoteld.chat(body)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.json()["choices"][0]["message"]["content"], "the answer")
        self.assertEqual(upstream.seen[0].body, body.replace(b"hotel/demo", b"model-p1"))
        self.assertEqual(hoteld.chat(body[:-1]).error["code"], "invalid_request")

    @staticmethod
    def leaves_behind(hoteld, body):
        """Sends a body once there is room for it, and leaves. A body is held while somebody reads it, also
        behind the end of its request: until then the next is refused."""

        def sent():
            with hoteld.client() as client:
                client.send(head(len(body), ["Expect: 100-continue"]))
                if client.read_head()[0] != 100:
                    return False
                client.send(body)
                return True

        return sent

    def test_a_client_that_leaves_while_its_body_is_read_leaves_nothing_behind(self):
        # Room for one body at a time: what is not given back is missed by the next.
        limits = "max_request_size: %d\nmax_buffered_bytes: %d" % (self.SIZE, self.SIZE * 4 // 3)
        left = threading.Event()
        self.addCleanup(left.set)

        def after_the_clients(conn, seen, number):
            # On a busy machine a body may be read, and at the provider, before its client has left.
            left.wait(4 * DEADLINE)
            return answer(conn, 200, completion())

        hoteld, (upstream,) = self.group(after_the_clients, server=limits)
        body = padded("hotel/demo", self.SIZE)
        descriptors = hoteld.descriptors()
        for count in range(1, 5):
            wait_until(self.leaves_behind(hoteld, body), "room for the next body")
            wait_until(lambda: hoteld.stderr().count("status=499") == count, "a record with status 499")
            wait_until(lambda: hoteld.descriptors() <= descriptors, "the connection is gone")
        left.set()
        wait_until(lambda: upstream.open == 0, "the provider's connections are closed")

        def served():
            return hoteld.chat(body).status == 200

        wait_until(served, "there is room again")

    def test_a_stop_answers_what_waits_to_be_read(self):
        hoteld, _ = self.group(chat(), server="drain_timeout: 60s")
        body = padded(UNKNOWN, self.SIZE)
        descriptors = hoteld.descriptors()
        large = Threads(4, lambda: hoteld.chat(body).status)
        wait_until(lambda: hoteld.descriptors() > descriptors or large.results, "somebody has connected")
        time.sleep(0.1)
        hoteld.signal(signal.SIGTERM)
        results = large.join()
        # Those who had connected are answered; who came too late was refused by the system.
        self.assertEqual(set(results), {404})
        self.assertEqual(hoteld.wait(4 * DEADLINE), 0)

    def test_a_stop_that_does_not_wait_ends_cleanly(self):
        hoteld, _ = self.group(chat(), server="drain_timeout: 0s")
        body = padded(UNKNOWN, self.SIZE)
        clients = [hoteld.client() for _ in range(3)]
        try:
            for client in clients:
                client.send(head(len(body)) + body)
            hoteld.signal(signal.SIGTERM)
            for client in clients:
                try:
                    told = client.read_to_end()
                except ConnectionError:
                    told = b""
                # On a loaded machine a body may be read for longer than is waited for the last answers.
                self.assertIn(told[:13], (b"", b"HTTP/1.1 404 ", b"HTTP/1.1 503 "))
            self.assertEqual(hoteld.wait(), 0)
        finally:
            for client in clients:
                client.sock.close()


class Budget(TestCase):
    """Room for two bodies of 900 KiB."""

    SIZE = 900 * 1024

    def setUp(self):
        self.release = threading.Event()
        self.addCleanup(self.release.set)

        def hold_large(conn, seen, number):
            if len(seen.body) > 100000:
                self.release.wait(DEADLINE)
            return answer(conn, 200, completion())

        limits = "max_request_size: 1MiB\nmax_buffered_bytes: 2MiB"
        self.hoteld_, (self.up,) = self.group(hold_large, server=limits)
        self.body = padded("hotel/demo", self.SIZE)

    def fill(self):
        held = Threads(2, lambda: self.hoteld_.chat(self.body).status)
        wait_until(lambda: len(self.up.seen) == 2, "both bodies are at the provider")
        return held

    def assert_refused(self, reply):
        self.assertEqual(reply.status, 503)
        self.assertEqual(reply.error["code"], "buffers_full")
        self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)
        self.assertEqual(reply.headers["connection"], "close")

    def test_a_body_that_finds_no_room_is_refused_before_it_is_sent(self):
        held = self.fill()
        with self.hoteld_.client() as client:
            client.send(head(self.SIZE, ["Expect: 100-continue"]))
            self.assert_refused(client.read_answer())
        self.release.set()
        self.assertEqual(held.join(), [200, 200])
        wait_until(lambda: self.hoteld_.chat(self.body).status == 200, "there is room again")

    def test_a_chunked_body_is_refused_when_it_outgrows_the_room(self):
        held = self.fill()
        with self.hoteld_.client() as client:
            client.send(head(None, ["Transfer-Encoding: chunked"]))
            client.send(b"%x\r\n" % self.SIZE + self.body[: 512 * 1024])
            self.assert_refused(client.read_answer())
        self.release.set()
        self.assertEqual(held.join(), [200, 200])

    def test_small_bodies_always_find_room(self):
        held = self.fill()
        small = padded("hotel/demo", 60000)
        self.assertEqual([self.hoteld_.chat(small).status for _ in range(8)], [200] * 8)
        self.release.set()
        self.assertEqual(held.join(), [200, 200])

    def test_bodies_that_never_come_give_their_room_back(self):
        for _ in range(2):
            with self.hoteld_.client() as client:
                client.send(head(self.SIZE) + b"{")
                time.sleep(0.05)
        self.release.set()
        wait_until(lambda: self.hoteld_.chat(self.body).status == 200, "there is room again")


class WholeAnswers(TestCase):
    SIZE = 60 * MIB

    def setUp(self):
        text = json.dumps(completion("@"))
        before, after = text.split("@")
        self.text = before + "x" * (self.SIZE - len(text)) + after

    def scripts(self):
        body = self.text.encode()

        def with_length(conn, seen, number):
            return answer(conn, 200, body)

        def in_chunks(conn, seen, number):
            conn.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for at in range(0, len(body), MIB):
                piece = body[at : at + MIB]
                conn.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
            conn.sendall(b"0\r\n\r\n")
            return True

        return {"with a length": with_length, "in chunks": in_chunks}

    def test_a_large_answer_takes_little_more_memory_than_its_size(self):
        digest = hashlib.sha256(self.text.encode()).digest()
        for name, script in self.scripts().items():
            with self.subTest(name):
                hoteld, _ = self.group(script)
                self.assertEqual(hoteld.request("GET", "/health").status, 200)
                hoteld.reset_peak()
                before = hoteld.rss()
                with hoteld.client() as client:
                    # On a kept connection, so that what follows the body is seen too.
                    for _ in range(2):
                        client.send_request("POST", "/v1/chat/completions", b'{"model":"hotel/demo","messages":[]}')
                        reply = client.read_answer()
                        self.assertEqual(reply.status, 200)
                        self.assertEqual(hashlib.sha256(reply.body).digest(), digest)
                taken = hoteld.peak_rss() - before
                print("answer %s: %.2f of its size" % (name, taken / self.SIZE))
                if not SANITIZED:
                    self.assertLess(taken, 1.3 * self.SIZE)

    def test_a_slow_client_gets_a_large_answer_whole(self):
        hoteld, _ = self.group(self.scripts()["with a length"])
        with hoteld.client(receive_buffer=65536) as client:
            client.send_request("POST", "/v1/chat/completions", b'{"model":"hotel/demo","messages":[]}')
            time.sleep(0.3)
            reply = client.read_answer()
        self.assertEqual(reply.body, self.text.encode())


if __name__ == "__main__":
    unittest.main()
