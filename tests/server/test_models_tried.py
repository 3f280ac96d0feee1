"""POST /api/models/{id}/test: one small request to a model (facts j; field report F175)."""

import json
import unittest

from harness import TestCase, answer, begin_stream, chat, config, end_stream, send_chunk, status, wait_until

TOKEN = "admin-token-for-tests"
NOBODY = "aaaaaaaa-0000-4000-8000-00000000000f"
SECRET = "sk-p1-secret-0001"


def messages(text):
    """A healthy provider of the other dialect."""
    events = (
        ("message_start", {"message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 3}}}),
        ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    )

    def script(conn, seen, number):
        begin_stream(conn)
        for name, data in events:
            send_chunk(conn, ("event: %s\ndata: %s\n\n" % (name, json.dumps(dict(data, type=name)))).encode())
        return end_stream(conn)

    return script


class ModelsTried(TestCase):
    def start(self, script, kind="openai", models=("m",), extra=""):
        """A sidecar with the provider p1, nowhere without a script, and a list of models; the upstream."""
        upstream = None if script is None else self.upstream(script)
        url = "http://127.0.0.1:1/v1" if upstream is None else upstream.url
        self.gate = self.hoteld(config({}, server="", extra=extra), env={"ADMIN_TOKEN": TOKEN})
        spec = {"name": "p1", "provider_type": kind, "base_url": url, "api_key": SECRET, "models": list(models)}
        got = self.call("POST", "/api/providers", spec)
        self.assertEqual(got.status, 201, got.body)
        self.provider = got.json()["id"]
        self.ids = {m["model_id"]: m["id"] for m in self.call("GET", "/api/models").json()}
        return upstream

    def call(self, method, path, body=None, token=TOKEN):
        data = b"" if body is None else json.dumps(body).encode()
        return self.gate.request(method, path, data, {"Authorization": "Bearer " + token})

    def tried(self, model="m"):
        got = self.call("POST", "/api/models/%s/test" % self.ids[model])
        self.assertEqual(got.status, 200, got.body)
        return got.json()

    def row(self, outcome):
        path = "/api/logs/" + outcome["request_id"]
        wait_until(lambda: self.call("GET", path).status == 200, "the row is written")
        return self.call("GET", path).json()

    def test_a_model_that_works(self):
        upstream = self.start(chat("OK then"), models=["z-ai/m"])
        outcome = self.tried("z-ai/m")
        self.assertEqual(
            set(outcome), {"success", "duration_ms", "ttft_ms", "status", "request_id", "response"}, outcome
        )
        self.assertEqual((outcome["success"], outcome["status"], outcome["response"]), (True, 200, "OKthen"))
        self.assertGreaterEqual(outcome["duration_ms"], outcome["ttft_ms"])
        self.assertEqual(len(upstream.seen), 1)
        sent = json.loads(upstream.seen[0].body)
        self.assertEqual((sent["model"], sent["stream"], sent["max_completion_tokens"]), ("z-ai/m", True, 64))
        self.assertEqual(upstream.seen[0].header("authorization"), "Bearer " + SECRET)
        row = self.row(outcome)
        self.assertEqual((row["model_id"], row["virtual_key_name"], row["status_code"]), ("p1/z-ai/m", "admin", 200))
        # Nobody's key is charged.
        self.assertEqual([key["tokens_used"] for key in self.call("GET", "/api/virtual-keys").json()], [0])

    def test_the_other_dialect_and_embeddings(self):
        upstream = self.start(messages("OK"), kind="anthropic-messages")
        outcome = self.tried()
        self.assertEqual((outcome["success"], outcome["response"]), (True, "OK"), outcome)
        self.assertIn(b" /v1/messages ", upstream.seen[0].head.split(b"\r\n")[0])
        self.assertEqual(json.loads(upstream.seen[0].body)["max_tokens"], 64)
        vector = {"object": "list", "data": [{"index": 0, "embedding": [0.5, 0.25]}], "usage": {"prompt_tokens": 1}}
        upstream = self.start(lambda conn, seen, number: answer(conn, 200, vector), models=["text-embed-3"])
        outcome = self.tried("text-embed-3")
        self.assertEqual((outcome["success"], outcome["ttft_ms"]), (True, None), outcome)
        self.assertEqual(outcome["response"], "an embedding of 2 dimensions")
        self.assertIn(b" /v1/embeddings ", upstream.seen[0].head.split(b"\r\n")[0])

    def test_F175_what_a_provider_says_is_shown_without_the_key(self):
        told = {"error": {"message": "Incorrect API key provided: %s. Ask your admin." % SECRET}}
        self.start(status(401, told))
        outcome = self.tried()
        self.assertEqual((outcome["success"], outcome["status"]), (False, 401))
        self.assertIn("Incorrect API key provided", outcome["error"])
        self.assertNotIn(SECRET, json.dumps(outcome))
        self.assertNotIn("response", outcome)
        self.assertIsNone(outcome["ttft_ms"])
        self.assertEqual(self.row(outcome)["attempts"][-1]["status"], 401)

    def test_a_refused_payload_is_shown_in_the_providers_words(self):
        self.start(status(400, {"error": {"message": "max_completion_tokens is not known here"}}), kind="custom")
        outcome = self.tried()
        self.assertEqual((outcome["success"], outcome["status"]), (False, 400))
        self.assertIn("max_completion_tokens is not known here", outcome["error"])

    def test_a_provider_that_is_not_there(self):
        self.start(None)
        outcome = self.tried()
        self.assertEqual((outcome["success"], outcome["status"]), (False, None), outcome)
        self.assertIn("provider request failed", outcome["error"])

    def test_a_model_without_a_first_word_is_given_up(self):
        def silent(conn, seen, number):
            begin_stream(conn)
            return conn.recv(1) != b""

        self.start(silent, extra="settings: {ttft_timeout: 200ms}")
        outcome = self.tried()
        self.assertEqual(outcome["success"], False)
        self.assertTrue(outcome["error"], outcome)

    def test_what_cannot_be_tested(self):
        upstream = self.start(chat())
        path = "/api/models/%s/test"
        self.assertEqual(self.call("POST", path % NOBODY).status, 404)
        self.assertEqual(self.call("POST", path % "x").status, 400)
        self.assertEqual(self.call("POST", path % self.ids["m"], token="wrong").status, 401)
        self.call("PUT", "/api/providers/" + self.provider, {"enabled": False})
        got = self.call("POST", path % self.ids["m"])
        self.assertEqual((got.status, got.body), (409, b"provider 'p1' is switched off"))
        self.assertEqual(upstream.seen, [])

    def test_pictures_are_not_bought(self):
        listing = {"object": "list", "data": [{"id": "m", "architecture": {"modality": "text->image"}}]}
        upstream = self.start(lambda conn, seen, number: answer(conn, 200, listing))
        self.call("PUT", "/api/providers/" + self.provider, {"models": None})
        self.assertEqual(self.call("POST", "/api/providers/%s/discover" % self.provider).status, 200)
        got = self.call("POST", "/api/models/%s/test" % self.ids["m"])
        self.assertEqual(got.status, 400)
        self.assertIn(b"a model that answers with image cannot be tested", got.body)
        self.assertEqual(len(upstream.seen), 1)


if __name__ == "__main__":
    unittest.main()
