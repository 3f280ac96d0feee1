"""Providers that are broken or mean, on raw sockets: the right verdict, and bounded memory."""

import json
import re
import socket
import threading
import time
import unittest

from harness import (
    DEADLINE,
    DONE,
    MIB,
    TestCase,
    answer,
    begin_stream,
    chat,
    completion,
    config,
    event,
    memory_bound,
    reset,
    send_chunk,
    wait_until,
)

ASK = {"model": "hotel/demo", "messages": []}
STREAM = dict(ASK, stream=True)
WHOLE = json.dumps(completion("from the first")).encode()
FRAMES = event("from") + event(" the first") + event(finish="stop") + DONE
NEVER_OPEN = """resilience:
  circuit_breaker: {failure_threshold: 100}
  retry: {initial_backoff: 1ms, max_backoff: 1ms}
failover: {backoff: {initial: 1ms, max: 1ms}}"""
BREAKER = "resilience: {circuit_breaker: {failure_threshold: 1}}"


def head(length=None, content_type="application/json", extra=()):
    lines = ["HTTP/1.1 200 OK", "Content-Type: " + content_type, *extra]
    if length is not None:
        lines.append("Content-Length: %s" % length)
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


SSE_HEAD = head(content_type="text/event-stream", extra=["Transfer-Encoding: chunked"])


def chunk(data):
    return b"%x\r\n" % len(data) + data + b"\r\n"


def say(data, keep=False):
    """Sends `data`, and closes unless `keep`."""

    def script(conn, seen, number):
        conn.sendall(data)
        return keep

    script.keep = keep
    return script


def say_and_reset(data):
    def script(conn, seen, number):
        conn.sendall(data)
        time.sleep(0.05)  # the bytes leave before the reset
        return reset(conn, seen, number)

    return script


def say_and_hold(data):
    """Sends `data` and is silent until the gateway closes."""

    def script(conn, seen, number):
        conn.sendall(data)
        try:
            while conn.recv(4096):
                pass
        finally:
            seen.closed.set()
        return False

    return script


def trickle(data, gap=0.05, size=1):
    def script(conn, seen, number):
        try:
            for i in range(0, len(data), size):
                conn.sendall(data[i : i + size])
                time.sleep(gap)
        except OSError:
            seen.closed.set()
            raise
        return False

    return script


def endless(start, piece, limit):
    """Sends `start` and then `piece` again and again, up to `limit` bytes."""

    def script(conn, seen, number):
        try:
            conn.sendall(start)
            seen.sent = 0
            while seen.sent < limit:
                conn.sendall(piece)
                seen.sent += len(piece)
        finally:
            seen.closed.set()
        return False

    script.limit = limit
    return script


class UpstreamCase(TestCase):
    def setUp(self):
        self.shared = None
        self.recorded = 0

    @staticmethod
    def records(hoteld):
        return [line for line in hoteld.stderr().splitlines() if " trail=" in line]

    def trails(self, hoteld, count=1):
        """The trails of the latest requests, as lists of entries, once there are `count`."""
        wait_until(lambda: len(self.records(hoteld)) >= self.recorded + count, "%d records" % count)
        lines = self.records(hoteld)[self.recorded :]
        return [re.search(r'trail="?(.*?)"?$', line).group(1).split(" | ") for line in lines]

    def pair(self, script, **options):
        """A broken provider in front of a healthy one: the same sidecar for all cases of a test."""
        if options:
            self.recorded = 0
            return self.group(script, chat("from the second"), **options)
        if self.shared is None:
            self.shared = self.group(script, chat("from the second"), extra=NEVER_OPEN)
        hoteld, upstreams = self.shared
        # A connection that is about to close must not meet the next request.
        if not getattr(upstreams[0].script, "keep", False):
            wait_until(lambda: upstreams[0].open == 0, "the provider has closed")
        upstreams[0].script = script
        for upstream in upstreams:
            del upstream.seen[:]
        self.recorded = len(self.records(hoteld))
        return self.shared

    def fails_over(self, script, *words, stream=False, effect="charge", **options):
        """The first provider fails before the commit; the second one answers."""
        hoteld, upstreams = self.pair(script, **options)
        got = hoteld.chat(STREAM if stream else ASK)
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p2"), got.body)
        self.assertNotIn(b"from the first", got.body)
        trail = self.trails(hoteld)[0]
        self.assertEqual(len(trail), 2)
        self.assertIn(" %s " % effect, trail[0])
        for word in words:
            self.assertIn(word, trail[0])
        self.assertIn(" success ", trail[1])
        return hoteld, upstreams

    def breaks(self, script, *words, effect="charge", **options):
        """The first provider fails behind output: one error event, no clean end, a charge."""
        hoteld, upstreams = self.pair(script, **options)
        got = hoteld.chat(STREAM)
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p1"))
        events = [one for one in got.body.split(b"\n\n") if one]
        self.assertEqual(sum(b'"code":"stream_incomplete"' in one for one in events), 1, got.body[-500:])
        self.assertIn(b"stream_incomplete", events[-1])
        self.assertNotIn(b"[DONE]", got.body)
        trail = self.trails(hoteld)[0]
        self.assertEqual(len(trail), 1)
        self.assertIn(" %s " % effect, trail[0])
        for word in words:
            self.assertIn(word, trail[0])
        self.assertEqual(upstreams[1].seen, [])
        return hoteld, got

    def serves(self, script, stream=False, **options):
        hoteld, upstreams = self.pair(script, **options)
        got = hoteld.chat(STREAM if stream else ASK)
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p1"), got.body)
        self.assertIn(" success ", self.trails(hoteld)[0][0])
        return hoteld, got


