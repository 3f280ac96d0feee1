"""A chat request to a group: who answers, and what crosses the gateway."""

import json
import os
import unittest

from harness import KEY, TestCase, chat, reset, status, wait_until

ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}
JUNK = {
    "x-api-key": "junk-x-api-key",
    "api-key": "junk-api-key",
    "x-goog-api-key": "junk-goog",
    "xi-api-key": "junk-xi",
    "Cookie": "junk=cookie",
    "Proxy-Authorization": "Basic junkproxy",
    "X-Foo": "junk-foo",
    "Connection": "keep-alive, X-Foo",
    "TE": "trailers",
    "Keep-Alive": "5",
    "x-hotel-request-id": "junk-request-id",
    "x-request-id": "junk-request-id",
    "REMOTE_ADDR": "junk-remote",
}


class Failover(TestCase):
    def test_third_of_three_answers(self):
        hoteld, (first, second, third) = self.group(status(503), reset, chat("hello world"))
        answer = hoteld.chat(ASK)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json()["choices"][0]["message"]["content"], "hello world")
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertEqual(answer.headers["x-hotel-provider"], "p3")
        self.assertEqual(answer.headers["x-hotel-model"], "model-p3")
        self.assertEqual(answer.headers["x-hotel-attempts"], "3")
        self.assertTrue(answer.headers["x-hotel-request-id"])
        # A reset is tried twice more, a status is not.
        self.assertEqual([len(u.seen) for u in (first, second, third)], [1, 3, 1])
        # The record is written after the answer.
        wait_until(lambda: answer.headers["x-hotel-request-id"] in hoteld.stderr(), "the request is in the log")

    def test_third_of_three_streams(self):
        hoteld, (first, second, third) = self.group(status(503), reset, chat("hello world"))
        answer = hoteld.chat(dict(ASK, stream=True))
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-type"], "text/event-stream")
        self.assertEqual(answer.headers["cache-control"], "no-cache")
        self.assertEqual(answer.headers["x-accel-buffering"], "no")
        self.assertEqual(answer.headers["x-hotel-provider"], "p3")
        self.assertEqual(answer.headers["x-hotel-attempts"], "3")
        events = [line for line in answer.body.split(b"\n\n") if line]
        self.assertEqual(events[-1], b"data: [DONE]")
        text = [json.loads(e[6:])["choices"][0]["delta"].get("content") for e in events[:-1]]
        self.assertEqual([t for t in text if t], ["hello", "world"])
        # A reset is tried twice more, a status is not.
        self.assertEqual([len(u.seen) for u in (first, second, third)], [1, 3, 1])

    def test_two_resets_and_an_answer_are_one_attempt(self):
        def third_time(conn, seen, number):
            return reset(conn, seen, number) if number % 3 < 2 else chat("hello world")(conn, seen, number)

        hoteld, (first, second) = self.group(third_time, chat("sibling"))
        for asked in (ASK, dict(ASK, stream=True)):
            answer = hoteld.chat(asked)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertIn(b"hello", answer.body)
            self.assertEqual(answer.headers["x-hotel-provider"], "p1")
            self.assertEqual(answer.headers["x-hotel-attempts"], "1")
        self.assertEqual((len(first.seen), len(second.seen)), (6, 0))
        self.assertEqual(first.seen[0].body, first.seen[2].body)
        wait_until(lambda: hoteld.stderr().count(" tries=3") == 2, "the records count the tries")
        self.assertNotIn(" charge ", hoteld.stderr())

    def test_only_the_bytes_of_the_model_change(self):
        hoteld, (upstream,) = self.group(chat(), name="x")
        body = b'{"model":"hotel/x","seed":12345678901234567890,"a":1.0,"b":"\\u00e9"}'
        self.assertEqual(hoteld.chat(body).status, 200)
        self.assertEqual(upstream.seen[0].body, body.replace(b"hotel/x", b"model-p1"))

    def test_F161_control_characters_pass_and_the_record_is_kept(self):
        odd = "".join(map(chr, range(32))) + "\x7f\u2028"
        hoteld, (upstream,) = self.group(chat(odd), env={"ADMIN_TOKEN": "admin-token-for-tests"})
        body = json.dumps({"model": "hotel/demo", "messages": [{"role": "user", "content": odd}], "user": odd}).encode()
        answer = hoteld.chat(body)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(upstream.seen[0].body, body.replace(b"hotel/demo", b"model-p1", 1))
        self.assertEqual(answer.json()["choices"][0]["message"]["content"], odd)
        path = "/api/logs/" + answer.headers["x-hotel-request-id"]
        admin = {"Authorization": "Bearer admin-token-for-tests"}
        wait_until(lambda: hoteld.request("GET", path, headers=admin).status == 200, "the row is written")
        self.assertIn("model-p1", hoteld.request("GET", path, headers=admin).body.decode())

    def test_twelve_mebibytes_reach_the_third_provider(self):
        hoteld, (_, _, third) = self.group(status(503), reset, chat())
        filler = "0123456789abcdef" * (12 * 1024 * 1024 // 16)
        body = json.dumps({"model": "hotel/demo", "messages": [{"role": "user", "content": filler}]}).encode()
        self.assertEqual(hoteld.chat(body).status, 200)
        self.assertEqual(third.seen[0].body, body.replace(b"hotel/demo", b"model-p3", 1))

    def test_a_direct_name_reaches_its_provider_alone(self):
        hoteld, (first, second) = self.group(status(503), chat())
        answer = hoteld.chat(dict(ASK, model="p1/model-p1"))
        self.assertEqual(answer.status, 503)
        # Once more, as the last candidate that it is.
        self.assertEqual((len(first.seen), len(second.seen)), (2, 0))

    def test_all_failed_ends_with_the_last_status(self):
        hoteld, upstreams = self.group(status(500), status(503))
        answer = hoteld.chat(ASK)
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.error["type"], "server_error")
        self.assertTrue(answer.headers["x-hotel-request-id"])
        # The last candidate had two.
        self.assertEqual([len(u.seen) for u in upstreams], [1, 2])
        self.assertEqual(answer.headers["x-hotel-attempts"], "3")

    def test_a_refused_payload_does_not_fail_over(self):
        refusal = {"error": {"message": "no such parameter", "type": "invalid_request_error"}}
        hoteld, (_, second) = self.group(status(400, refusal), chat())
        answer = hoteld.chat(ASK)
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json(), refusal)
        self.assertEqual(len(second.seen), 0)


