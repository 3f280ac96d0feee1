"""hotel-sim as a black box: every behaviour in its table, on raw sockets."""

import base64
import gzip
import hashlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

SIM = os.environ["HOTEL_SIM"]
DOCS = os.environ["HOTEL_DOCS"]
LIMIT = 60  # seconds; only a broken simulator takes that long


class Sim:
    """A running simulator."""

    def __init__(self, *args):
        self.process = subprocess.Popen(
            [SIM, "--listen", "127.0.0.1:0", *args], stdout=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline()
        self.port = int(re.fullmatch(
            r"hotel-sim listening on http://127\.0\.0\.1:(\d+)\n", self.line).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(LIMIT)
        self.process.stdout.close()
        return code

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), LIMIT)

    def get(self, path):
        return Answer.of(self.connect(), f"GET {path} HTTP/1.1\r\nHost: sim\r\n\r\n".encode())

    def stats(self):
        return self.get("/stats").json()

    def wait_stats(self, predicate):
        end = time.monotonic() + LIMIT
        while not predicate(stats := self.stats()):
            if time.monotonic() > end:
                raise AssertionError(stats)
            time.sleep(0.01)
        return stats

    def reset(self):
        Answer.of(self.connect(), b"POST /reset HTTP/1.1\r\nContent-Length: 0\r\n\r\n")

    def ask(self, model, stream=False, path="/v1/chat/completions", headers=(), extra=None):
        return Answer.of(self.connect(), request(model, stream, path, headers, extra))


def request(model, stream=False, path="/v1/chat/completions", headers=(), extra=None):
    body = json.dumps({"model": model, "stream": stream, "messages": [], **(extra or {})}).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: sim", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Answer:
    """One answer read off a socket. `end` is how it ended: whole, closed, reset."""

    def __init__(self):
        self.status, self.headers, self.body, self.chunks = None, {}, bytearray(), []
        self.end, self.seconds, self.first_byte = None, 0.0, None

    @classmethod
    def of(cls, sock, data):
        with sock:
            # The clock starts before the simulator can have seen anything: waits are never shorter.
            start = time.monotonic()
            sock.sendall(data)
            return cls.read(sock, start)

    @classmethod
    def read(cls, sock, start=None):
        self = cls()
        start = time.monotonic() if start is None else start
        raw = b""
        try:
            while self.end is None:
                piece = sock.recv(65536)
                if self.first_byte is None:
                    self.first_byte = time.monotonic() - start
                if not piece:
                    self.end = "closed"
                raw += piece
                raw = self._take(raw)
        except ConnectionResetError:
            self.end = "reset"
        self.seconds = time.monotonic() - start
        return self

    def _take(self, raw):
        if self.status is None:
            head, found, rest = raw.partition(b"\r\n\r\n")
            if not found:
                return raw
            lines = head.decode().split("\r\n")
            self.status = int(lines[0].split()[1])
            self.headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
            raw = rest
        if self.headers.get("transfer-encoding") == "chunked":
            while True:
                size, found, rest = raw.partition(b"\r\n")
                length = int(size, 16) if found else -1
                if not found or len(rest) < length + 2:
                    return raw
                assert rest[length:length + 2] == b"\r\n"
                if length == 0:
                    self.end = "whole"
                    return rest[2:]
                self.chunks.append(rest[:length])
                self.body += rest[:length]
                raw = rest[length + 2:]
        length = self.headers.get("content-length")
        if length is None and self.status != 204:
            self.body += raw
            return b""
        size = int(length or 0) - len(self.body)
        self.body += raw[:size]
        if len(self.body) == int(length or 0):
            self.end = "whole"
        return raw[size:]

    def json(self):
        return json.loads(self.body)

    def events(self):
        """(event name, data) of an SSE body; comments are ("", ": ...")."""
        found = []
        for block in self.body.decode().replace("\r\n", "\n").split("\n\n"):
            name, data = "", []
            for line in block.split("\n"):
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    data.append(line[6:])
                elif line.startswith(":"):
                    data.append(line)
            if data:
                found.append((name, "\n".join(data)))
        return found

    def text(self):
        pieces = []
        for _, data in self.events():
            try:
                choices = json.loads(data).get("choices", [])
            except ValueError:
                continue
            pieces += [c["delta"].get("content") or "" for c in choices]
        return "".join(pieces)


class SimTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sim = Sim()

    @classmethod
    def tearDownClass(cls):
        cls.sim.stop()

    def setUp(self):
        self.sim.reset()


class PlainAnswers(SimTest):
    def test_chat(self):
        answer = self.sim.ask("vendor/ok")
        self.assertEqual((answer.status, answer.end), (200, "whole"))
        self.assertEqual(answer.json()["model"], "vendor/ok")
        choice = answer.json()["choices"][0]
        self.assertEqual(choice["message"]["content"], "Hello from hotel-sim.")
        self.assertEqual(choice["finish_reason"], "stop")

    def test_messages_and_responses_have_their_own_shapes(self):
        message = self.sim.ask("ok", path="/v1/messages").json()
        self.assertEqual(message["content"], [{"type": "text", "text": "Hello from hotel-sim."}])
        self.assertEqual(message["stop_reason"], "end_turn")
        response = self.sim.ask("ok", path="/v1/responses").json()
        self.assertEqual(response["object"], "response")
        self.assertEqual(response["output"][0]["content"][0]["text"], "Hello from hotel-sim.")

    def test_echo_describes_the_request(self):
        data = request("echo", headers=["Authorization: Bearer k"], extra={"x": "é"})
        answer = Answer.of(self.sim.connect(), data)
        seen = json.loads(answer.json()["choices"][0]["message"]["content"])
        body = data.partition(b"\r\n\r\n")[2]
        self.assertEqual(seen["body_sha256"], hashlib.sha256(body).hexdigest())
        self.assertEqual(seen["body_bytes"], len(body))
        self.assertIn(["Authorization", "Bearer k"], seen["headers"])
        self.assertEqual(seen["model"], "echo")

    def test_size_and_frames(self):
        answer = self.sim.ask("frames-3-size-7")
        self.assertEqual(len(answer.json()["choices"][0]["message"]["content"]), 21)

    def test_until_close(self):
        answer = self.sim.ask("until-close")
        self.assertEqual(answer.end, "closed")
        self.assertNotIn("content-length", answer.headers)
        self.assertEqual(answer.json()["object"], "chat.completion")


def form(model, file=b"\x00\r\n--not-b\r\n\xff", stream=None, end=b"--\r\n"):
    parts = [b'Content-Disposition: form-data; name="model"\r\n\r\n' + model.encode(),
             b'content-disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n' + file]
    if stream is not None:
        parts.append(b'Content-Disposition: form-data; name="stream"\r\n\r\n' + stream.encode())
    return b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b" + end


