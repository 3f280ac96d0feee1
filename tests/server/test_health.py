"""How providers are doing, whether the sidecar is ready, and what its log says."""

import json
import os
import re
import sqlite3
import threading
import unittest

from harness import TestCase, answer, chat, completion, config, status, wait_until

TOKEN = "admin-token-for-tests"
ADMIN = {"ADMIN_TOKEN": TOKEN}
DISCOVERS = {**ADMIN, "DISCOVERY_ENABLED": "true"}
ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}


def listing(*models):
    return {"object": "list", "data": [{"id": model, "object": "model", "owned_by": "x"} for model in models]}


class Listed:
    """A provider that lists its models and answers with the statuses it is given."""

    def __init__(self, *models):
        self.models = listing(*models)
        self.lists = True
        self.status = 200

    def __call__(self, conn, seen, number):
        if seen.head.startswith(b"GET"):
            return answer(conn, 200, self.models) if self.lists else answer(conn, 500, {"error": {"message": "no list today"}})
        return answer(conn, self.status, completion() if self.status == 200 else {"error": {"message": "scripted words"}})


class HealthCase(TestCase):
    def start(self, text, **options):
        options.setdefault("env", ADMIN)
        self.gate = self.hoteld(text, **options)
        return self.gate

    def admin(self, path, method="GET", body=None):
        data = b"" if body is None else json.dumps(body).encode()
        got = self.gate.request(method, path, data, {"Authorization": "Bearer " + TOKEN})
        self.assertLess(got.status, 300, got.body)
        return got.json()

    def providers(self):
        return {row["name"]: row for row in self.admin("/api/providers/status")["providers"]}

    def label(self, name="p1"):
        return self.providers()[name]["status_label"]


