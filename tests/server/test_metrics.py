"""GET /metrics: what the page counts after real traffic, and who may read it."""

import json
import re
import time
import unittest

from harness import KEY, TestCase, chat, config, endless, status, wait_until

ADMIN = "admin-token-for-tests"
SCRAPER = "scraper-token-for-tests"
SAMPLE = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
BUSY = {"error": {"message": "Too many concurrent requests", "type": "rate_limit_error"}}


def ask(model, **more):
    return {"model": model, "messages": [{"role": "user", "content": "secret prompt words"}], **more}


class Page:
    """The page, read strictly: anything that is not the text format fails."""

    def __init__(self, body):
        self.samples = {}
        self.types = {}
        lines = body.decode("utf-8").split("\n")
        assert lines[-1] == ""
        for line in lines[:-1]:
            if line.startswith("# HELP "):
                continue
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in self.types, "a family stands twice: " + name
                self.types[name] = kind
                continue
            if not line:
                continue
            match = SAMPLE.match(line)
            assert match, "no sample: " + line
            labels = LABEL.findall(match["labels"] or "")
            assert LABEL.sub("", match["labels"] or "") == "", "not labels: " + line
            key = (match["name"], frozenset(labels))
            assert key not in self.samples, "a series stands twice: " + line
            family = re.sub(r"_(bucket|sum|count)$", "", match["name"])
            assert match["name"] in self.types or self.types.get(family) == "histogram", line
            self.samples[key] = float(match["value"])

    def value(self, name, **labels):
        """Of the one series; 0 when there is none."""
        return self.samples.get((name, frozenset(labels.items())), 0)

    def sum(self, name, **labels):
        """Of all series that have these labels."""
        wanted = set(labels.items())
        return sum(v for (n, have), v in self.samples.items() if n == name and wanted <= have)

    def labels(self, name, label):
        return {dict(have)[label] for (n, have) in self.samples if n == name}


class MetricsCase(TestCase):
    def start(self, *scripts, **options):
        options.setdefault("env", {}).setdefault("ADMIN_TOKEN", ADMIN)
        self.gate, self.upstreams = self.group(*scripts, **options)

    def get(self, token=ADMIN, method="GET"):
        headers = {"Authorization": "Bearer " + token if token is not None else None}
        return self.gate.request(method, "/metrics", headers=headers)

    def page(self):
        got = self.get()
        self.assertEqual(got.status, 200, got.body)
        return Page(got.body)

    def page_with(self, condition, what):
        """A record is written behind the end of its answer."""
        found = []

        def ready():
            found.append(self.page())
            return condition(found[-1])

        wait_until(ready, what)
        return found[-1]