class OtherEndpoints(SimTest):
    def send(self, body, path="/v1/audio/transcriptions", kind='multipart/form-data; boundary="b"'):
        head = f"POST {path} HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return Answer.of(self.sim.connect(), head.encode() + body)

    def test_embeddings_have_a_vector_for_each_input(self):
        for given, count in (("a", 1), (["a", "b", "c"], 3), ([1, 2], 1), ([[1], [2]], 2)):
            rows = self.sim.ask("ok", path="/v1/embeddings", extra={"input": given}).json()["data"]
            self.assertEqual([row["index"] for row in rows], list(range(count)))
            self.assertEqual(rows[-1]["embedding"], [0.25, -0.5, 1, count - 1])
        row = self.sim.ask("ok", path="/v1/embeddings", extra={"encoding_format": "base64"}).json()["data"][0]
        self.assertEqual(struct.unpack("<4f", base64.b64decode(row["embedding"])), (0.25, -0.5, 1, 0))

    def test_rerank_scores_each_document(self):
        rows = self.sim.ask("ok", path="/v2/rerank", extra={"documents": ["a", "b"]}).json()["results"]
        self.assertEqual([(row["index"], row["relevance_score"]) for row in rows], [(0, 1.0), (1, 0.5)])

    def test_images_whole_and_streamed(self):
        answer = self.sim.ask("size-4-frames-2", path="/v1/images/generations")
        self.assertEqual(answer.json()["data"], [{"b64_json": "a" * 8}])
        events = self.sim.ask("size-4-frames-2", True, "/v1/images/edits").events()
        self.assertEqual([name for name, _ in events],
                         ["image_generation.partial_image"] * 2 + ["image_generation.completed"])

    def test_speech_is_pieces_of_bytes(self):
        for stream in (False, True):
            answer = self.sim.ask("frames-3-size-100", stream, "/v1/audio/speech")
            self.assertEqual((answer.headers["content-type"], answer.end), ("audio/mpeg", "whole"))
            self.assertEqual([len(chunk) for chunk in answer.chunks], [100] * 3)
        self.assertEqual(len(set(self.sim.ask("frames-1-size-256", path="/v1/audio/speech").body)), 256)
        answer = self.sim.ask("cut-after-2", path="/v1/audio/speech")
        self.assertEqual((len(answer.body), answer.end), (32, "closed"))
        self.assertEqual(self.sim.ask("status-503", path="/v1/audio/speech").json()["error"]["type"], "server_error")

    def test_a_form_is_read_and_described(self):
        file = bytes(range(256)) * 1000
        answer = self.send(form("echo", file))
        seen = json.loads(answer.json()["text"])
        self.assertEqual(seen["model"], "echo")
        self.assertEqual([(f["name"], f["file_name"], f["bytes"]) for f in seen["fields"]],
                         [("model", "", 4), ("file", "a.wav", len(file))])
        self.assertEqual(seen["fields"][1]["sha256"], hashlib.sha256(file).hexdigest())
        events = self.send(form("ok", stream="true")).events()
        self.assertEqual(json.loads(events[-1][1]), {"type": "transcript.text.done", "text": "Hello from hotel-sim."})
        self.assertEqual(self.send(form("ok"), "/v1/images/variations").json()["created"], 1700000000)

    def test_a_form_that_is_none_is_refused(self):
        whole = form("ok")
        for body in (b"", whole[:-4], whole[2:], form("ok", end=b""), whole.replace(b'name="model"', b"x"),
                     whole.replace(b'"model"', b'"other"')):
            self.assertEqual(self.send(body).status, 400, body)
        self.assertEqual(self.send(whole, kind="multipart/form-data").status, 400)
        self.assertEqual(self.send(whole, kind="application/json").status, 400)

    def test_tool_calls_whole_and_streamed(self):
        call = self.sim.ask("tool-call").json()["choices"][0]
        self.assertEqual(call["finish_reason"], "tool_calls")
        function = call["message"]["tool_calls"][0]["function"]
        self.assertEqual((function["name"], json.loads(function["arguments"])), ("get_weather", {"city": "Paris"}))
        pieces = [json.loads(data)["choices"][0]["delta"].get("tool_calls", []) for _, data in
                  self.sim.ask("tool-call", True).events()[:-1]]
        self.assertEqual(json.loads("".join(p[0]["function"]["arguments"] for p in pieces if p)), {"city": "Paris"})
        block = self.sim.ask("tool-call", path="/v1/messages").json()["content"][0]
        self.assertEqual((block["type"], block["input"]), ("tool_use", {"city": "Paris"}))
        deltas = [json.loads(d)["delta"]["partial_json"] for name, d in
                  self.sim.ask("tool-call", True, "/v1/messages").events() if name == "content_block_delta"]
        self.assertEqual(json.loads("".join(deltas)), {"city": "Paris"})
        item = self.sim.ask("tool-call", path="/v1/responses").json()["output"][0]
        self.assertEqual(json.loads(item["arguments"]), {"city": "Paris"})
        last = json.loads(self.sim.ask("tool-call", True, "/v1/responses").events()[-1][1])
        self.assertEqual(last["response"]["output"][0]["arguments"], item["arguments"])

    def test_gzip_is_what_its_header_says(self):
        for model, status in (("ok+gzip", 200), ("status-429+gzip", 429), ("spent+gzip", 429)):
            answer = self.sim.ask(model)
            self.assertEqual((answer.status, answer.headers["content-encoding"]), (status, "gzip"))
            self.assertTrue(json.loads(gzip.decompress(bytes(answer.body))))
        bomb = self.sim.ask("status-500+frames-1+size-10000000+gzip")
        self.assertLess(len(bomb.body), 100000)
        self.assertEqual(len(gzip.decompress(bytes(bomb.body))), 10000000)
        self.assertNotIn("content-encoding", self.sim.ask("ok+gzip", True).headers)