class Isolation(TestCase):
    def test_F139_F141_F145_nothing_of_the_client_reaches_a_provider(self):
        for carrier in ({}, {"Authorization": None, "x-api-key": KEY}):
            hoteld, (first, second) = self.group(status(503), chat())
            headers = dict(JUNK)
            headers.update(carrier)
            answer = hoteld.request(
                "POST", "/v1/chat/completions?key=junk-query", json.dumps(ASK).encode(), headers
            )
            self.assertEqual(answer.status, 200, answer.body)
            for upstream, name in ((first, "p1"), (second, "p2")):
                seen = upstream.seen[0]
                self.assertNotIn(KEY.encode(), seen.raw)
                self.assertNotIn(b"junk", seen.raw)
                self.assertEqual(seen.header("Authorization"), "Bearer sk-%s-secret-0001" % name)
                self.assertEqual(seen.header("Content-Type"), "application/json")
            self.assertNotEqual(answer.headers["x-hotel-request-id"], "junk-request-id")

    def test_F143_F145_nothing_of_the_provider_but_the_content_type_reaches_the_client(self):
        leaky = [
            ("Set-Cookie", "leak=1"),
            ("Server", "leak"),
            ("openai-organization", "leak"),
            ("Access-Control-Allow-Origin", "leak"),
            ("Strict-Transport-Security", "leak"),
            ("Location", "leak"),
            ("X-Secret", "leak"),
            ("X-Bar", "leak"),
            ("Trailer", "leak"),
            ("x-hotel-provider", "leak"),
            ("x-request-id", "leak"),
            ("Retry-After", "4711"),
        ]
        hoteld, _ = self.group(chat(headers=leaky))
        for stream in (False, True):
            answer = hoteld.chat(dict(ASK, stream=stream))
            self.assertEqual(answer.status, 200)
            self.assertNotIn("leak", json.dumps(answer.headers))
            self.assertNotIn("retry-after", answer.headers)
            self.assertEqual(answer.headers["x-hotel-provider"], "p1")

    def test_F173_keys_are_in_no_output_and_no_file(self):
        # A provider that echoes its credential, and a client that presents a wrong key.
        hoteld, _ = self.group(
            lambda conn, seen, n: status(401, {"error": {"message": "bad key " + seen.header("Authorization")}})(
                conn, seen, n
            ),
            env={"DEBUG_LOG": "true"},
        )
        answer = hoteld.chat(ASK)
        self.assertEqual(answer.status, 401)
        self.assertNotIn(b"sk-p1-secret", answer.body)
        self.assertEqual(hoteld.chat(ASK, {"Authorization": "Bearer vk-wrong-key-7777"}).status, 401)
        self.assertEqual(hoteld.stop(), 0)
        found = hoteld.stderr().encode() + hoteld.stdout
        files = []
        for name in os.listdir(hoteld.data_dir):
            files.append(name)
            with open(os.path.join(hoteld.data_dir, name), "rb") as file:
                found += file.read()
        self.assertIn("hotel.db", files)
        for secret in (b"sk-p1-secret-0001", KEY.encode(), b"vk-wrong-key-7777"):
            self.assertNotIn(secret, found)


class Circuits(TestCase):
    def test_all_circuits_open_is_an_honest_429(self):
        hoteld, upstreams = self.group(
            status(500), status(500), extra="resilience: {circuit_breaker: {failure_threshold: 1}}"
        )
        self.assertEqual(hoteld.chat(ASK).status, 500)
        answer = hoteld.chat(ASK)
        self.assertEqual(answer.status, 429, answer.body)
        self.assertTrue(1 <= int(answer.headers["retry-after"]) <= 60)
        self.assertIn("no available provider for hotel/demo", answer.error["message"])
        self.assertEqual(answer.headers["x-hotel-attempts"], "0")
        self.assertEqual([len(u.seen) for u in upstreams], [1, 1])
        wait_until(lambda: "circuit_breaker.open" in hoteld.stderr(), "the event is in the log")

    def test_a_direct_name_is_sent_although_its_circuit_is_open(self):
        hoteld, (upstream,) = self.group(
            status(500), extra="resilience: {circuit_breaker: {failure_threshold: 1}}"
        )
        hoteld.chat(ASK)
        # A circuit that has just opened takes the second chance of a group, but none of a direct name.
        self.assertEqual(len(upstream.seen), 1)
        self.assertEqual(hoteld.chat(dict(ASK, model="p1/model-p1")).status, 500)
        self.assertEqual(len(upstream.seen), 3)


if __name__ == "__main__":
    unittest.main()
