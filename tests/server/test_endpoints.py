"""Every endpoint through the sidecar: bytes, dialects, failover, the passthrough."""

import gzip
import hashlib
import json
import time
import unittest

from harness import (
    KEY,
    MIB,
    TestCase,
    answer,
    chat,
    completion,
    config,
    end_stream,
    endless,
    memory_bound,
    send_chunk,
    status,
    wait_until,
)

BOUNDARY = "----forms-boundary"
FORM = "multipart/form-data; boundary=" + BOUNDARY
# Any bytes, the ones that look like a boundary or a line end included.
FILE = bytes(range(256)) * 8 + b"\r\n--" + BOUNDARY[:-1].encode() + b"\r\n\r\n"


def form(model, file=FILE, stream=None):
    """A form as browsers and SDKs write it."""
    parts = [
        b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n' + file,
        b'Content-Disposition: form-data; name="model"\r\n\r\n' + model.encode(),
        b'Content-Disposition: form-data; name="prompt"\r\n\r\nhotel/demo',
    ]
    if stream is not None:
        parts.append(b'Content-Disposition: form-data; name="stream"\r\n\r\n' + stream.encode())
    line = b"--" + BOUNDARY.encode()
    return b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"


def message(text="hello"):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def response(text="hello"):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"id": "m", "type": "message", "status": "completed", "role": "assistant", "content": content}
    return {"id": "resp_1", "object": "response", "status": "completed", "error": None, "output": [item]}


def named(name, data):
    return b"event: %s\ndata: %s\n\n" % (name.encode(), json.dumps(dict(data, type=name)).encode())


MESSAGE_EVENTS = [
    named("message_start", {"message": dict(message(), content=[])}),
    named("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    named("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "hello"}}),
    named("content_block_stop", {"index": 0}),
    named("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
    named("message_stop", {}),
]
RESPONSE_EVENTS = [
    named("response.created", {"response": {"id": "r"}}),
    named("response.output_text.delta", {"delta": "hello"}),
    named("response.completed", {"response": response()}),
]
IMAGE_EVENTS = [
    named("image_generation.partial_image", {"b64_json": "AAAA"}),
    named("image_generation.completed", {"b64_json": "AAAA"}),
]

# Path, type of the provider, JSON answer.
JSON_ENDPOINTS = [
    ("/messages", "anthropic", message()),
    ("/messages", "anthropic-messages", message()),
    ("/responses", "openai", response()),
    ("/embeddings", "openai", {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}),
    ("/rerank", "openai", {"results": [{"index": 0, "relevance_score": 0.5}]}),
    ("/images/generations", "openai", {"created": 1, "data": [{"b64_json": "AAAA"}]}),
]
FORM_ENDPOINTS = [
    ("/images/edits", {"created": 1, "data": [{"b64_json": "AAAA"}]}),
    ("/images/variations", {"created": 1, "data": [{"b64_json": "AAAA"}]}),
    ("/audio/transcriptions", {"text": "hello"}),
    ("/audio/translations", {"text": "hello"}),
]


def sends(data):
    """A provider with one JSON answer, written in a way no re-serialisation would keep."""
    text = json.dumps(data, indent=1).replace("hello", "h\\u00e9llo\\ud800")
    script = lambda conn, seen, number: answer(conn, 200, text)
    script.text = text.encode()
    return script


def streams(pieces, content_type="text/event-stream", end=end_stream):
    def script(conn, seen, number):
        head = ["HTTP/1.1 200 OK", "Content-Type: " + content_type, "Transfer-Encoding: chunked"]
        conn.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
        for piece in pieces:
            send_chunk(conn, piece)
        return end(conn)

    return script


def cut(conn):
    return False


def path_of(seen):
    return seen.head.split(b" ")[1].decode()