class Streams(SimTest):
    def test_chat_stream_is_whole(self):
        answer = self.sim.ask("ok", stream=True)
        self.assertEqual(answer.headers["content-type"], "text/event-stream")
        events = answer.events()
        opener = json.loads(events[0][1])["choices"][0]["delta"]
        self.assertEqual((opener["role"], opener["content"]), ("assistant", ""))
        self.assertEqual(answer.text(), "Hello from hotel-sim.")
        self.assertEqual(json.loads(events[-2][1])["choices"][0]["finish_reason"], "stop")
        self.assertEqual(events[-1][1], "[DONE]")
        self.assertEqual(answer.end, "whole")

    def test_usage_only_when_asked(self):
        self.assertNotIn('"usage"', self.sim.ask("ok", stream=True).body.decode())
        asked = self.sim.ask("ok", stream=True, extra={"stream_options": {"include_usage": True}})
        self.assertEqual(json.loads(asked.events()[-2][1])["usage"]["completion_tokens"], 4)

    def test_messages_stream(self):
        names = [name for name, _ in self.sim.ask("ok", stream=True, path="/v1/messages").events()]
        self.assertEqual(names, ["message_start", "content_block_start"] +
                         ["content_block_delta"] * 4 +
                         ["content_block_stop", "message_delta", "message_stop"])

    def test_responses_stream(self):
        events = self.sim.ask("ok", stream=True, path="/v1/responses").events()
        numbers = [json.loads(data)["sequence_number"] for _, data in events]
        self.assertEqual(numbers, list(range(len(events))))
        last = json.loads(events[-1][1])
        self.assertEqual(last["type"], "response.completed")
        self.assertEqual(last["response"]["output"][0]["content"][0]["text"],
                         "Hello from hotel-sim.")

    def test_frames_gap_size(self):
        answer = self.sim.ask("frames-5-gap-20ms-size-3", stream=True)
        self.assertEqual(answer.text(), "aaabbbcccdddeee")
        self.assertGreaterEqual(answer.seconds, 0.08)

    def test_crlf(self):
        answer = self.sim.ask("crlf", stream=True)
        self.assertTrue(answer.body.endswith(b"data: [DONE]\r\n\r\n"))
        self.assertNotRegex(answer.body, rb"[^\r]\n")

    def test_a_slow_reader_gets_everything_and_costs_no_memory(self):
        with self.sim.connect() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            sock.sendall(request("frames-2000-size-20000", stream=True))
            self.sim.wait_stats(lambda s: s["running"] == 1)
            with open(f"/proc/{self.sim.process.pid}/statm", encoding="ascii") as statm:
                resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            self.assertLess(resident, 100 << 20)
            answer = Answer.read(sock)
        self.assertEqual(len(answer.text()), 2000 * 20000)
        self.assertEqual(answer.end, "whole")


