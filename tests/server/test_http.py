"""The HTTP face: paths, methods, keys, limits, malformed input."""

import json
import os
import sqlite3
import unittest

from harness import KEY, TestCase, chat, config, status

ASK = {"model": "hotel/demo", "messages": []}


class Paths(TestCase):
    def setUp(self):
        self.gateway, self.upstreams = self.group(chat())

    def test_health(self):
        answer = self.gateway.request("GET", "/health", headers={"Authorization": None})
        self.assertEqual((answer.status, answer.body), (200, b"OK"))
        answer = self.gateway.request("HEAD", "/health")
        self.assertEqual((answer.status, answer.headers["content-length"]), (200, "2"))

    def test_models_lists_providers_models_and_groups(self):
        answer = self.gateway.request("GET", "/v1/models")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["object"], "list")
        rows = {row["id"]: row for row in answer.json()["data"]}
        self.assertEqual(sorted(rows), ["hotel/demo", "p1/model-p1"])
        for row in rows.values():
            self.assertEqual(set(row), {"id", "object", "created", "owned_by", "provider"})
            self.assertEqual((row["object"], row["provider"]), ("model", "p1"))
            self.assertIsInstance(row["created"], int)
        self.assertEqual(rows["hotel/demo"]["owned_by"], "hotel")

    def test_unknown_paths_are_404_in_the_error_shape(self):
        for path in ("/", "/v1", "/v1/", "/v1/completions", "/v1/chat/completions/", "/v1/models/x"):
            answer = self.gateway.request("GET", path)
            self.assertEqual(answer.status, 404, path)
            self.assertEqual(answer.headers["content-type"], "application/json")
            self.assertEqual(answer.error["code"], "not_found")
            self.assertEqual(answer.error["type"], "not_found_error")
            self.assertTrue(answer.headers["x-hotel-request-id"])

    def test_wrong_methods_are_405_with_allow(self):
        for method, path, allow in (
            ("GET", "/v1/chat/completions", "POST"),
            ("HEAD", "/v1/chat/completions", "POST"),
            ("DELETE", "/v1/models", "GET, HEAD"),
            ("POST", "/health", "GET, HEAD"),
        ):
            answer = self.gateway.request(method, path)
            self.assertEqual((answer.status, answer.headers["allow"]), (405, allow), path)

    def test_bad_requests_are_400(self):
        for body in (b"", b"not json", b"[]", b'{"messages":[]}', b'{"model":7}', b'{"model":"demo"}', b'{"model":""}'):
            answer = self.gateway.chat(body)
            self.assertEqual(answer.status, 400, (body, answer.body))
            self.assertEqual(answer.error["type"], "invalid_request_error")
            self.assertTrue(answer.error["code"])
            self.assertTrue(answer.headers["x-hotel-request-id"])
        self.assertEqual(self.upstreams[0].seen, [])

    def test_a_bare_group_name_is_told_its_right_form(self):
        answer = self.gateway.chat({"model": "demo", "messages": []})
        self.assertEqual(answer.status, 400)
        self.assertIn("hotel/demo", answer.error["message"])

    def test_an_unknown_group_is_404(self):
        answer = self.gateway.chat({"model": "hotel/nothing", "messages": []})
        self.assertEqual(answer.status, 404)
        self.assertEqual(answer.error["message"], "model not found: hotel/nothing")
        self.assertEqual(answer.error["code"], "model_not_found")

    def test_an_unknown_provider_is_404(self):
        answer = self.gateway.chat({"model": "nobody/x", "messages": []})
        self.assertEqual((answer.status, answer.error["code"]), (404, "model_not_found"))


class StoredGroups(TestCase):
    def test_disabled_and_empty_groups_are_404(self):
        upstream = self.upstream(chat())
        members = ["p1/a", "p1/b"]
        first = self.hoteld(config({"p1": upstream}, {"off": members, "empty": members, "kept": members}))
        self.assertEqual(first.stop(), 0)
        with sqlite3.connect(os.path.join(first.data_dir, "hotel.db")) as db:
            db.execute("UPDATE model_failover_groups SET group_enabled = 0 WHERE display_model = 'off'")
            db.execute("UPDATE model_failover_groups SET priority_order = '[]' WHERE display_model = 'empty'")
        db.close()
        second = self.hoteld(config({"p1": upstream}), data_dir=first.data_dir)
        # The start brings groups in line with the models: one without members is switched off.
        for name in ("off", "empty"):
            answer = second.chat({"model": "hotel/" + name, "messages": []})
            self.assertEqual((answer.status, answer.error["message"]), (404, "failover group disabled"))
        self.assertEqual(second.chat({"model": "hotel/kept", "messages": []}).status, 200)