class EachEndpoint(TestCase):
    def test_json_bodies_go_and_come_byte_for_byte(self):
        for path, kind, data in JSON_ENDPOINTS:
            with self.subTest(path=path, kind=kind):
                script = sends(data)
                hoteld, (first, second) = self.group(
                    status(503), script, types={"p1": kind, "p2": kind}, name="demo"
                )
                body = b'{ "b":1e400, "model" : "hotel/demo", "input":"h\\ud800", "max_tokens":9 }'
                if path == "/embeddings":
                    hoteld, (first, second) = self.same_model(status(503), script)
                got = hoteld.request("POST", "/v1" + path, body)
                self.assertEqual((got.status, got.body), (200, script.text))
                self.assertEqual(got.headers["content-type"], "application/json")
                self.assertEqual((got.headers["x-hotel-provider"], got.headers["x-hotel-attempts"]), ("p2", "2"))
                self.assertTrue(got.headers["x-hotel-request-id"])
                for name, upstream in (("p1", first), ("p2", second)):
                    model = got.headers["x-hotel-model"] if path == "/embeddings" else "model-" + name
                    seen = upstream.seen[0]
                    self.assertEqual(path_of(seen), "/v1" + path)
                    self.assertEqual(seen.body, body.replace(b"hotel/demo", model.encode()))
                    self.assertEqual(seen.header("content-type"), "application/json")
                    self.assertNotIn(KEY.encode(), seen.raw)
                    key = "sk-%s-secret-0001" % name
                    if kind == "openai":
                        self.assertEqual(seen.header("authorization"), "Bearer " + key)
                    else:
                        self.assertEqual(seen.header("x-api-key"), key)
                        self.assertEqual(seen.header("anthropic-version"), "2023-06-01")

    def same_model(self, *scripts):
        upstreams = [self.upstream(script) for script in scripts]
        names = ["p%d" % (i + 1) for i in range(len(scripts))]
        text = config(dict(zip(names, upstreams)), {"demo": [n + "/model" for n in names]})
        return self.hoteld(text), upstreams

    def test_F157_F023_forms_go_whole_with_each_candidates_own_model(self):
        for path, data in FORM_ENDPOINTS:
            with self.subTest(path=path):
                script = sends(data)
                hoteld, upstreams = self.group(status(503), script)
                got = hoteld.request("POST", "/v1" + path, form("hotel/demo"), {"Content-Type": FORM})
                self.assertEqual((got.status, got.body), (200, script.text))
                for name, upstream in zip(("p1", "p2"), upstreams):
                    seen = upstream.seen[0]
                    self.assertEqual(seen.body, form("model-" + name))
                    self.assertEqual(seen.header("content-type"), FORM)
                    self.assertEqual(path_of(seen), "/v1" + path)

    def test_streams_pass_event_by_event(self):
        for path, kind, events in (
            ("/messages", "anthropic", MESSAGE_EVENTS),
            ("/responses", "openai", RESPONSE_EVENTS),
            ("/images/generations", "openai", IMAGE_EVENTS),
        ):
            with self.subTest(path=path):
                hoteld, _ = self.group(status(503), streams(events), types={"p1": kind, "p2": kind})
                got = hoteld.request("POST", "/v1" + path, b'{"model":"hotel/demo","stream":true}')
                self.assertEqual((got.status, got.body), (200, b"".join(events)))
                self.assertEqual(got.headers["content-type"], "text/event-stream")
                self.assertEqual(got.headers["cache-control"], "no-cache")
                self.assertEqual(got.headers["x-hotel-provider"], "p2")

    def test_sound_passes_as_it_comes(self):
        pieces = [bytes(range(256)), b"\r\n0\r\n\r\n", bytes(64 * 1024)]
        hoteld, (_, second) = self.group(status(503), streams(pieces, "audio/mpeg"))
        got = hoteld.request("POST", "/v1/audio/speech", b'{"model":"hotel/demo","input":"x"}')
        self.assertEqual((got.status, got.body), (200, b"".join(pieces)))
        self.assertEqual(got.headers["content-type"], "audio/mpeg")
        self.assertEqual(second.seen[0].body, b'{"model":"model-p2","input":"x"}')

    def test_sound_that_breaks_off_does_not_end_cleanly(self):
        hoteld, _ = self.group(streams([b"abc" * 100], "audio/mpeg", cut), chat())
        with hoteld.client() as client:
            client.send_request("POST", "/v1/audio/speech", b'{"model":"hotel/demo","input":"x"}')
            code, headers = client.read_head()
            self.assertEqual((code, headers["transfer-encoding"]), (200, "chunked"))
            rest = client.read_to_end()
            self.assertIn(b"abc" * 100, rest)
            self.assertFalse(rest.endswith(b"0\r\n\r\n"), rest[-50:])

    def test_sound_that_breaks_off_ends_with_a_reset_where_there_are_no_chunks(self):
        for end, error in ((end_stream, None), (cut, ConnectionResetError)):
            hoteld, _ = self.group(streams([b"abc" * 100], "audio/mpeg", end))
            body = b'{"model":"hotel/demo","input":"x"}'
            with hoteld.client() as client:
                head = "POST /v1/audio/speech HTTP/1.0\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
                client.send((head % (KEY, len(body))).encode() + body)
                code, headers = client.read_head()
                self.assertEqual((code, headers.get("transfer-encoding")), (200, None))
                if error is None:
                    self.assertEqual(client.read_to_end(), b"abc" * 100)
                else:
                    self.assertRaises(error, client.read_to_end)

    def test_what_a_stop_ends_does_not_look_whole(self):
        def ticking(conn, seen, number):
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                send_chunk(conn, b"tick")
                time.sleep(0.02)

        hoteld, _ = self.group(ticking, server="drain_timeout: 0s")
        running = []
        for path, body in (("/v1/audio/speech", b'{"model":"hotel/demo"}'), ("/p/p1/x", b"{}")):
            client = hoteld.client()
            self.addCleanup(client.sock.close)
            client.send_request("POST", path, body)
            client.read_head()
            client.read_chunk()
            running.append(client)
        self.assertEqual(hoteld.stop(), 0)
        for client in running:
            self.assertFalse(client.read_to_end().endswith(b"0\r\n\r\n"))

    def test_F037_a_cut_stream_ends_with_one_error_event_of_its_dialect(self):
        for path, kind, events, event in (
            ("/messages", "anthropic", MESSAGE_EVENTS[:3], "error"),
            ("/responses", "openai", RESPONSE_EVENTS[:2], "error"),
        ):
            with self.subTest(path=path):
                hoteld, (_, second) = self.group(streams(events, end=cut), chat(), types={"p1": kind, "p2": kind})
                got = hoteld.request("POST", "/v1" + path, b'{"model":"hotel/demo","stream":true}')
                self.assertEqual(got.status, 200)
                self.assertTrue(got.body.startswith(b"".join(events)))
                rest = got.body[len(b"".join(events)) :].strip().split(b"\n")
                self.assertEqual(rest[0], b"event: error")
                data = json.loads(rest[1].removeprefix(b"data: "))
                self.assertEqual(len(rest), 2)
                self.assertEqual(data["type"], "error")
                code = data["error"]["code"] if path == "/messages" else data["code"]
                self.assertEqual(code, "stream_incomplete")
                self.assertEqual(second.seen, [])

    def test_only_those_who_speak_the_dialect_are_asked(self):
        good = sends(message())
        hoteld, (first, second) = self.group(chat(), good, types={"p2": "anthropic-messages"})
        got = hoteld.request("POST", "/v1/messages", b'{"model":"hotel/demo"}')
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p2"))
        self.assertEqual((first.seen, got.headers["x-hotel-attempts"]), ([], "1"))
        self.assertEqual(hoteld.chat({"model": "hotel/demo"}).headers["x-hotel-provider"], "p1")
        got = hoteld.request("POST", "/v1/messages", b'{"model":"p1/x"}')
        self.assertEqual((got.status, got.error["code"]), (400, "endpoint_not_supported"))
        self.assertEqual((got.json()["type"], got.error["type"]), ("error", "invalid_request_error"))

    def test_embeddings_do_not_fail_over_to_another_model(self):
        hoteld, (first, second) = self.group(status(500), sends({"data": []}))
        got = hoteld.request("POST", "/v1/embeddings", b'{"model":"hotel/demo","input":"x"}')
        self.assertEqual(got.status, 500)
        self.assertEqual(second.seen, [])