class Faults(SimTest):
    def test_status_and_headers(self):
        answer = self.sim.ask("status-429+retry-after-2+header-x-region=eu")
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.headers["retry-after"], "2")
        self.assertEqual(answer.headers["x-region"], "eu")
        self.assertEqual(answer.json()["error"]["type"], "rate_limit_error")

    def test_busy_and_spent(self):
        busy, spent = self.sim.ask("busy+retry-after-1"), self.sim.ask("spent")
        self.assertEqual((busy.status, busy.headers["retry-after"]), (429, "1"))
        self.assertIn("concurrent requests", busy.json()["error"]["message"])
        self.assertEqual((spent.status, spent.json()["error"]["type"]), (429, "insufficient_quota"))
        self.assertEqual(
            self.sim.ask("spent", path="/v1/messages").json()["error"]["type"], "rate_limit_error")

    def test_status_in_the_messages_dialect(self):
        answer = self.sim.ask("status-529", path="/v1/messages").json()
        self.assertEqual((answer["type"], answer["error"]["type"]), ("error", "overloaded_error"))

    def test_a_refused_stream_is_plain_json(self):
        answer = self.sim.ask("status-503", stream=True)
        self.assertEqual(answer.headers["content-type"], "application/json")

    def test_status_without_body(self):
        answer = self.sim.ask("status-204")
        self.assertEqual((answer.status, answer.body, answer.end), (204, b"", "whole"))

    def test_want_key(self):
        self.assertEqual(self.sim.ask("want-key-abc").status, 401)
        for header in ("Authorization: Bearer abc", "x-api-key: abc"):
            self.assertEqual(self.sim.ask("want-key-abc", headers=[header]).status, 200)

    def test_delays(self):
        head = self.sim.ask("delay-head-80ms")
        self.assertGreaterEqual(head.first_byte, 0.08)
        first = self.sim.ask("delay-first-80ms", stream=True)
        self.assertLess(first.first_byte, first.seconds)
        self.assertGreaterEqual(first.seconds, 0.08)
        self.assertEqual(first.text(), "Hello from hotel-sim.")

    def expect_silence(self, model, until, stream):
        with self.sim.connect() as sock:
            sock.sendall(request(model, stream))
            got = b""
            while until not in got:
                got += sock.recv(65536)
            sock.settimeout(0.1)
            with self.assertRaises(TimeoutError):
                sock.recv(1)
        return got

    def test_silence(self):
        self.expect_silence("silence", b"", False)
        self.assertTrue(self.expect_silence("silence-after-head", b"\r\n\r\n", True)
                        .endswith(b"\r\n\r\n"))
        got = self.expect_silence("silence-after-1", b"Hello", True)
        self.assertNotIn(b" from", got)

    def test_cut(self):
        self.assertEqual((self.sim.ask("cut").status, self.sim.ask("cut").end), (None, "closed"))
        head = self.sim.ask("cut-after-head", stream=True)
        self.assertEqual((head.status, head.body, head.end), (200, b"", "closed"))
        stream = self.sim.ask("cut-after-3", stream=True)
        self.assertEqual((stream.text(), stream.end), ("Hello from hotel-sim", "closed"))
        beyond = self.sim.ask("cut-after-6", stream=True)
        self.assertEqual((beyond.text(), beyond.end), ("Hello from hotel-sim.Hello from", "closed"))
        plain = self.sim.ask("cut-after-10")
        self.assertEqual((len(plain.body), plain.end), (10, "closed"))

    def test_reset(self):
        self.assertEqual((self.sim.ask("reset").status, self.sim.ask("reset").end),
                         (None, "reset"))
        head = self.sim.ask("reset-after-head", stream=True)
        self.assertEqual((head.status, head.body, head.end), (200, b"", "reset"))
        stream = self.sim.ask("reset-after-1", stream=True)
        self.assertEqual((stream.text(), stream.end), ("Hello", "reset"))

    def test_malformed(self):
        for model, index in (("malformed", 2), ("malformed-at-1", 1)):
            answer = self.sim.ask(model, stream=True)
            with self.assertRaises(ValueError):
                json.loads(answer.events()[index][1])
            self.assertEqual(answer.events()[-1][1], "[DONE]")
        plain = self.sim.ask("malformed")
        self.assertEqual((plain.status, plain.end), (200, "whole"))
        with self.assertRaises(ValueError):
            plain.json()

    def test_role_only_opener_leaves_first(self):
        got = self.expect_silence("role-only+silence-after-head", b'"role"', True)
        self.assertNotIn(b"Hello", got)

    def test_keepalives(self):
        answer = self.sim.ask("keepalive-20ms+delay-first-90ms", stream=True)
        comments = [data for _, data in answer.events() if data.startswith(":")]
        self.assertGreaterEqual(len(comments), 2)
        self.assertEqual(answer.text(), "Hello from hotel-sim.")
        pings = self.sim.ask("keepalive-20ms+delay-first-90ms", stream=True, path="/v1/messages")
        self.assertIn("ping", [name for name, _ in pings.events()])

    def test_error_frames(self):
        first = self.sim.ask("error-frame-503", stream=True)
        self.assertEqual(len(first.events()), 1)
        self.assertEqual(json.loads(first.events()[0][1])["error"]["code"], 503)
        later = self.sim.ask("error-frame-429-after-2", stream=True)
        self.assertEqual(later.text(), "Hello from")
        self.assertEqual(json.loads(later.events()[-1][1])["error"]["code"], 429)
        message = self.sim.ask("error-frame-529", stream=True, path="/v1/messages").events()[0]
        self.assertEqual((message[0], json.loads(message[1])["error"]["type"]),
                         ("error", "overloaded_error"))
        response = self.sim.ask("error-frame-500", stream=True, path="/v1/responses").events()[0]
        self.assertEqual((response[0], json.loads(response[1])["code"]), ("error", "500"))

    def test_hidden_error(self):
        for stream in (False, True):
            answer = self.sim.ask("hidden-error-429", stream=stream)
            self.assertEqual((answer.status, answer.json()["error"]["code"]), (200, 429))

    def test_trickle(self):
        answer = self.sim.ask("trickle-64b-2ms", stream=True)
        self.assertEqual({len(c) for c in answer.chunks[:3]}, {64})
        self.assertEqual(answer.text(), "Hello from hotel-sim.")
        plain = self.sim.ask("trickle-50b-5ms")
        self.assertGreater(plain.seconds, 0.015)
        self.assertEqual(plain.json()["object"], "chat.completion")

    def test_missing_ends(self):
        no_done = self.sim.ask("no-done", stream=True)
        self.assertEqual(no_done.end, "whole")
        self.assertIn(b'"finish_reason":"stop"', no_done.body)
        self.assertNotIn(b"[DONE]", no_done.body)
        no_finish = self.sim.ask("no-finish", stream=True)
        self.assertNotIn(b'"finish_reason":"stop"', no_finish.body)
        self.assertEqual(no_finish.text(), "Hello from hotel-sim.")
        self.expect_silence("hang-after-done", b"data: [DONE]\n\n", True)