class Cuts(UpstreamCase):
    """The connection ends at every phase, by a close and by a reset."""

    def ends(self):
        return (("close", say), ("reset", say_and_reset))

    def test_before_the_answer(self):
        for name, end in self.ends():
            with self.subTest(name):
                self.fails_over(end(b""), "interrupted")

    def test_inside_the_head(self):
        for name, end in self.ends():
            for part in (b"H", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\n", head(5)[:-2], head(5)[:-1]):
                with self.subTest(name, part=part):
                    self.fails_over(end(part))

    def test_inside_a_whole_answer(self):
        for name, end in self.ends():
            for sent in (0, 1, len(WHOLE) - 1):
                with self.subTest(name, sent=sent):
                    self.fails_over(end(head(len(WHOLE)) + WHOLE[:sent]), "interrupted")

    def test_inside_a_chunked_whole_answer(self):
        start = head(extra=["Transfer-Encoding: chunked"])
        body = chunk(WHOLE[:20]) + chunk(WHOLE[20:])
        for name, end in self.ends():
            for sent in (0, 3, 10, len(body)):  # the last one lacks only the end of the chunks
                with self.subTest(name, sent=sent):
                    self.fails_over(end(start + body[:sent]))

    def test_inside_a_stream_before_output(self):
        opener = event("")
        for name, end in self.ends():
            for part in (b"", chunk(opener), chunk(opener) + chunk(event("from the first"))[:30]):
                with self.subTest(name, part=part):
                    self.fails_over(end(SSE_HEAD + part), stream=True)

    def test_inside_a_stream_behind_output(self):
        for name, end in self.ends():
            for part in (b"", b"1f", chunk(event("more"))[:25], chunk(event("more"))):
                with self.subTest(name, part=part):
                    self.breaks(end(SSE_HEAD + chunk(event("first")) + part))

    def test_behind_the_finish_reason_the_answer_is_whole(self):
        for name, end in self.ends():
            with self.subTest(name):
                _, got = self.serves(end(SSE_HEAD + chunk(event("first") + event(finish="stop"))), stream=True)
                self.assertTrue(got.body.endswith(DONE))

    def test_F131_a_kept_connection_that_closes_between_requests(self):
        hoteld, (upstream,) = self.group(
            lambda conn, seen, number: answer(conn, 200, completion()) and number % 2 == 1, extra=BREAKER
        )
        for _ in range(20):
            self.assertEqual(hoteld.chat(ASK).status, 200)
            # Otherwise the close may meet a request that is on its way, which is another matter.
            if len(upstream.seen) % 2 == 1:
                wait_until(lambda: upstream.open == 0, "the provider has closed")
        self.assertEqual(len(upstream.seen), 20)
        self.assertNotIn(" charge ", hoteld.stderr())

    def test_a_kept_connection_that_dies_with_the_next_request_is_charged_once(self):
        """The request may have been billed: it is not sent a second time to the same provider."""

        def script(conn, seen, number):
            if number == 1:
                return reset(conn, seen, number)
            return answer(conn, 200, completion())

        hoteld, upstreams = self.pair(script)
        self.assertEqual(hoteld.chat(ASK).headers["x-hotel-provider"], "p1")
        got = hoteld.chat(ASK)
        self.assertEqual(got.status, 200)
        self.assertEqual(len(upstreams[0].seen) + len(upstreams[1].seen), 3)


class Lies(UpstreamCase):
    def test_a_length_that_is_too_long_is_a_cut(self):
        self.fails_over(say(head(len(WHOLE) + 10) + WHOLE), "interrupted")
        self.breaks(say(head(len(FRAMES) + 10, "text/event-stream") + event("from the first")))

    def test_a_length_that_is_too_short_cuts_the_answer_and_the_connection(self):
        self.fails_over(say(head(len(WHOLE) - 10) + WHOLE, keep=True))

    def test_lengths_that_say_nothing_are_refused(self):
        size = len(WHOLE)
        for lengths in ([size, size + 1], [size, 0], ["-1"], ["-%d" % size], ["+%d" % size], ["%d, %d" % (size, size)],
                        ["0x10"], ["1e2"], ["ten"], ["9" * 30]):
            with self.subTest(lengths=lengths):
                lines = head(extra=["Content-Length: %s" % value for value in lengths])
                self.fails_over(say(lines + WHOLE))

    def test_a_length_beside_chunks_does_not_confuse(self):
        start = head(5, extra=["Transfer-Encoding: chunked"])
        self.serves(say(start + chunk(WHOLE) + b"0\r\n\r\n"))

    def test_an_unknown_coding_is_refused(self):
        self.fails_over(say(head(extra=["Transfer-Encoding: gzip, chunked"]) + chunk(WHOLE) + b"0\r\n\r\n"), "protocol")

    def test_chunks_that_are_garbage(self):
        start = head(extra=["Transfer-Encoding: chunked"])
        for data in (b"zz\r\n" + WHOLE, b"-5\r\n" + WHOLE, b"\r\n\r\n" + WHOLE, b"f" * 40 + b"\r\n" + WHOLE,
                     chunk(WHOLE)[:-2] + b"xx0\r\n\r\n", b"{}" + WHOLE):
            with self.subTest(data=data[:20]):
                self.fails_over(say(start + data))
        self.breaks(say(SSE_HEAD + chunk(event("first")) + b"garbage\r\n"), "protocol")

    def test_a_head_that_is_no_head(self):
        for data in (b"\x00" * 64, b"SSH-2.0-OpenSSH_9.2\r\n", b"\x15\x03\x01\x00\x02\x02\x28", b"{}\r\n\r\n",
                     b"HTTP/1.1 99 X\r\n\r\n", b"HTTP/1.1 0200 X\r\n\r\n", b"HTTP/1.1 600 X\r\n\r\n", b"HTTP/2 200 X\r\n\r\n",
                     b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n",
                     b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"):
            with self.subTest(data=data[:30]):
                self.fails_over(say(data))

    def test_interim_answers_are_passed_over(self):
        interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
        self.serves(say(interim + head(len(WHOLE)) + WHOLE))
        self.serves(say(interim + SSE_HEAD + chunk(FRAMES) + b"0\r\n\r\n"), stream=True)

    def test_an_answer_in_front_of_the_request_body_is_taken(self):
        """The provider answers when it has seen the head, and never reads the rest."""
        big = json.dumps(dict(ASK, user="x" * (8 * MIB))).encode()
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        hold = threading.Event()
        self.addCleanup(hold.set)

        def serve():
            try:
                while True:
                    conn, _ = listener.accept()
                    with conn:
                        conn.recv(1024)
                        body = b'{"error":{"message":"too long"}}'
                        conn.sendall(b"HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                        conn.shutdown(socket.SHUT_WR)
                        hold.wait(DEADLINE)
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        hoteld = self.hoteld(config({"p1": "http://127.0.0.1:%d/v1" % listener.getsockname()[1]}, {"demo": ["p1/a"]}))
        got = hoteld.chat(big)
        self.assertEqual(got.status, 413)
        self.assertIn(" alive ", self.trails(hoteld)[0][0])


class Smuggling(UpstreamCase):
    STRAY = json.dumps(completion("a stray answer")).encode()

    def ask_all(self, script, count, before_each=lambda number: None):
        hoteld, (upstream,) = self.group(script)
        bodies = []
        for number in range(count):
            before_each(number)
            got = hoteld.chat(ASK)
            self.assertEqual(got.status, 200)
            bodies.append(got.body)
        self.assertFalse([body for body in bodies if b"stray" in body])
        self.assertEqual(len(upstream.seen), count)

    def test_two_answers_in_one_piece(self):
        self.ask_all(say(head(len(WHOLE)) + WHOLE + head(len(self.STRAY)) + self.STRAY, keep=True), 10)

    def test_two_answers_behind_chunks(self):
        first = head(extra=["Transfer-Encoding: chunked"]) + chunk(WHOLE) + b"0\r\n\r\n"
        self.ask_all(say(first + head(len(self.STRAY)) + self.STRAY, keep=True), 10)

    def test_the_second_answer_comes_a_little_later(self):
        """While the connection is kept, at different moments before the next request comes."""
        said = [threading.Event() for _ in range(200)]

        def script(conn, seen, number):
            conn.sendall(head(len(WHOLE)) + WHOLE)
            time.sleep((number % 40) * 0.00005)
            try:
                conn.sendall(head(len(self.STRAY)) + self.STRAY)
            except OSError:
                return False
            finally:
                said[number].set()
            return True

        # Once the next request is on its way, the provider may answer it with what it likes.
        self.ask_all(script, len(said), lambda number: number == 0 or said[number - 1].wait(DEADLINE))

    def test_a_stray_stream_reaches_nobody(self):
        def script(conn, seen, number):
            conn.sendall(SSE_HEAD + chunk(FRAMES) + b"0\r\n\r\n" + SSE_HEAD + chunk(event("a stray answer")) + b"0\r\n\r\n")
            return True

        hoteld, _ = self.group(script)
        for _ in range(10):
            got = hoteld.chat(STREAM)
            self.assertEqual((got.status, got.body), (200, FRAMES))


class Large(UpstreamCase):
    def test_a_hundred_fields_are_taken_and_many_more_are_not(self):
        few = ["X-%d: y" % i for i in range(97)]
        self.serves(say(head(len(WHOLE), extra=few) + WHOLE))
        many = ["X-%d: y" % i for i in range(5000)]
        self.fails_over(say(head(len(WHOLE), extra=many) + WHOLE), "too_large")

    def bounded(self, script, *words, limit=8 * MIB, stream=False, whole=False):
        hoteld, upstreams = self.pair(script)
        before = hoteld.rss()
        peak = [before]
        stopped = threading.Event()

        def watch():
            while not stopped.wait(0.005):
                peak[0] = max(peak[0], hoteld.rss())

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            got = hoteld.chat(STREAM if stream else ASK)
        finally:
            stopped.set()
            thread.join()
        trail = self.trails(hoteld)[0]
        for word in words:
            self.assertIn(word, trail[0])
        self.assertTrue(upstreams[0].seen[0].closed.wait(DEADLINE), "the provider still sends")
        grown = peak[0] - before
        print("\nsent %.1f MiB, rss grown by %.1f MiB" % (upstreams[0].seen[0].sent / MIB, grown / MIB))
        self.assertLess(grown, memory_bound(limit))
        if not whole:
            self.assertLess(upstreams[0].seen[0].sent, script.limit, "the provider was let go on")
        return got, upstreams

    def test_an_endless_head(self):
        got, _ = self.bounded(endless(b"HTTP/1.1 200 OK\r\n", b"X-Field: %s\r\n" % (b"y" * 100), 64 * MIB), "too_large", " charge ")
        self.assertEqual(got.headers["x-hotel-provider"], "p2")

    def test_endless_interim_answers(self):
        got, _ = self.bounded(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 64 * MIB), "too_large", " charge ")
        self.assertEqual(got.headers["x-hotel-provider"], "p2")

    def test_a_header_line_of_a_mebibyte(self):
        got, _ = self.bounded(endless(b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536, 16 * MIB), " charge ")
        self.assertEqual(got.headers["x-hotel-provider"], "p2")

    def test_a_frame_of_200_mebibytes(self):
        """The frame is passed on as it comes up to its bound; then the stream ends as not whole."""
        start = SSE_HEAD + chunk(event("first")) + chunk(b'data: {"choices":[{"delta":{"content":"')
        got, upstreams = self.bounded(endless(start, chunk(b"x" * 65536), 200 * MIB), " charge ", limit=120 * MIB, stream=True)
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p1"))
        self.assertLess(upstreams[0].seen[0].sent, 100 * MIB)
        self.assertEqual(got.body.count(b"stream_incomplete"), 1)
        self.assertNotIn(b"[DONE]", got.body)
        last = [one for one in got.body[-2000:].split(b"\n\n") if one][-1]
        self.assertEqual(json.loads(last[len(b"data: ") :])["error"]["code"], "stream_incomplete")

    def test_an_answer_of_200_mebibytes(self):
        got, upstreams = self.bounded(endless(head(200 * MIB) + b'{"choices":[{"message":{"content":"', b"x" * 65536, 200 * MIB), limit=220 * MIB)
        self.assertEqual((got.status, got.error["code"]), (502, "answer_too_large"))
        self.assertEqual(upstreams[1].seen, [])

    def test_an_endless_error_body(self):
        start = b"HTTP/1.1 503 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        got, _ = self.bounded(endless(start, chunk(b"x" * 65536), 200 * MIB), " charge ")
        self.assertEqual(got.headers["x-hotel-provider"], "p2")

    def test_endless_comments_are_no_output(self):
        """They are held within bounds and then passed on; their end is not the end of an answer."""
        got, _ = self.bounded(endless(SSE_HEAD, chunk(b": keep-alive\n\n" * 100), 8 * MIB), " charge ", stream=True, whole=True)
        self.assertEqual(got.status, 200)
        self.assertEqual(got.body.count(b"stream_incomplete"), 1)


class Slow(UpstreamCase):
    def test_a_trickled_answer_is_taken(self):
        data = json.dumps(completion("ok")).encode()
        self.serves(trickle(head(len(data)) + data, gap=0.002))
        self.serves(trickle(SSE_HEAD + chunk(event("ok")) + chunk(event(finish="stop") + DONE) + b"0\r\n\r\n", gap=0.002), stream=True)

    def test_a_trickled_head_ends_at_the_time_limit(self):
        many = head(5, extra=["X: " + "y" * 2000])
        before = time.monotonic()
        self.fails_over(trickle(many), "timeout", extra="timeouts: {request_timeout: 3s, deadline_factor: 20}")
        self.assertGreater(time.monotonic() - before, 2.5)

    def test_a_trickled_body_ends_at_the_time_limit(self):
        script = trickle(head(len(WHOLE)) + WHOLE)
        hoteld, _ = self.pair(script, extra="timeouts: {request_timeout: 3s, deadline_factor: 20}")
        got = hoteld.chat(ASK)
        self.assertEqual(got.headers["x-hotel-provider"], "p2")
        self.assertIn(" charge ", self.trails(hoteld)[0][0])

    def test_a_trickled_stream_without_output_ends_at_ttft_timeout(self):
        data = SSE_HEAD + chunk(b": keep-alive\n\n") * 200
        self.fails_over(trickle(data), stream=True, extra="timeouts: {ttft_timeout: 3s}")

    def test_silence_after_the_head(self):
        for stream, start in ((False, head(len(WHOLE))), (True, SSE_HEAD)):
            with self.subTest(stream=stream):
                _, upstreams = self.fails_over(
                    say_and_hold(start), stream=stream, extra="timeouts: {request_timeout: 3s, ttft_timeout: 3s}"
                )
                self.assertTrue(upstreams[0].seen[0].closed.wait(DEADLINE))

    def test_silence_instead_of_a_head(self):
        _, upstreams = self.fails_over(say_and_hold(b""), extra="timeouts: {request_timeout: 3s}")
        self.assertTrue(upstreams[0].seen[0].closed.wait(DEADLINE))

    def test_fifty_silent_ones_hold_nobody_up(self):
        hoteld, (silent, healthy) = self.pair(say_and_hold(b""), extra="timeouts: {request_timeout: 60s}")
        clients = []
        for _ in range(50):
            client = hoteld.client()
            self.addCleanup(client.sock.close)
            client.send_request("POST", "/v1/chat/completions", json.dumps(ASK).encode())
            clients.append(client)
        wait_until(lambda: len(silent.seen) == 50, "all wait")
        for _ in range(20):
            self.assertEqual(hoteld.chat(dict(ASK, model="p2/model-p2")).status, 200)
        self.assertEqual(silent.open, 50, "they were served while all the others waited")


if __name__ == "__main__":
    unittest.main()