class Statuses(HealthCase):
    def test_R80_the_shape_of_the_page(self):
        self.start(config({"p1": self.upstream(chat()), "p2": self.upstream(chat())}, {"demo": ["p1/a", "p2/a"]}))
        page = self.admin("/api/providers/status")
        words = ["total", "healthy", "configured", "starting", "degraded", "recovering", "circuit_open", "offline", "unhealthy", "disabled"]
        self.assertEqual(list(page["summary"]), words)
        self.assertEqual((page["summary"]["total"], page["summary"]["configured"]), (2, 2))
        row = page["providers"][0]
        self.assertEqual(list(row), ["id", "name", "type", "status", "status_label", "status_reason", "last_error", "config", "runtime",
                                     "circuit_state", "request_health"])
        self.assertEqual((row["name"], row["type"], row["status"], row["circuit_state"], row["last_error"]), ("p1", "openai", "configured", "closed", None))
        self.assertEqual(list(row["config"]), ["base_url", "enabled", "fixed_models", "max_in_flight", "read_only"])
        self.assertEqual(list(row["request_health"]), ["window_seconds", "requests", "errors", "last_error", "models_total", "models_failing", "models"])
        self.assertEqual((row["request_health"]["window_seconds"], row["request_health"]["requests"]), (600, 0))

    def test_R79_three_errors_that_are_half_degrade_though_no_circuit_was_charged(self):
        provider = Listed("a")
        self.start(config({"p1": self.upstream(provider)}), env=DISCOVERS)
        wait_until(lambda: self.label() == "Healthy", "its models are listed")
        for code, label in ((200, "Healthy"), (200, "Healthy"), (200, "Healthy"), (400, "Healthy"), (400, "Healthy"), (400, "Degraded"), (200, "Healthy")):
            provider.status = code
            self.assertEqual(self.gate.chat({**ASK, "model": "p1/a"}).status, code)
            self.assertEqual(self.label(), label)
        row = self.providers()["p1"]
        self.assertEqual(row["circuit_state"], "closed")
        (model,) = row["request_health"]["models"]
        self.assertEqual((model["model"], model["requests"], model["errors"], model["failing"]), ("a", 7, 3, False))
        self.assertEqual(model["last_error"]["status"], 400)
        self.assertIn("scripted words", model["last_error"]["message"])
        self.assertIn("400: ", row["last_error"])

    def test_R81_an_open_circuit_and_one_that_is_tried_again(self):
        provider = Listed("a")
        self.start(config({"p1": self.upstream(provider)}, {"demo": ["p1/a"]},
                          extra="settings: {circuit_breaker_threshold: 1, circuit_breaker_cooldown: 4s, server_error_retry_enabled: false}"))
        provider.status = 503
        self.gate.chat(ASK)
        row = self.providers()["p1"]
        self.assertEqual((row["status_label"], row["status"], row["circuit_state"]), ("Circuit Open", "circuit_open", "open"))
        self.assertEqual(row["status_reason"], "1 of 1 circuits is open; model a: upstream status 503")
        wait_until(lambda: self.label() == "Recovering", "the cooldown is over")
        provider.status = 200
        self.assertEqual(self.gate.chat(ASK).status, 200)
        self.assertEqual(self.label(), "Configured")

    def test_R82_a_client_that_leaves_and_a_scan_count_for_nothing(self):
        gone = threading.Event()
        self.addCleanup(gone.set)

        def silent(conn, seen, number):
            if seen.head.startswith(b"GET"):
                return answer(conn, 500, {"error": {"message": "no list"}})
            gone.wait(60)
            return False

        upstream = self.upstream(silent)
        self.start(config({"p1": upstream}), env=DISCOVERS)
        for number in range(4):
            with self.gate.client() as client:
                client.send_request("POST", "/v1/chat/completions", json.dumps({**ASK, "model": "p1/a"}).encode())
                wait_until(lambda n=number: len([s for s in upstream.seen if s.head.startswith(b"POST")]) == n + 1, "it was sent on")
        wait_until(lambda: self.admin("/api/logs")["total"] == 4, "all have ended")
        health = self.providers()["p1"]["request_health"]
        self.assertEqual((health["requests"], health["errors"], health["models"]), (0, 0, []))

    def test_R85_R90_offline_when_the_list_was_read_once_and_unhealthy_when_never(self):
        good, bad = Listed("a"), Listed("b")
        bad.lists = False
        self.start(config({"p1": self.upstream(good), "p2": self.upstream(bad)}), env=DISCOVERS)
        wait_until(lambda: (self.label("p1"), self.label("p2")) == ("Healthy", "Unhealthy"), "both were asked")
        good.lists = False
        ids = {name: row["id"] for name, row in self.providers().items()}
        self.gate.request("POST", "/api/providers/%s/discover" % ids["p1"], headers={"Authorization": "Bearer " + TOKEN})
        wait_until(lambda: self.label("p1") == "Offline", "its list cannot be read")
        row = self.providers()["p1"]
        self.assertEqual(row["runtime"]["discovery_state"], "stale")
        self.assertIn("500", row["last_error"])
        good.lists = bad.lists = True
        for id in ids.values():
            self.admin("/api/providers/%s/discover" % id, "POST")
        wait_until(lambda: (self.label("p1"), self.label("p2")) == ("Healthy", "Healthy"), "both are back")

    def test_a_provider_that_is_switched_off(self):
        self.start(config({}))
        made = self.admin("/api/providers", "POST", {"name": "x", "base_url": "https://x.example/v1", "provider_type": "openai", "api_key": "sk-x-secret-0001",
                                                     "models": ["m"], "enabled": False})
        self.assertEqual(self.label("x"), "Disabled")
        self.admin("/api/providers/" + made["id"], "PUT", {"enabled": True})
        self.assertEqual(self.label("x"), "Configured")