class Schedules(SimTest):
    def statuses(self, model, count):
        return [self.sim.ask(model).status for _ in range(count)]

    def test_fail_first(self):
        self.assertEqual(self.statuses("fail-first-2", 4), [503, 503, 200, 200])
        self.sim.reset()
        self.assertEqual(self.statuses("fail-first-2", 1), [503])

    def test_names_and_paths_count_apart(self):
        self.assertEqual(self.sim.ask("a/fail-first-1").status, 503)
        self.assertEqual(self.sim.ask("b/fail-first-1").status, 503)
        self.assertEqual(self.sim.ask("a/fail-first-1", path="/x/chat/completions").status, 503)
        self.assertEqual(self.sim.ask("a/fail-first-1").status, 200)

    def test_fail_every_and_percent(self):
        self.assertEqual(self.statuses("fail-every-3+status-500", 6), [200, 200, 500] * 2)
        self.assertEqual(self.statuses("fail-30pct", 100).count(503), 30)

    def test_a_fault_replaces_the_503(self):
        self.assertEqual(self.sim.ask("fail-first-1+reset").end, "reset")
        self.assertEqual(self.sim.ask("fail-first-1+reset").status, 200)

    def test_shape_holds_outside_the_schedule(self):
        self.sim.ask("fail-first-1+frames-2+size-5")
        answer = self.sim.ask("fail-first-1+frames-2+size-5", stream=True)
        self.assertEqual(answer.text(), "aaaaabbbbb")

    def test_down_part_of_the_time(self):
        self.assertEqual(self.sim.ask("down-2s-of-10m").status, 503)
        end = time.monotonic() + LIMIT
        while self.sim.ask("down-2s-of-10m").status != 200:
            self.assertLess(time.monotonic(), end)


    def test_fail_after(self):
        self.assertEqual(self.statuses("fail-after-2", 4), [200, 200, 503, 503])
        self.assertEqual(self.statuses("fail-after-0+status-500", 1), [500])

    def test_changes_with_time(self):
        # The clock of a schedule starts with the simulator.
        for before, after, model in ((200, 503, "fail-after-2s"), (503, 200, "fail-first-2s")):
            self.sim.reset()
            self.assertEqual(self.sim.ask(model).status, before)
            end = time.monotonic() + LIMIT
            while self.sim.ask(model).status != after:
                self.assertLess(time.monotonic(), end)

    def test_retry_after_is_no_fault_by_itself(self):
        answer = self.sim.ask("fail-first-1+retry-after-7")
        self.assertEqual((answer.status, answer.headers["retry-after"]), (503, "7"))
        self.assertEqual(self.sim.ask("fail-first-1+retry-after-7").status, 200)

    def test_takes_holds_good_answers_alone(self):
        self.assertLess(self.sim.ask("fail-first-1+takes-2s").seconds, 1.9)
        for stream in (False, True):
            self.assertGreaterEqual(self.sim.ask("fail-first-1+takes-2s", stream=stream).first_byte, 2.0)

    def test_a_ceiling_refuses_what_is_above_it(self):
        model = "ceiling-2+takes-10s"
        holders = [self.sim.connect() for _ in range(2)]
        for holder in holders:
            holder.sendall(request(model))
        self.sim.wait_stats(lambda s: s["running"] == 2)
        refused = self.sim.ask(model, path="/v1/chat/completions")
        self.assertEqual((refused.status, refused.json()["error"]["code"]), (429, "concurrency_limit_exceeded"))
        # It is the path's, whatever the model; another path has its own.
        self.assertEqual(self.sim.ask("ceiling-2+status-500").status, 500)
        self.assertEqual(self.sim.ask("ceiling-2", path="/eu/chat/completions").status, 200)
        holders[0].close()
        self.sim.wait_stats(lambda s: s["running"] == 1)
        self.assertEqual(self.sim.ask("ceiling-2").status, 200)
        stats = self.sim.stats()
        self.assertEqual(stats["most_at_once"], {"/v1/chat/completions": 2, "/eu/chat/completions": 1})
        self.assertEqual(stats["statuses"], {"200": 4, "429": 1, "500": 1})
        self.sim.reset()
        self.assertEqual(self.sim.stats()["most_at_once"]["/v1/chat/completions"], 1)
        holders[1].close()


