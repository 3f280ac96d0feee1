"""Requests made up from the admin API's own description: whatever comes, an answer that is described comes back.

HOTEL_SEED repeats a run; a failure prints the request.
"""

import json
import random
import re
import time
import unittest
import urllib.parse

from harness import KEY, LONG, SANITIZED, SEED, answer, chat, config, status
from test_api import TOKEN, ApiCase

REQUESTS = 20000 if LONG else 1500 if SANITIZED else 3000
SLOWEST = 10.0
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Why a 503 may be: nothing else is an excuse for one.
BUSY = re.compile(r"locked|full|retry shortly|too many")


class Maker:
    """Makes up requests for one document."""

    def __init__(self, document, known, near, seed):
        self.random = random.Random(seed)
        self.known = known  # ids, by the path that lists them
        self.near = near  # providers on this machine
        self.operations = [
            (path, method.upper(), operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            # Scanning everybody and testing models would ask hosts that were made up.
            if not path.endswith(("/discover-all", "/test")) and "text/event-stream" not in next(iter(operation["responses"].values())).get("content", {})
        ]

    def text(self):
        pick = self.random.choice
        return pick([
            lambda: "",
            lambda: "a",
            lambda: pick(["demo", "p1", "p1/model-p1", "openai", "custom", "24h", "1h", "all", "1d", "true", "null"]),
            lambda: "name-%d" % self.random.randrange(1000),
            lambda: pick(["https://p%d.example/v1", "http://127.0.0.1:%d/v1", "https://169.254.169.254/%d", "ftp://x/%d"]) % self.random.randrange(1, 65536),
            lambda: self.id(),
            lambda: "2026-09-01T10:00:00Z",
            lambda: pick(["2026-13-45T99:99:99Z", "1e99", "-1", "99999999999999999999", "0x10", "  1 "]),
            lambda: "é" * self.random.randrange(1, 300),
            lambda: "\U0001f600" * 40,
            lambda: "a\x00b",
            lambda: "\ud800",
            lambda: "\x1b[31m\r\nSet-Cookie: a=b",
            lambda: "' OR 1=1; DROP TABLE providers; --",
            lambda: "../../etc/passwd",
            lambda: "%s%n${x}{{7*7}}",
            lambda: "x" * pick([100, 101, 128, 129, 255, 256, 500, 501, 1000, 5000]),
            lambda: "y" * 300000 if self.random.random() < 0.1 else "y" * 70000,
        ])()

    def id(self):
        known = self.known[self.random.choice(list(self.known))]
        if known and self.random.random() < 0.6:
            found = self.random.choice(known)
            return found if self.random.random() < 0.9 else found.upper()
        return self.random.choice(["aaaaaaaa-0000-4000-8000-00000000000f", "00000000-0000-0000-0000-000000000000", "not-a-uuid"])

    def integer(self):
        return self.random.choice([0, 1, -1, 2, 10, 100, 10000, 10001, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), self.random.randrange(1000)])

    def number(self):
        return self.random.choice([0, 0.0, -0.0, 0.1, 1, 1000, 1e308, -1e308, 1e-320, 10000000.01, 2**64])

    def value(self, schema, right):
        """A value of the schema's type, or, not `right`, of any."""
        kind = schema.get("type") if right else None
        if right and schema.get("nullable") and self.random.random() < 0.2:
            return None
        if kind == "string":
            return self.text()
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "integer":
            return self.integer()
        if kind == "number":
            return self.number()
        if kind == "array":
            items = [self.id() for _ in range(self.random.choice([0, 1, 2, 3, 101]))]
            return items * 2 if self.random.random() < 0.2 else items
        if kind == "object":
            return {self.id(): self.random.random() < 0.5 for _ in range(self.random.choice([0, 1, 101]))}
        return self.random.choice([None, True, 0, -1, 1.5, 1e400, "", "text", [], [None], [[]], {}, {"a": {"b": 1}}, self.text()])

    def sensible(self, name):
        """What an operator would write there; None where anything will do."""
        pick = self.random.choice
        makes = {
            "name": lambda: "name-%d" % self.random.randrange(30),
            "display_model": lambda: "group-%d" % self.random.randrange(30),
            "provider_type": lambda: pick(["openai", "anthropic", "ollama", "custom"]),
            "base_url": lambda: pick(["https://made.example/v1", "http://127.0.0.1:9/v1"]),
            "api_key": lambda: "sk-made-secret-0001",
            "models": lambda: pick([["a/m"], ["a/m", "b/n"], None]),
            "entry_ids": lambda: self.random.sample(self.known["/api/models"], min(len(self.known["/api/models"]), self.random.randrange(1, 5))),
            "priority_order": lambda: self.random.sample(self.known["/api/models"], min(len(self.known["/api/models"]), self.random.randrange(1, 5))),
            "allowed_providers": lambda: pick([None, self.known["/api/providers"][:2], ["p1"]]),
            "older_than": lambda: pick(["1h", "1d", "1w", "1m", "all"]),
            "budget_period": lambda: pick(["day", "week", "month"]),
            "budget_usd": lambda: pick([0, 0.5, 12.25, 10000000]),
            "max_in_flight": lambda: pick([1, 2, 10000]),
            "enabled": lambda: True,
        }
        return makes[name]() if name in makes else None

    def body(self, schema):
        fields = schema.get("properties", {})
        made = {}
        sound = self.random.random() < 0.5
        if schema.get("additionalProperties"):  # any names
            names = ["ttft_timeout", "hedging.enabled", "circuit_breaker_threshold", "nonsense", "", "log_retention", self.text()[:2000]]
            for name in self.random.sample(names, self.random.randrange(4)):
                made[name] = self.random.choice([self.text()[:600], "5s", "true", True, 3, 0, -1, "1m0s", None, [], 1e308])
            return made
        required = schema.get("required", [])
        for name, field in fields.items():
            if name in required or self.random.random() < 0.4:
                made[name] = self.sensible(name) if sound else None
                if made[name] is None and not (sound and field.get("nullable")):
                    made[name] = self.value(field, right=self.random.random() < (0.99 if sound else 0.9))
        if made and self.random.random() < 0.06:
            made.pop(self.random.choice(list(made)))
        if self.random.random() < 0.05:
            made[self.text()[:200]] = self.value({}, False)
        return made

    def encoded(self, made):
        text = json.dumps(made)
        broken = self.random.random()
        if broken < 0.85:
            return text.encode("utf-8", "surrogatepass")
        return self.random.choice([
            lambda: text[: len(text) // 2].encode("utf-8", "surrogatepass"),
            lambda: b"",
            lambda: text.encode("utf-8", "surrogatepass").replace(b': "', b': "\xff\xfe'),
            lambda: b"\xef\xbb\xbf" + text.encode("utf-8", "surrogatepass"),
            lambda: b"[" * 100000,
            lambda: b'{"a":' * 5000 + b"1" + b"}" * 5000,
            lambda: b'{"name": NaN}',
            lambda: b'{"a":1,"a":2}',
            lambda: b"\xff\xfe\x00\x01",
            lambda: b"[" + text.encode("utf-8", "surrogatepass") + b"]",
            lambda: text.encode("utf-16"),
            lambda: b"null",
            lambda: b'{"name": 1' + b"0" * 5000 + b"}",
        ])()

    def quoted(self, text):
        if self.random.random() < 0.03:
            return self.random.choice(["%zz", "%", "%0", "%00", "%ff%fe", "a%2Fb", "..", "%2e%2e"])
        return urllib.parse.quote(text[:3000], safe="", errors="surrogatepass")

    def request(self):
        """(method, target, body, the operation that is asked for or None)"""
        path, method, operation = self.random.choice(self.operations)
        segment = re.compile(r"\{[^}]*\}")
        if path.endswith("/discover"):
            return method, segment.sub(self.random.choice([*self.near, "aaaaaaaa-0000-4000-8000-00000000000f", "x"]), path), b"", operation
        target = segment.sub(lambda _: self.quoted(self.id() if self.random.random() < 0.8 else self.text()) or "%20", path)
        items = []
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "query" and self.random.random() < 0.5:
                value = self.random.choice([self.text(), str(self.integer()), self.id(), "1", "24h", "429", "5xx"])
                items.append("%s=%s" % (parameter["name"], self.quoted(value)))
        if items and self.random.random() < 0.05:
            items.append(self.random.choice([items[0], "unknown=1", "&&", "=", "%zz=1"]))
        if items:
            target += "?" + "&".join(items)
        if self.random.random() < 0.04:
            return self.random.choice(METHODS), target, b"", None
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return method, target, b"" if self.random.random() < 0.9 else b"{}", operation
        return method, target, self.encoded(self.body(schema)), operation


def listing(conn, seen, number):
    """A provider that lists two models, and answers."""
    if seen.head.startswith(b"GET"):
        return answer(conn, 200, {"object": "list", "data": [{"id": "model-p1"}, {"id": "other"}]})
    return chat()(conn, seen, number)


class Fuzz(ApiCase):
    def setUp(self):
        providers = {"p1": self.upstream(listing), "p2": self.upstream(status(503))}
        extra = "settings: {request_timeout: 2s}"
        text = config(providers, {"demo": ["p1/model-p1", "p2/model-p2"]}, extra=extra)
        self.start(text)
        self.client = None
        self.known = {}

    def learn(self):
        """The ids that are there now, and providers to change where none is left."""
        if len([1 for row in self.ok("GET", "/api/providers") if not row["read_only"]]) < 2:
            for number in range(3):
                self.call("POST", "/api/providers", {"name": "made-%d" % number, "provider_type": "openai", "api_key": "sk-made-secret-0001",
                                                     "base_url": "https://made-%d.example/v1" % number, "models": ["a/m", "b/m"]})
        for path in ("/api/providers", "/api/models", "/api/failover-groups", "/api/virtual-keys"):
            self.known[path] = re.findall(r'"id":"([0-9a-f-]{36})"', self.call("GET", path).body.decode())

    def tearDown(self):
        if self.client is not None:
            self.client.sock.close()

    def send(self, method, target, body):
        if self.client is None:
            self.client = self.gate.client(timeout=SLOWEST)
        self.client.send_request(method, target, body, {"Authorization": "Bearer " + TOKEN, "Content-Length": str(len(body)) if body else None})
        answer = self.client.read_answer(head_only=method == "HEAD")
        if answer.headers.get("connection") == "close":
            self.client.sock.close()
            self.client = None
        return answer

    def check(self, answer, method, operation):
        kind = answer.headers.get("content-type", "")
        if answer.status == 502:
            self.assertIn("502", operation["summary"])  # what a provider said
        elif answer.status >= 500:
            self.assertEqual(answer.status, 503)
            self.assertRegex(answer.body.decode(), BUSY)
        if operation is None:
            return
        described = operation["responses"].get(str(answer.status), operation["responses"]["default"])
        if answer.status == 204:
            self.assertEqual(answer.body, b"")
            return
        self.assertIn(kind.partition(";")[0], described["content"])
        if kind == "application/json":
            json.loads(answer.body)
        else:
            self.assertGreaterEqual(answer.status, 400)
            answer.body.decode()  # plain text is UTF-8

    def test_every_answer_is_a_described_one(self):
        near = [row["id"] for row in self.ok("GET", "/api/providers") if row["name"] == "p1"]
        self.learn()
        maker = Maker(self.ok("GET", "/api/openapi.json"), self.known, near, SEED)
        counts = {}
        begin = time.monotonic()
        for number in range(REQUESTS):
            if number % 200 == 0:
                self.learn()
            method, target, body, operation = maker.request()
            got = None
            shown = "HOTEL_SEED=%d request %d: %s %s\n%r" % (SEED, number, method, target[:400], body[:1500])
            try:
                got = self.send(method, target, body)
                self.check(got, method, operation)
            except Exception as problem:
                seen = (got.status, got.headers, got.body[:500]) if got else "no answer"
                raise AssertionError("%s\n%r\n%r\n%s" % (shown, seen, problem, self.gate.stderr()[-1500:])) from problem
            counts[got.status] = counts.get(got.status, 0) + 1
        print("seed %d: %d requests in %.1f s: %s" % (SEED, REQUESTS, time.monotonic() - begin, dict(sorted(counts.items()))), flush=True)
        # Neither all refused nor all taken: the requests mean something.
        self.assertGreater(sum(n for code, n in counts.items() if code < 300), REQUESTS // 20)
        self.assertGreater(sum(n for code, n in counts.items() if 400 <= code < 500), REQUESTS // 10)
        self.assertIsNone(self.gate.process.poll())
        # And it is none the worse for it.
        self.assertEqual(self.gate.request("GET", "/health").body, b"OK")
        self.assertEqual(self.call("DELETE", "/api/settings", {"keys": []}).status, 200)
        self.assertEqual(self.gate.chat({"model": "p1/model-p1", "messages": []}, {"Authorization": "Bearer " + KEY}).status, 200)


if __name__ == "__main__":
    unittest.main()