class LargeForms(TestCase):
    def ask(self, chunked):
        hashes = []

        def script(conn, seen, number):
            hashes.append(hashlib.sha256(seen.body).hexdigest())
            return answer(conn, 200 if len(hashes) == 2 else 429, {"text": "hello"})

        hoteld, (first, second) = self.group(script, script)
        file = (b"%08d\r\n" * (12 * MIB // 10)) % tuple(range(12 * MIB // 10))
        body = form("hotel/demo", file)
        with hoteld.client() as client:
            if chunked:
                client.send_request(
                    "POST",
                    "/v1/audio/transcriptions",
                    headers={"Content-Type": FORM, "Content-Length": None, "Transfer-Encoding": "chunked"},
                )
                for at in range(0, len(body), 100000):
                    piece = body[at : at + 100000]
                    client.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
                client.send(b"0\r\n\r\n")
            else:
                client.send_request("POST", "/v1/audio/transcriptions", body, {"Content-Type": FORM})
            got = client.read_answer()
        self.assertEqual(got.status, 200)
        want = [form("model-" + name, file) for name in ("p1", "p2")]
        self.assertEqual(hashes, [hashlib.sha256(body).hexdigest() for body in want])
        self.assertEqual(second.seen[0].header("content-length"), str(len(want[1])))

    def test_F023_twelve_mebibytes_reach_the_second_candidate_whole(self):
        self.ask(chunked=False)

    def test_F023_also_when_the_client_sends_chunks(self):
        self.ask(chunked=True)


class Errors(TestCase):
    def anthropic(self, got, code, kind):
        self.assertEqual(got.status, code, got.body)
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(got.json()["type"], "error")
        self.assertEqual(got.error["type"], kind)
        self.assertTrue(got.error["message"])
        self.assertTrue(got.error["code"])

    def test_facts_g_errors_under_messages_have_the_anthropic_form(self):
        kinds = {"p1": "anthropic", "p2": "anthropic"}
        hoteld, _ = self.group(status(500, "no json"), status(529), types=kinds, server="max_request_size: 1MiB")
        ask = lambda body, **kw: hoteld.request("POST", "/v1/messages", body, **kw)
        self.anthropic(ask(b"{}", headers={"Authorization": None}), 401, "authentication_error")
        self.anthropic(ask(b"no"), 400, "invalid_request_error")
        self.anthropic(ask(b'{"model":"hotel/none"}'), 404, "not_found_error")
        self.anthropic(ask(b'{"model":"hotel/demo"}'), 529, "overloaded_error")
        self.anthropic(ask(b'{"model":"p1/x"}'), 500, "api_error")
        self.anthropic(ask(b"x" * (MIB + 1)), 413, "request_too_large")
        self.anthropic(hoteld.request("GET", "/v1/messages"), 405, "invalid_request_error")
        self.anthropic(hoteld.request("POST", "/v1/messages/count_tokens", b"{}"), 404, "not_found_error")
        for raw, code in (
            (b"POST /v1/messages HTTP/1.1\nHost: x\r\n\r\n", 400),
            (b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nbad name: 1\r\n\r\n", 400),
            (b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n\r\n", 411),
        ):
            with hoteld.client() as client:
                client.send(raw)
                self.anthropic(client.read_answer(), code, "invalid_request_error")

    def test_a_path_before_does_not_shape_the_next_error(self):
        hoteld, _ = self.group(chat())
        with hoteld.client() as client:
            client.send_request("GET", "/v1/messages")
            self.assertEqual(client.read_answer().json()["type"], "error")
            client.send(b"nonsense\n\n")
            self.assertNotIn("type", client.read_answer().json())

    def test_a_providers_refusal_of_the_payload_is_forwarded_in_its_own_words(self):
        theirs = b'{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: too big"},"x":1}'
        hoteld, _ = self.group(status(400, theirs), chat(), types={"p1": "anthropic", "p2": "anthropic"})
        got = hoteld.request("POST", "/v1/messages", b'{"model":"hotel/demo"}')
        self.assertEqual((got.status, got.body), (400, theirs))

    def test_other_paths_have_the_openai_form(self):
        hoteld, _ = self.group(status(500), server="max_request_size: 1MiB")
        for path in ("/v1/responses", "/v1/rerank", "/v1/audio/speech"):
            got = hoteld.request("POST", path, b'{"model":"hotel/demo"}')
            self.assertEqual((got.status, got.error["type"]), (500, "server_error"))
            self.assertEqual(hoteld.request("POST", path, b"x" * (MIB + 1)).status, 413)
            got = hoteld.request("GET", path)
            self.assertEqual((got.status, got.headers["allow"]), (405, "POST"))
        for path in ("/v1/completions", "/v1/files", "/v1/images", "/v1/responses/x", "/v1/audio/speech/"):
            self.assertEqual(hoteld.request("POST", path, b"{}").status, 404)

    def test_a_form_that_is_none_is_400(self):
        hoteld, (upstream,) = self.group(chat())
        for body, kind in (
            (b'{"model":"hotel/demo"}', "application/json"),
            (form("hotel/demo"), "multipart/form-data"),
            (form("hotel/demo")[:-10], FORM),
            (form(""), FORM),
            (form("hotel/demo", stream="perhaps"), FORM),
        ):
            got = hoteld.request("POST", "/v1/audio/transcriptions", body, {"Content-Type": kind})
            self.assertEqual((got.status, got.error["code"]), (400, "invalid_request"), body[-80:])
        self.assertEqual(upstream.seen, [])


def mirror(code=200, body=b"\x00\xffanything", headers=(), content_type="application/x-thing"):
    """Answers with given bytes; nothing at all to a HEAD."""

    def script(conn, seen, number):
        if seen.head.startswith(b"HEAD"):
            conn.sendall(b"HTTP/1.1 %d X\r\nContent-Type: text/x\r\nContent-Length: 1234\r\n\r\n" % code)
            return True
        return answer(conn, code, body, headers, content_type)

    return script


class Passthrough(TestCase):
    def test_R29_every_method_goes_and_comes_byte_for_byte(self):
        hoteld, (upstream,) = self.group(mirror())
        for method, body in (
            ("GET", b""),
            ("POST", b'{"model": "x",  "model":"y"}'),
            ("POST", b""),
            ("PUT", bytes(range(256))),
            ("PATCH", b"x" * 300000),
            ("DELETE", b""),
            ("DELETE", b"with a body"),
            ("OPTIONS", b""),
        ):
            with self.subTest(method=method, size=len(body)):
                target = "/a%2Fb//c/?x=1&y=%2e%2e&z"
                got = hoteld.request(method, "/p/p1" + target, body, {"Content-Type": "application/x-own"})
                seen = upstream.seen[-1]
                self.assertEqual((got.status, got.body), (200, b"\x00\xffanything"))
                self.assertEqual(got.headers["content-type"], "application/x-thing")
                self.assertEqual(got.headers["x-hotel-provider"], "p1")
                self.assertTrue(got.headers["x-hotel-request-id"])
                self.assertEqual(seen.head.split(b"\r\n")[0].decode(), "%s /v1%s HTTP/1.1" % (method, target))
                self.assertEqual(seen.body, body)
                self.assertEqual(seen.header("content-type"), "application/x-own")
                self.assertEqual(seen.header("authorization"), "Bearer sk-p1-secret-0001")
                self.assertNotIn(KEY.encode(), seen.raw)

    def test_head_has_no_body_and_the_connection_goes_on(self):
        hoteld, (upstream,) = self.group(mirror())
        with hoteld.client() as client:
            for _ in range(2):
                client.send_request("HEAD", "/p/p1/files")
                code, headers = client.read_head()
                self.assertEqual((code, headers["content-type"]), (200, "text/x"))
                self.assertNotIn("transfer-encoding", headers)
                self.assertEqual(headers.get("content-length", "1234"), "1234")
            client.send_request("GET", "/p/p1/files")
            self.assertEqual(client.read_answer().body, b"\x00\xffanything")
        self.assertEqual([seen.head.split(b" ")[0] for seen in upstream.seen], [b"HEAD", b"HEAD", b"GET"])

    def test_an_answer_without_content_keeps_the_connection_in_step(self):
        def script(conn, seen, number):
            conn.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            return True

        hoteld, _ = self.group(script)
        with hoteld.client() as client:
            for _ in range(2):
                client.send_request("DELETE", "/p/p1/files/1")
                code, headers = client.read_head()
                self.assertEqual(code, 204)
                self.assertNotIn("transfer-encoding", headers)
                self.assertNotIn("content-length", headers)

    def test_R29_what_hides_an_error_or_is_one_passes_untouched(self):
        hidden = b'{"error": {"message": "hidden", "code": 503}}'
        for code, body in ((200, hidden), (400, b"no"), (404, hidden), (418, b""), (500, hidden), (503, b"<html>")):
            with self.subTest(code=code):
                hoteld, (upstream,) = self.group(mirror(code, body, content_type="text/x"))
                got = hoteld.request("POST", "/p/p1/x", b"{}")
                self.assertEqual((got.status, got.body), (code, body))
                self.assertEqual(got.headers["content-type"], "text/x")

    def test_R14_only_what_is_safe_to_repeat_is_repeated(self):
        for method, key, calls in (("POST", None, 1), ("PATCH", None, 1), ("GET", None, 3), ("POST", "k-1", 3)):
            with self.subTest(method=method, key=key):
                hoteld, (upstream,) = self.group(
                    status(503), extra="resilience: {retry: {retry_on_statuses: [503], initial_backoff: 1ms, max_backoff: 1ms}}"
                )
                body = b"{}" if method != "GET" else b""
                got = hoteld.request(method, "/p/p1/x", body, {"Idempotency-Key": key})
                self.assertEqual((got.status, len(upstream.seen)), (503, calls))
                self.assertEqual({seen.header("idempotency-key") for seen in upstream.seen}, {key})

    def test_streams_pass_as_they_are_and_a_cut_shows(self):
        pieces = [b"data: {\"error\":{}}\n\n", b"data: x\n\n"]
        hoteld, _ = self.group(streams(pieces))
        got = hoteld.request("POST", "/p/p1/x", b"{}")
        self.assertEqual((got.body, got.headers["content-type"]), (b"".join(pieces), "text/event-stream"))
        hoteld, _ = self.group(streams(pieces, end=cut))
        with hoteld.client() as client:
            client.send_request("POST", "/p/p1/x", b"{}")
            client.read_head()
            rest = client.read_to_end()
            self.assertIn(pieces[1], rest)
            self.assertNotIn(b"\r\n0\r\n", rest)
            self.assertNotIn(b"stream_incomplete", rest)

    def test_F071_a_client_that_leaves_ends_the_exchange(self):
        hoteld, (upstream,) = self.group(endless())
        with hoteld.client() as client:
            client.send_request("POST", "/p/p1/x", b"{}")
            client.read_head()
            client.read_chunk()
        wait_until(lambda: upstream.seen and upstream.seen[0].closed.is_set(), "the upstream is closed")

    def test_names_that_lead_nowhere_are_404_and_need_a_key(self):
        hoteld, (upstream,) = self.group(mirror())
        for path, code in (("/p/nobody/x", "provider_not_found"), ("/p/p1", "not_found"), ("/p", "not_found")):
            got = hoteld.request("GET", path)
            self.assertEqual((got.status, got.error["code"]), (404, code), path)
            self.assertEqual(hoteld.request("GET", path, headers={"Authorization": None}).status, 401)
        self.assertEqual(hoteld.request("GET", "/p/p1/x", headers={"Authorization": None}).status, 401)
        got = hoteld.request("TRACE", "/p/p1/x")
        self.assertEqual((got.status, "DELETE" in got.headers["allow"]), (405, True))
        self.assertEqual(upstream.seen, [])

    def test_targets_that_leave_the_base_url_are_400(self):
        hoteld, (upstream,) = self.group(mirror())
        for rest in ("/../x", "/a/%2e%2e/x", "/%252e%252e%252fx", "/a\\..\\x", "/x#y", "/..;/x"):
            got = hoteld.request("GET", "/p/p1" + rest)
            self.assertEqual((got.status, got.error["code"]), (400, "invalid_target"), rest)
        self.assertEqual(upstream.seen, [])

    def test_a_chunked_body_goes_with_its_length(self):
        hoteld, (upstream,) = self.group(mirror())
        with hoteld.client() as client:
            client.send_request("PUT", "/p/p1/x", headers={"Transfer-Encoding": "chunked", "Content-Type": None})
            client.send(b"5\r\nhello\r\n0\r\n\r\n")
            self.assertEqual(client.read_answer().status, 200)
        self.assertEqual(upstream.seen[0].body, b"hello")
        self.assertEqual(upstream.seen[0].header("content-length"), "5")

    def test_an_anthropic_provider_gets_its_key_and_the_clients_version(self):
        hoteld, (upstream,) = self.group(mirror(), types={"p1": "anthropic"})
        for version in ("2024-10-22", None):
            hoteld.request("GET", "/p/p1/models", headers={"anthropic-version": version})
            seen = upstream.seen[-1]
            self.assertEqual(seen.header("x-api-key"), "sk-p1-secret-0001")
            self.assertEqual(seen.header("anthropic-version"), version or "2023-06-01")
            self.assertIsNone(seen.header("authorization"))


class Coded(TestCase):
    """Content coding that nobody asked for."""

    def coded(self, code, data, compress=gzip.compress, coding="gzip"):
        return lambda conn, seen, number: answer(
            conn, code, compress(json.dumps(data).encode()), (("Content-Encoding", coding),)
        )

    def test_F147_a_coded_answer_passes_as_it_is(self):
        for coding, compress in (("gzip", gzip.compress), ("br", lambda data: b"\x8b\x00\x80" + data)):
            hoteld, (_, second) = self.group(self.coded(200, completion(), compress, coding), chat())
            got = hoteld.chat({"model": "hotel/demo"})
            self.assertEqual((got.status, got.headers["content-encoding"]), (200, coding))
            self.assertEqual(got.body, compress(json.dumps(completion()).encode()))
            self.assertEqual(second.seen, [])

    def test_F149_a_coded_refusal_is_read_before_it_is_judged(self):
        spent = {"error": {"message": "You exceeded your current quota, please check your plan and billing details."}}
        hoteld, (first, _) = self.group(self.coded(429, spent), chat())
        for _ in range(3):
            self.assertEqual(hoteld.chat({"model": "hotel/demo"}).headers["x-hotel-provider"], "p2")
        self.assertEqual(len(first.seen), 1)  # it opened the circuit at once

    def test_F149_a_coded_refusal_of_the_payload_is_readable(self):
        words = {"error": {"message": "max_tokens is too large", "type": "invalid_request_error"}}
        hoteld, _ = self.group(self.coded(400, words), chat())
        got = hoteld.chat({"model": "hotel/demo"})
        self.assertEqual((got.status, got.error["message"]), (400, "max_tokens is too large"))
        self.assertNotIn("content-encoding", got.headers)

    def test_F149_a_bomb_costs_nothing(self):
        bomb = gzip.compress(bytes(100 * MIB), 1)
        hoteld, _ = self.group(lambda conn, seen, number: answer(conn, 500, bomb, (("Content-Encoding", "gzip"),)), chat())
        before = hoteld.rss()
        for _ in range(3):
            self.assertEqual(hoteld.chat({"model": "hotel/demo"}).status, 200)
        self.assertLess(hoteld.rss() - before, memory_bound(8 * MIB))


SECRETS = {
    "x-api-key": "junk-1",
    "api-key": "junk-2",
    "x-goog-api-key": "junk-3",
    "xi-api-key": "junk-4",
    "Cookie": "session=junk-5",
    "Proxy-Authorization": "Basic junk-6",
    "X-Forwarded-For": "10.9.8.7",
    "OpenAI-Organization": "org-junk-7",
}
HOP_BY_HOP = {
    "Connection": "keep-alive, X-Foo",
    "X-Foo": "junk-foo",
    "TE": "trailers",
    "Upgrade": "websocket",
    "Keep-Alive": "timeout=5",
    "Proxy-Connection": "keep-alive",
}


class Headers(TestCase):
    """The header rows of the field reports, on endpoints and on the passthrough."""

    PATHS = (
        ("/v1/chat/completions?key=junk-8", b'{"model":"hotel/demo"}'),
        ("/v1/embeddings?key=junk-8", b'{"model":"p1/x"}'),
        ("/p/p1/x", b"{}"),
    )

    def test_F139_F141_F145_no_credential_and_no_hop_by_hop_field_reaches_a_provider(self):
        for path, body in self.PATHS:
            with self.subTest(path=path):
                hoteld, upstreams = self.group(status(429), status(429))
                hoteld.request("POST", path, body, {**SECRETS, **HOP_BY_HOP})
                seen = [seen for upstream in upstreams for seen in upstream.seen]
                self.assertTrue(seen)
                for one in seen:
                    raw = one.raw.lower()
                    for word in (KEY.encode(), hashlib.sha256(KEY.encode()).hexdigest().encode(), b"junk", b"10.9.8.7"):
                        self.assertNotIn(word, raw)
                    for name in ("te", "upgrade", "keep-alive", "proxy-connection", "x-foo", "connection"):
                        self.assertIsNone(one.header(name), name)

    def test_F143_F145_only_listed_fields_of_an_answer_reach_the_client(self):
        extra = (
            ("Set-Cookie", "a=b"),
            ("Server", "secret-server"),
            ("openai-organization", "org-1"),
            ("Access-Control-Allow-Origin", "*"),
            ("Strict-Transport-Security", "max-age=1"),
            ("Location", "http://elsewhere/"),
            ("X-Secret", "s"),
            ("x-ratelimit-remaining-requests", "3"),
            ("Connection", "keep-alive, X-Bar"),
            ("X-Bar", "1"),
            ("Trailer", "X-T"),
            ("Keep-Alive", "timeout=9"),
        )
        allowed = {
            "content-type", "content-length", "transfer-encoding", "cache-control", "x-accel-buffering",
            "x-hotel-request-id", "x-hotel-provider", "x-hotel-model", "x-hotel-attempts",
        }
        hoteld, _ = self.group(chat(headers=extra))
        for path, body in (
            ("/v1/chat/completions", b'{"model":"hotel/demo"}'),
            ("/v1/chat/completions", b'{"model":"hotel/demo","stream":true}'),
            ("/p/p1/chat/completions", b'{"model":"x"}'),
            ("/p/p1/chat/completions", b'{"model":"x","stream":true}'),
        ):
            got = hoteld.request("POST", path, body)
            self.assertEqual(got.status, 200)
            self.assertEqual(set(got.headers) - allowed, set(), path)

    def test_F153_common_spellings_of_a_base_url_give_one_version(self):
        upstream = self.upstream(sends({"data": []}))
        root = "http://127.0.0.1:%d" % upstream.port
        for base, want in (
            ("", "/v1/embeddings"),
            ("/", "/v1/embeddings"),
            ("/v1", "/v1/embeddings"),
            ("/v1/", "/v1/embeddings"),
            ("/api/v1", "/api/v1/embeddings"),
            ("/v1beta/openai/", "/v1beta/openai/embeddings"),
            ("/v1?api-version=1", "/v1/embeddings?api-version=1"),
        ):
            hoteld = self.hoteld(config({"p1": root + base}))
            self.assertEqual(hoteld.request("POST", "/v1/embeddings", b'{"model":"p1/m"}').status, 200)
            self.assertEqual(path_of(upstream.seen[-1]), want, base)

    def test_F179_no_redirect_is_followed(self):
        sink = self.upstream(chat())
        for code in (301, 302, 303, 307, 308):
            for where in ("http://127.0.0.1:%d/v1/x" % sink.port, "/v1/elsewhere"):
                hoteld, (first, second) = self.group(status(code, headers=(("Location", where),)), chat())
                got = hoteld.chat({"model": "hotel/demo"})
                self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "p2"))
                self.assertEqual(hoteld.chat({"model": "p1/x"}).status, 502)
                got = hoteld.request("GET", "/p/p1/x")
                self.assertEqual((got.status, got.headers.get("location")), (502, None))
                self.assertEqual(len(first.seen), 3)
        self.assertEqual(sink.seen, [])

    def test_F181_other_spellings_of_a_forbidden_address_are_refused(self):
        for host in (
            "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "[::ffff:169.254.169.254]",
            "169.254.169.254.", "good@169.254.169.254", "[::FFFF:A9FE:A9FE]",
        ):
            hoteld = self.hoteld(config({"p1": "http://%s/v1" % host}), wait=False)
            self.assertEqual(hoteld.wait(), 2, host)
            self.assertIn("providers.p1.base_url", hoteld.stderr(), host)

    def test_F183_a_client_does_not_choose_where_a_request_goes(self):
        sink = self.upstream(mirror())
        hoteld, (upstream,) = self.group(mirror())
        evil = "http://127.0.0.1:%d/v1" % sink.port
        for body in (
            {"model": "hotel/demo", "api_base": evil, "base_url": evil},
            {"model": evil + "/x"},
            {"model": "p1/" + evil},
        ):
            hoteld.chat(body, {"X-Base-Url": evil, "Host": "127.0.0.1:%d" % sink.port})
        for target in ("/p/" + evil + "/x", "/p/p1/" + evil, "/p/p1//127.0.0.1:%d/x" % sink.port, "/p/p1@127.0.0.1:%d/x" % sink.port):
            hoteld.request("GET", target)
        self.assertEqual(sink.seen, [])
        for seen in upstream.seen:
            self.assertEqual(seen.header("host"), "127.0.0.1:%d" % upstream.port)


if __name__ == "__main__":
    unittest.main()