class Http(SimTest):
    def test_keep_alive_and_pipelining(self):
        with self.sim.connect() as sock:
            sock.sendall(request("ok") + request("status-503"))
            raw = b""
            while raw.count(b"HTTP/1.1 ") < 2 or not raw.endswith(b"}"):
                raw += sock.recv(65536)
        self.assertLess(raw.index(b"200 OK"), raw.index(b"503 Service"))
        self.assertEqual(self.sim.stats()["requests"], 2)

    def test_connection_close(self):
        with self.sim.connect() as sock:
            sock.sendall(request("ok", headers=["Connection: close"]))
            self.assertEqual(Answer.read(sock).status, 200)
            self.assertEqual(sock.recv(1), b"")

    def test_chunked_request_byte_by_byte(self):
        body = json.dumps({"model": "echo"}).encode()
        data = b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        for i in range(0, len(body), 5):
            data += b"%x;x=1\r\n%s\r\n" % (len(body[i:i + 5]), body[i:i + 5])
        data += b"0\r\nTrailer: x\r\n\r\n"
        with self.sim.connect() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in data:
                sock.send(bytes([byte]))
            answer = Answer.read(sock)
        seen = json.loads(answer.json()["choices"][0]["message"]["content"])
        self.assertEqual(seen["body_sha256"], hashlib.sha256(body).hexdigest())

    def test_expect_continue(self):
        head, _, body = request("ok", headers=["Expect: 100-continue"]).partition(b"\r\n\r\n")
        with self.sim.connect() as sock:
            sock.sendall(head + b"\r\n\r\n")
            self.assertEqual(sock.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(body)
            self.assertEqual(Answer.read(sock).status, 200)

    def test_large_body(self):
        data = request("echo", extra={"pad": "x" * (12 << 20)})
        seen = json.loads(Answer.of(self.sim.connect(), data).json()["choices"][0]["message"]["content"])
        self.assertEqual(seen["body_sha256"],
                         hashlib.sha256(data.partition(b"\r\n\r\n")[2]).hexdigest())

    def refused(self, data):
        return Answer.of(self.sim.connect(), data).status

    def test_refusals(self):
        post = b"POST /v1/chat/completions HTTP/1.1\r\n"
        self.assertEqual(self.refused(b"nonsense\r\n\r\n"), 400)
        self.assertEqual(self.refused(post + b"Content-Length: -1\r\n\r\n"), 400)
        self.assertEqual(
            self.refused(post + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400)
        self.assertEqual(self.refused(post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400)
        self.assertEqual(self.refused(post + b"Content-Length: 99999999999\r\n\r\n"), 413)
        self.assertEqual(self.refused(post + b"X: " + b"x" * (70 << 10)), 413)

    def test_bad_bodies_and_names(self):
        def post(body):
            return Answer.of(self.sim.connect(),
                             b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" %
                             (len(body), body)).status
        for body in (b"", b"{", b"[]", b"{}", b'{"model":1}', b'{"model":"ok"} x', b'{"model":"ok"'):
            self.assertEqual(post(body), 400, body)
        for name in ("nonsense", "status-99", "status-600", "ok+", "ok++ok", "delay-head-5",
                     "frames-123456789", "fail-200pct", "x/"):
            self.assertEqual(self.sim.ask(name).status, 404, name)
        self.assertEqual(self.sim.get("/elsewhere").status, 404)


class Watching(SimTest):
    def test_models_lists_what_can_be_asked(self):
        models = self.sim.get("/any/v1/models").json()["data"]
        self.assertIn("status-503", [m["id"] for m in models])

    def test_clients_that_leave_are_counted(self):
        for model, stream in (("silence", False), ("role-only+silence-after-head", True)):
            with self.sim.connect() as sock:
                sock.sendall(request(model, stream))
                self.sim.wait_stats(lambda s: s["running"] == 1)
            self.sim.wait_stats(lambda s: s["running"] == 0)
        stats = self.sim.stats()
        self.assertEqual((stats["cut_by_client"], stats["streams_cut_by_client"]), (2, 1))
        self.assertEqual(stats["models"], {"silence": 1, "role-only+silence-after-head": 1})

    def test_stats_add_up(self):
        self.sim.ask("ok")
        self.sim.ask("until-close")
        self.sim.ask("reset")
        self.sim.ask("nonsense")
        stats = self.sim.wait_stats(lambda s: s["open_connections"] == 1)
        self.assertEqual((stats["requests"], stats["answered"], stats["broken"]), (4, 3, 1))

    def test_head_is_a_get_without_body(self):
        with self.sim.connect() as sock:
            for path in ("/v1/models", "/nothing"):
                sock.sendall(f"HEAD {path} HTTP/1.1\r\nHost: sim\r\n\r\n".encode())
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += sock.recv(1)
            sock.sendall(b"GET /stats HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")
            self.assertEqual(Answer.read(sock).status, 200)

    def test_last(self):
        data = request("ok", headers=["X-A: b"])
        Answer.of(self.sim.connect(), data)
        last = self.sim.get("/last").json()
        body = data.partition(b"\r\n\r\n")[2]
        self.assertIn(["X-A", "b"], last["headers"])
        self.assertEqual(last["body_sha256"], hashlib.sha256(body).hexdigest())
        self.assertEqual(self.sim.get("/last/body").body, body)

    def test_many_connections_at_once(self):
        results = []

        def ask():
            results.append(self.sim.ask("frames-5-gap-5ms", stream=True).end)

        threads = [threading.Thread(target=ask) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        self.assertEqual(results, ["whole"] * 100)


class Program(unittest.TestCase):
    def test_port_file_alias_and_signal(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "port")
            sim = Sim("--port-file", path, "--alias", "glm-4.6=status-503")
            with open(path, encoding="ascii") as file:
                self.assertEqual(int(file.read()), sim.port)
            self.assertEqual(sim.ask("glm-4.6").status, 503)
            self.assertEqual(sim.stop(), 0)

    def test_bad_options(self):
        for args in (["--alias", "x=nonsense"], ["--listen", "nowhere"], ["--frobnicate"]):
            done = subprocess.run([SIM, *args], capture_output=True, text=True, timeout=LIMIT)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertTrue(done.stderr + done.stdout)

    def test_a_taken_port_is_an_error(self):
        sim = Sim()
        done = subprocess.run([SIM, "--listen", f"127.0.0.1:{sim.port}"], capture_output=True,
                              text=True, timeout=LIMIT)
        sim.stop()
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot listen", done.stderr)

    def test_the_documentation_holds_the_table(self):
        table = subprocess.run([SIM, "--markdown"], capture_output=True, text=True, check=True,
                               timeout=LIMIT).stdout
        with open(os.path.join(DOCS, "sim.md"), encoding="utf-8") as page:
            self.assertIn(table, page.read(), "replace the table by the output of --markdown")
        text = subprocess.run([SIM, "--help"], capture_output=True, text=True, check=True,
                              timeout=LIMIT).stdout
        for pattern in re.findall(r"^\| `([^`]+)`", table, re.MULTILINE):
            self.assertIn(f"  {pattern} ", text)


if __name__ == "__main__":
    unittest.main()