class Keys(TestCase):
    def test_F177_every_bad_key_gets_the_same_401(self):
        hoteld, (upstream,) = self.group(chat())
        wrong = [
            {"Authorization": None},
            {"Authorization": ""},
            {"Authorization": "Bearer"},
            {"Authorization": "Bearer "},
            {"Authorization": "Bearer nonsense"},
            {"Authorization": "Bearer " + KEY[:-1]},
            {"Authorization": "Bearer " + KEY + "x"},
            {"Authorization": "Basic " + KEY},
            {"Authorization": KEY},
            {"Authorization": None, "x-api-key": "nonsense"},
            {"Authorization": None, "api-key": KEY},
            {"Authorization": "Bearer nonsense", "x-api-key": KEY},
        ]
        bodies = set()
        for headers in wrong:
            for method, path in (("GET", "/v1/models"), ("POST", "/v1/chat/completions"), ("GET", "/v1/nothing")):
                body = json.dumps(ASK).encode() if method == "POST" else b""
                answer = hoteld.request(method, path, body, headers)
                self.assertEqual(answer.status, 401, headers)
                self.assertEqual(answer.headers["www-authenticate"], "Bearer")
                self.assertTrue(answer.headers["x-hotel-request-id"])
                bodies.add(answer.body)
        self.assertEqual(len(bodies), 1)
        self.assertEqual(
            json.loads(bodies.pop()),
            {"error": {"message": "invalid virtual key", "type": "authentication_error", "code": "invalid_virtual_key"}},
        )
        self.assertEqual(upstream.seen, [])

    def test_both_carriers_work(self):
        hoteld, _ = self.group(chat())
        for headers in ({}, {"Authorization": "bearer " + KEY}, {"Authorization": None, "x-api-key": KEY}):
            self.assertEqual(hoteld.request("GET", "/v1/models", headers=headers).status, 200)

    def test_a_repeated_key_field_is_refused(self):
        hoteld, _ = self.group(chat())
        with hoteld.client() as client:
            client.send(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n" + (b"Authorization: Bearer %s\r\n" % KEY.encode()) * 2 + b"\r\n")
            self.assertEqual(client.read_answer().status, 401)

    def test_no_key_is_needed_when_the_configuration_says_so(self):
        hoteld = self.hoteld(
            config({"p1": self.upstream(chat())}, {"demo": ["p1/a"]}, server="require_virtual_key: false", keys=False)
        )
        self.assertEqual(hoteld.chat(ASK, {"Authorization": None}).status, 200)
        self.assertEqual(hoteld.chat(ASK, {"Authorization": "Bearer anything"}).status, 200)


class Limits(TestCase):
    LIMIT = 1024 * 1024

    def setUp(self):
        self.gateway, (self.up,) = self.group(chat(), server="max_request_size: %d" % self.LIMIT)

    def body(self, size):
        start = b'{"model":"hotel/demo","messages":[],"pad":"'
        return start + b"x" * (size - len(start) - 2) + b'"}'

    def test_F163_a_body_of_exactly_the_limit_is_served(self):
        body = self.body(self.LIMIT)
        self.assertEqual(self.gateway.chat(body).status, 200)
        self.assertEqual(len(self.up.seen[0].body), self.LIMIT - len("hotel/demo") + len("model-p1"))

    def test_F163_one_byte_more_is_413_and_the_client_that_still_sends_gets_it(self):
        for size in (self.LIMIT + 1, 20 * self.LIMIT):
            answer = self.gateway.chat(self.body(size))
            self.assertEqual(answer.status, 413)
            self.assertEqual(answer.error["code"], "request_too_large")
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(answer.headers["x-hotel-request-id"])
        self.assertEqual(self.up.seen, [])

    def chunked(self, client, body, piece):
        client.send_request("POST", "/v1/chat/completions", b"", {"Content-Length": None, "Transfer-Encoding": "chunked"})
        for at in range(0, len(body), piece):
            part = body[at : at + piece]
            client.send(b"%X;ext=1\r\n" % len(part) + part + b"\r\n")
        client.send(b"0\r\nTrailer: x\r\n\r\n")

    def test_chunked_uploads_are_served_and_bounded(self):
        with self.gateway.client() as client:
            body = self.body(300000)
            self.chunked(client, body, 777)
            self.assertEqual(client.read_answer().status, 200)
            self.assertEqual(self.up.seen[0].body, body.replace(b"hotel/demo", b"model-p1"))
            self.chunked(client, self.body(self.LIMIT + 1), 65536)
            answer = client.read_answer()
            self.assertEqual((answer.status, answer.error["code"]), (413, "request_too_large"))

    def test_head_limits_are_431_and_414(self):
        for head, code in (
            (b"".join(b"X-%d: y\r\n" % i for i in range(101)), 431),
            (b"X: " + b"y" * 33000 + b"\r\n", 431),
        ):
            with self.gateway.client() as client:
                client.send(b"GET /health HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n")
                answer = client.read_answer()
                self.assertEqual(answer.status, code)
                self.assertTrue(answer.error["code"])
        with self.gateway.client() as client:
            client.send(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(client.read_answer().status, 414)

    def test_expect_continue_is_answered_before_the_body(self):
        body = self.body(100000)
        with self.gateway.client() as client:
            client.send_request(
                "POST", "/v1/chat/completions", b"", {"Content-Length": str(len(body)), "Expect": "100-continue"}
            )
            self.assertEqual(client.read_head()[0], 100)
            client.send(body)
            self.assertEqual(client.read_answer().status, 200)

    def test_an_unauthorized_upload_is_refused_before_its_body(self):
        with self.gateway.client() as client:
            client.send_request(
                "POST", "/v1/chat/completions", b"", {"Content-Length": "1000000", "Authorization": "Bearer no"}
            )
            answer = client.read_answer()
            self.assertEqual((answer.status, answer.headers["connection"]), (401, "close"))


class Framing(TestCase):
    def setUp(self):
        self.gateway, (self.up,) = self.group(chat())

    def test_ambiguous_and_malformed_heads_are_refused_and_the_connection_closed(self):
        post = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n"
        cases = {
            "length beside coding": post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "two lengths": post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
            "equal lengths": post + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            "list of lengths": post + b"Content-Length: 2, 2\r\n\r\n{}",
            "signed length": post + b"Content-Length: +2\r\n\r\n{}",
            "two codings": post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "space before colon": post + b"Content-Length : 2\r\n\r\n{}",
            "folded line": post + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
            "control character": post + b"X: a\x01b\r\nContent-Length: 2\r\n\r\n{}",
            "nul": post + b"X: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
            "bare line feed": post + b"X: a\nContent-Length: 2\r\n\r\n{}",
            "bare carriage return": post + b"X: a\rb\r\nContent-Length: 2\r\n\r\n{}",
            "no host": b"GET /health HTTP/1.1\r\n\r\n",
            "two hosts": b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "absolute target": b"GET http://x/health HTTP/1.1\r\nHost: x\r\n\r\n",
            "no target": b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
            "no version": b"GET /health\r\nHost: x\r\n\r\n",
            "garbage": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
            "bad chunk size": post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            "negative chunk size": post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
            "chunk without end": post + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
        }
        for name, data in cases.items():
            with self.subTest(name), self.gateway.client() as client:
                client.send(data)
                answer = client.read_answer()
                self.assertEqual(answer.status, 400, name)
                self.assertEqual(answer.error["code"], "malformed_request", name)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(client.is_closed())
        self.assertEqual(self.up.seen, [])

    def test_what_is_not_spoken_has_its_own_status(self):
        for data, code in (
            (b"GET /health HTTP/2.0\r\nHost: x\r\n\r\n", 505),
            (b"BREW /health HTTP/1.1\r\nHost: x\r\n\r\n", 501),
            (b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
            (b"POST /health HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", 415),
            (b"GET /health HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n", 417),
        ):
            with self.gateway.client() as client:
                client.send(data)
                self.assertEqual(client.read_answer().status, code, data)

    def test_a_connection_serves_many_requests_also_pipelined(self):
        body = json.dumps(ASK).encode()
        with self.gateway.client() as client:
            for _ in range(3):
                client.send_request("POST", "/v1/chat/completions", body)
                self.assertEqual(client.read_answer().status, 200)
            request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
            client.send(request * 5 + b"\r\n" + request)
            for _ in range(6):
                self.assertEqual(client.read_answer().body, b"OK")
            client.send(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertEqual(client.read_answer().headers["connection"], "close")
            self.assertTrue(client.is_closed())

    def test_a_request_in_single_bytes_is_understood(self):
        body = json.dumps(ASK).encode()
        with self.gateway.client() as client:
            client.sock.setsockopt(6, 1, 1)
            data = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s" % (
                KEY.encode(),
                len(body),
                body,
            )
            for byte in data:
                client.send(bytes([byte]))
            self.assertEqual(client.read_answer().status, 200)

    def test_nothing_is_ever_compressed_or_cut_by_a_range(self):
        wish = {"Accept-Encoding": "br, gzip, deflate", "Range": "bytes=0-1"}
        for stream in (False, True):
            answer = self.gateway.chat(dict(ASK, stream=stream), wish)
            self.assertEqual(answer.status, 200)
            self.assertNotIn("content-encoding", answer.headers)
            self.assertIn(b"hello", answer.body)
        answer = self.gateway.request("GET", "/v1/models", headers=wish)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["object"], "list")

    def test_http_1_0_gets_a_stream_without_chunks(self):
        body = json.dumps(dict(ASK, stream=True)).encode()
        with self.gateway.client() as client:
            client.send(
                b"POST /v1/chat/completions HTTP/1.0\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n%s"
                % (KEY.encode(), len(body), body)
            )
            answer = client.read_answer()
            self.assertEqual(answer.status, 200)
            self.assertNotIn("transfer-encoding", answer.headers)
            self.assertTrue(answer.body.startswith(b"data: ") and answer.body.endswith(b"data: [DONE]\n\n"))

    def test_an_encoded_line_end_in_the_path_is_no_line_end(self):
        answer = self.gateway.request("GET", "/health%0d%0aEvil:%201")
        self.assertEqual(answer.status, 404)
        self.assertNotIn("evil", answer.headers)


if __name__ == "__main__":
    unittest.main()