class Ready(HealthCase):
    def ready(self):
        got = self.gate.request("GET", "/health/ready", headers={"Authorization": None})
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(got.headers["cache-control"], "no-store")
        return got.status, got.json()

    def test_ready_whatever_the_providers_do_and_without_a_key(self):
        self.start(config({"p1": self.upstream(status(503))}, {"demo": ["p1/a"]}))
        for _ in range(6):
            self.gate.chat(ASK)
        code, page = self.ready()
        self.assertEqual((code, list(page), page["status"]), (200, ["status", "components"], "ready"))
        self.assertEqual({name: part["status"] for name, part in page["components"].items()}, {"router": "up", "storage": "up", "request_log": "up"})
        self.assertEqual(self.gate.request("HEAD", "/health/ready").status, 200)

    def test_not_ready_while_the_database_is_gone(self):
        self.start(config({"p1": self.upstream(chat())}, {"demo": ["p1/a"]}))
        database = os.path.join(self.gate.data_dir, "hotel.db")
        os.rename(database, database + ".away")
        code, page = self.ready()
        self.assertEqual((code, page["status"], page["components"]["storage"]["status"]), (503, "not_ready", "down"))
        self.assertNotIn(self.gate.data_dir, json.dumps(page))
        # It serves all the same, and lives.
        self.assertEqual(self.gate.chat(ASK).status, 200)
        self.assertEqual(self.gate.request("GET", "/health").body, b"OK")
        os.rename(database + ".away", database)
        self.assertEqual(self.ready()[0], 200)
        wait_until(lambda: "the database cannot be read" in self.gate.stderr(), "it is told")

    def test_degraded_while_the_log_cannot_be_written(self):
        self.start(config({"p1": self.upstream(chat())}, {"demo": ["p1/a"]}))
        with sqlite3.connect(os.path.join(self.gate.data_dir, "hotel.db"), isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            self.assertEqual(self.gate.chat(ASK).status, 200)
            wait_until(lambda: self.ready()[1]["status"] == "degraded", "the log gives up waiting")
            code, page = self.ready()
            self.assertEqual((code, page["components"]["storage"]["status"], page["components"]["request_log"]["waiting"]), (200, "up", 1))
            other.execute("COMMIT")
        wait_until(lambda: self.ready()[1]["status"] == "ready", "the row is written")


class Lines(HealthCase):
    def log(self, **env):
        self.start(config({"p1": self.upstream(status(503)), "p2": self.upstream(chat("hello SECRETWORD"))}, {"demo": ["p1/a", "p2/a"]}), env={**ADMIN, **env})
        self.assertEqual(self.gate.chat({**ASK, "messages": [{"role": "user", "content": "SECRETWORD"}]}).status, 200)
        self.assertEqual(self.gate.stop(), 0)
        text = self.gate.stderr()
        self.assertNotIn("SECRETWORD", text)
        self.assertNotIn("secret-0001", text)
        return text

    def scopes(self, text):
        return set(re.findall(r'level=debug msg="([^:]+):', text))

    def test_debug_lines_are_off_by_default(self):
        self.assertEqual(self.scopes(self.log()), set())

    def test_DEBUG_LOG_turns_all_on(self):
        text = self.log(DEBUG_LOG="true")
        self.assertLessEqual({"resolve", "proxy", "circuit-breaker"}, self.scopes(text))
        for line in ("resolve: name resolved", "proxy: attempt started", "proxy: try ended", "circuit-breaker: verdict", "proxy: request ended"):
            self.assertIn('msg="%s"' % line, text)

    def test_DEBUG_LOG_SCOPES_turns_on_what_begins_so(self):
        self.assertEqual(self.scopes(self.log(DEBUG_LOG_SCOPES="circuit, resolve")), {"circuit-breaker", "resolve"})

    def test_scans_are_explained(self):
        self.start(config({"p1": self.upstream(Listed("a", "b"))}), env={**DISCOVERS, "DEBUG_LOG_SCOPES": "discovery"})
        wait_until(lambda: 'msg="discovery: listing applied"' in self.gate.stderr(), "the list was read")
        self.assertRegex(self.gate.stderr(), r'level=debug msg="discovery: listing applied" provider=p1 models_found=2 added=2 disabled=0 suspect=false')

    def test_json_lines_hold_their_attributes_apart(self):
        lines = [json.loads(line) for line in self.log(DEBUG_LOG="true", LOG_FORMAT="json").splitlines()]
        verdicts = [line for line in lines if (line["source"], line["msg"]) == ("circuit-breaker", "verdict")]
        self.assertEqual([(v["level"], v["attrs"]["provider"], v["attrs"]["effect"]) for v in verdicts], [("debug", "p1", "charge"), ("debug", "p2", "success")])
        (request,) = [line for line in lines if line["source"] == "request"]
        self.assertEqual((request["attrs"]["status"], request["attrs"]["attempts"]), (200, 2))

    def test_the_last_lines_are_shown_and_forgotten(self):
        self.start(config({"p1": self.upstream(status(503)), "p2": self.upstream(chat())}, {"demo": ["p1/a", "p2/a"]},
                          extra="settings: {circuit_breaker_threshold: 1}"))
        self.assertEqual(self.gate.chat(ASK).status, 200)
        lines = self.admin("/api/logs/app")["entries"]
        self.assertEqual(list(lines[0]), ["id", "timestamp", "level", "source", "message", "attributes"])
        self.assertEqual([line["id"] for line in lines], sorted(line["id"] for line in lines))
        self.assertNotIn("request", {line["source"] for line in lines})
        (opened,) = [line for line in lines if line["level"] == "warn" and line["source"] == "circuit-breaker"]
        self.assertEqual((opened["message"], opened["attributes"]["provider"], opened["attributes"]["status"]), ("model state=closed→open", "p1", 503))
        last = lines[-1]["id"]
        self.assertEqual(self.admin("/api/logs/app?after=%d" % last)["entries"], [])
        self.gate.chat(ASK)
        self.assertTrue(all(line["id"] > last for line in self.admin("/api/logs/app?after=%d" % last)["entries"]))
        self.assertEqual(len(self.admin("/api/logs/app?limit=1")["entries"]), 1)
        self.assertEqual({line["level"] for line in self.admin("/api/logs/app?level=warn")["entries"]}, {"warn"})
        for bad in ("limit=0", "limit=1001", "limit=x", "after=-1", "level=loud"):
            self.assertEqual(self.gate.request("GET", "/api/logs/app?" + bad, headers={"Authorization": "Bearer " + TOKEN}).status, 400, bad)
        self.assertGreater(self.admin("/api/logs/app", "DELETE")["deleted"], 0)
        self.assertEqual(self.admin("/api/logs/app")["entries"], [])


class Series(HealthCase):
    def test_a_series_adds_up_to_the_sums(self):
        self.start(config({"p1": self.upstream(status(503)), "p2": self.upstream(chat())}, {"demo": ["p1/a", "p2/a"]}))
        for _ in range(3):
            self.assertEqual(self.gate.chat(ASK).status, 200)
        self.gate.chat({**ASK, "model": "p1/a"})
        self.gate.chat({**ASK, "model": "nobody/a"})
        wait_until(lambda: self.admin("/api/stats")["requests"] == 5, "they are counted")
        for period, points, step in (("1h", 60, 60), ("24h", 96, 900), ("7d", 168, 3600)):
            series = self.admin("/api/stats/timeseries?period=" + period)
            self.assertEqual((series["period"], series["step_seconds"], len(series["points"])), (period, step, points))
            self.assertEqual(sum(point["requests"] for point in series["points"]), 5)
            self.assertEqual(sum(point["failed"] for point in series["points"]), 2)
            self.assertEqual(sum(point["tokens_prompt"] for point in series["points"]), 3)
            self.assertEqual([p["at"] for p in series["points"]], sorted(p["at"] for p in series["points"]))
        spread = self.admin("/api/stats/provider-distribution")
        self.assertEqual(spread["requests"], 4)
        self.assertEqual([(row["provider_name"], row["requests"], row["share"]) for row in spread["providers"]], [("p2", 3, 0.75), ("p1", 1, 0.25)])
        got = self.gate.request("GET", "/api/stats/timeseries?period=1y", headers={"Authorization": "Bearer " + TOKEN})
        self.assertEqual((got.status, got.body), (400, b"period must be one of: 1h, 24h, 7d"))


if __name__ == "__main__":
    unittest.main()