class Access(MetricsCase):
    def test_the_admin_token_opens_it(self):
        self.start(chat())
        for token in (None, "", "wrong", KEY):
            got = self.get(token)
            self.assertEqual((got.status, got.body), (401, b"invalid admin token"), token)
            self.assertEqual(got.headers["www-authenticate"], "Bearer")
            self.assertTrue(got.headers["content-type"].startswith("text/plain"))
        got = self.get()
        self.assertEqual(got.status, 200)
        self.assertEqual(got.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")

    def test_a_token_of_its_own_takes_the_place_of_the_admin_token(self):
        self.start(chat(), env={"METRICS_TOKEN": SCRAPER})
        for token in (None, "", "wrong", ADMIN, KEY, SCRAPER[:-1], SCRAPER + "x"):
            got = self.get(token)
            self.assertEqual((got.status, got.body), (401, b"invalid metrics token"), token)
            self.assertEqual(got.headers["www-authenticate"], "Bearer")
            self.assertTrue(got.headers["content-type"].startswith("text/plain"))
        self.assertEqual(self.get(SCRAPER).status, 200)
        # It opens nothing else.
        for path in ("/api/models", "/v1/models"):
            got = self.gate.request("GET", path, headers={"Authorization": "Bearer " + SCRAPER})
            self.assertEqual(got.status, 401)

    def test_guessing_the_admin_token_here_is_throttled_like_everywhere(self):
        self.start(chat())
        codes = [self.get("guess-%d" % i).status for i in range(12)]
        self.assertEqual(codes, [401] * 10 + [429] * 2)
        got = self.get()
        self.assertEqual(got.status, 429)
        self.assertIn("retry-after", got.headers)

    def test_methods(self):
        self.start(chat())
        head = self.get(method="HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertGreater(int(head.headers["content-length"]), 100)
        for method in ("POST", "PUT", "DELETE"):
            got = self.get(method=method)
            self.assertEqual((got.status, got.headers["allow"]), (405, "GET, HEAD"))
        self.assertEqual(self.get("wrong", "POST").status, 401)
        got = self.gate.request("GET", "/metrics/more", headers={"Authorization": "Bearer " + ADMIN})
        self.assertEqual(got.status, 404)


class Traffic(MetricsCase):
    def test_a_failover(self):
        self.start(status(503), chat("one two"))
        self.assertEqual(self.gate.chat(ask("hotel/demo")).status, 200)
        who = {"provider": "p2", "model": "hotel/demo"}
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the request is counted")
        self.assertEqual(page.value("hotel_requests_total", status_class="2xx", error_kind="none", **who), 1)
        self.assertEqual(page.value("hotel_failover_attempts_total", **who), 1)
        self.assertEqual(page.sum("hotel_failover_attempts_total"), 1)
        self.assertEqual(page.value("hotel_request_duration_seconds_count", **who), 1)
        self.assertEqual(page.value("hotel_request_duration_seconds_bucket", le="+Inf", **who), 1)
        self.assertEqual(page.value("hotel_tokens_total", kind="prompt", **who), 1)
        self.assertEqual(page.value("hotel_tokens_total", kind="completion", **who), 1)
        self.assertEqual(page.sum("hotel_ttft_seconds_count"), 0)
        self.assertEqual(page.sum("hotel_failover_exhausted_total"), 0)
        self.assertEqual(page.sum("hotel_build_info"), 1)

    def test_a_stream_has_a_time_to_its_first_output(self):
        def slow(conn, seen, number):
            time.sleep(0.3)
            return chat("one two")(conn, seen, number)

        self.start(slow)
        self.assertEqual(self.gate.chat(ask("hotel/demo", stream=True)).status, 200)
        who = {"provider": "p1", "model": "hotel/demo"}
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the stream is counted")
        self.assertEqual(page.value("hotel_ttft_seconds_count", **who), 1)
        self.assertEqual(page.value("hotel_ttft_seconds_bucket", le="0.25", **who), 0)
        self.assertEqual(page.value("hotel_ttft_seconds_bucket", le="120", **who), 1)
        self.assertGreaterEqual(page.value("hotel_ttft_seconds_sum", **who), 0.3)

    def test_a_429_and_nobody_left(self):
        self.start(status(429, BUSY, [("Retry-After", "1")]), status(500))
        self.assertEqual(self.gate.chat(ask("hotel/demo")).status, 500)
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the request is counted")
        limits = {"provider": "p1", "model": "model-p1", "class": "saturated"}
        self.assertEqual(page.value("hotel_upstream_rate_limit_total", **limits), 1)
        self.assertEqual(page.sum("hotel_upstream_rate_limit_total"), 1)
        self.assertEqual(page.value("hotel_failover_exhausted_total", group="demo", reason="all_failed"), 1)
        self.assertEqual(page.sum("hotel_requests_total", status_class="5xx", error_kind="provider_error"), 1)
        # Saturation cuts the provider's window.
        self.assertIn("p1", page.labels("hotel_provider_inflight_limit", "provider"))
        self.assertEqual(page.sum("hotel_provider_inflight_limit", provider="p1"), 1)
        self.assertEqual(page.sum("hotel_provider_inflight", provider="p1"), 0)

    def test_a_circuit_that_opens(self):
        self.start(status(402), chat(), extra="failover: {last_candidate_retry: {statuses: []}}")
        self.assertEqual(self.gate.chat(ask("hotel/demo")).status, 200)
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the request is counted")
        opened = {"provider": "p1", "model": "model-p1", "cause": "upstream status 402"}
        self.assertEqual(page.value("hotel_circuit_breaker_opens_total", **opened), 1)
        self.assertEqual(page.sum("hotel_circuit_breaker_state", provider="p1"), 2)
        self.assertEqual(page.sum("hotel_circuit_breaker_state", provider="p2"), 0)
        self.assertEqual(page.labels("hotel_circuit_breaker_state", "provider"), {"p1", "p2"})

    def test_every_circuit_open(self):
        self.start(status(402))
        self.assertEqual(self.gate.chat(ask("hotel/demo")).status, 402)
        self.assertEqual(self.gate.chat(ask("hotel/demo")).status, 429)
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 2, "both are counted")
        reasons = {"group": "demo", "reason": "no_available_provider"}
        self.assertEqual(page.value("hotel_failover_exhausted_total", **reasons), 1)
        self.assertEqual(page.sum("hotel_requests_total", model="hotel/demo", provider="unknown"), 1)

    def test_running_requests_are_seen(self):
        self.start(endless(), extra="inflight_limiter: {enabled: true}")
        with self.gate.client() as client:
            client.send_request("POST", "/v1/chat/completions", json.dumps(ask("hotel/demo", stream=True)).encode())
            self.assertEqual(client.read_head()[0], 200)
            page = self.page()
            self.assertEqual(page.sum("hotel_active_requests"), 1)
            self.assertEqual(page.sum("hotel_provider_inflight", provider="p1"), 1)
            self.assertEqual(page.sum("hotel_requests_total"), 0)
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the client's leaving is counted")
        self.assertEqual(page.sum("hotel_requests_total", status_class="499", error_kind="client_disconnect"), 1)
        self.page_with(lambda p: p.sum("hotel_active_requests") == 0, "nothing runs any more")

    def test_rows_of_the_log_are_counted(self):
        self.start(chat())
        for _ in range(3):
            self.gate.chat(ask("hotel/demo"))
        page = self.page_with(lambda p: p.sum("hotel_log_rows_written_total") == 3, "the rows are written")
        self.assertEqual(page.sum("hotel_log_rows_lost_total"), 0)
        self.page_with(lambda p: p.sum("hotel_log_rows_waiting") == 0, "no row waits any more")

    def test_F195_no_name_that_leads_nowhere_and_no_text_of_anybody(self):
        leak = {"error": {"message": "upstream says: your words leaked-4711"}}
        self.start(status(500, leak), extra="failover: {last_candidate_retry: {statuses: []}}")
        for i in range(40):
            self.assertEqual(self.gate.chat(ask("hotel/made-up-%d" % i)).status, 404)
            self.assertEqual(self.gate.chat(ask("nobody-%d/model" % i)).status, 404)
        self.gate.chat(b"not json")
        for _ in range(3):
            self.gate.chat(ask("hotel/demo"))
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 84, "all are counted")
        self.assertEqual(page.labels("hotel_requests_total", "model"), {"unknown", "hotel/demo"})
        unknown = {"model": "unknown", "provider": "unknown", "error_kind": "validation", "status_class": "4xx"}
        self.assertEqual(page.value("hotel_requests_total", **unknown), 81)
        text = self.get().body
        for word in (b"made-up", b"nobody", b"secret prompt", b"leaked", b"sk-", KEY.encode(), ADMIN.encode()):
            self.assertNotIn(word, text)

    def test_models_that_the_provider_does_not_know_are_no_labels(self):
        self.start(status(404))
        for i in range(5):
            self.assertEqual(self.gate.chat(ask("p1/made-up-%d" % i)).status, 404)
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 5, "all are counted")
        gone = {"model": "unknown", "error_kind": "provider_model_gone", "status_class": "4xx"}
        self.assertEqual(page.value("hotel_requests_total", provider="p1", **gone), 5)

    def test_models_that_a_client_makes_up_are_cut_and_escaped(self):
        self.start(chat())
        name = "p1/" + 'quote"back\\line' + "x" * 200
        self.gate.chat(ask(name))
        page = self.page_with(lambda p: p.sum("hotel_requests_total") == 1, "the request is counted")
        (model,) = page.labels("hotel_requests_total", "model")
        self.assertTrue(model.startswith('p1/quote\\"back\\\\linexxx'), model)
        self.assertLess(len(model), 140)


class Start(MetricsCase):
    def test_an_empty_page_before_the_first_request(self):
        self.gate = self.hoteld(config({}), env={"ADMIN_TOKEN": ADMIN})
        page = self.page()
        self.assertEqual(page.sum("hotel_build_info"), 1)
        self.assertEqual(page.sum("hotel_active_requests"), 0)
        self.assertNotIn("hotel_requests_total", page.types)


if __name__ == "__main__":
    unittest.main()
