"""Circuits, repeats, profiles and virtual models through real sockets and in real time.

The rules are checked one by one in virtual time elsewhere; here it is the sidecar, its configuration and
its environment that are under test. Cooldowns are short, and nothing is waited for but conditions.
"""

import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

from harness import chat, config, DEADLINE, HOTELD, KEY, status, wait_until
from resilience import (
    after,
    asking,
    Asking,
    BUSY,
    calls,
    in_turn,
    NO_PAUSE,
    of_provider,
    per_model,
    ResilienceTest,
    SPENT,
    VAGUE,
    virtual_model,
)


class Recipes(ResilienceTest):
    def cloudflare(self, scope):
        healthy = chat()
        upstream = self.upstream(per_model({"model1": status(524), "model2": healthy}))
        extra = "profile: retry_first\nfailover: {retry_on_statuses: [429, 5xx]}\n"
        extra += virtual_model("resilient-chat", "p1/model1", "p1/model2")
        text = of_provider(
            config({"p1": upstream}, extra=extra),
            "p1",
            "resilience:\n"
            "  retry: {max_retries: 2, initial_backoff: 10ms}\n"
            "  circuit_breaker: {scope: %s, failure_on_statuses: [429, 5xx], failure_threshold: 5}" % scope,
        )
        return self.hoteld(text), upstream

    def test_R92_three_tries_then_the_second_model_then_none_to_the_first(self):
        hoteld, upstream = self.cloudflare("model")
        ask = asking("resilient-chat")
        got = self.served_by(hoteld, ask, "p1")
        self.assertEqual(got.headers["x-hotel-model"], "model2")
        self.assertEqual((calls(upstream, "model1"), calls(upstream, "model2")), (3, 1))
        self.assertIn("tries=3", self.trail(hoteld, got)[0])
        # A stream skips the repeats.
        self.served_by(hoteld, dict(ask, stream=True), "p1")
        self.assertEqual((calls(upstream, "model1"), calls(upstream, "model2")), (4, 2))
        for _ in range(3):
            self.served_by(hoteld, ask, "p1")
        self.wait_event(hoteld, "open")
        asked = calls(upstream, "model1")
        self.assertEqual(asked, 13)
        for _ in range(3):
            got = self.served_by(hoteld, ask, "p1")
            self.assertEqual((got.headers["x-hotel-model"], got.headers["x-hotel-attempts"]), ("model2", "1"))
        self.assertEqual((calls(upstream, "model1"), calls(upstream, "model2")), (asked, 8))

    def test_R92_scope_provider_blocks_both(self):
        hoteld, upstream = self.cloudflare("provider")
        for _ in range(5):
            self.assertEqual(hoteld.chat(asking("p1/model1")).status, 524)
        asked = len(upstream.seen)
        self.assertEqual(asked, 15)
        self.assertEqual(hoteld.chat(asking("resilient-chat")).status, 502)
        got = hoteld.chat(asking("p1/model2"))
        self.assertEqual((got.status, got.error["code"]), (503, "circuit_open"))
        self.assertEqual(len(upstream.seen), asked)

    def test_R93_a_slow_provider_is_left_probed_and_returned_to(self):
        slow = threading.Event()
        slow.set()
        healthy = chat()

        def script(conn, seen, number):
            return (after(1.2, healthy) if slow.is_set() else healthy)(conn, seen, number)

        first, second = self.upstream(script), self.upstream(healthy)
        extra = "profile: retry_first\n" + virtual_model("resilient-chat", "p1/deepseek", "p2/mini")
        text = of_provider(
            config({"p1": first, "p2": second}, extra=extra),
            "p1",
            "resilience:\n  circuit_breaker:\n    {scope: model, slow_call_threshold: 1s,"
            " failure_threshold: 3, timeout: 5s}",
        )
        hoteld = self.hoteld(text)
        ask = asking("resilient-chat")
        for _ in range(3):
            self.served_by(hoteld, ask, "p1")
        self.wait_event(hoteld, "open")
        for _ in range(3):
            self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 3)
        # One request pays for the probe, gets its answer, and the circuit is open again.
        wait_until(lambda: hoteld.chat(ask).headers["x-hotel-provider"] == "p1", "a probe")
        self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 4)
        slow.clear()
        wait_until(
            lambda: hoteld.chat(ask).status == 200 and self.events(hoteld, "closed"), "fast probes close the circuit"
        )
        self.served_by(hoteld, ask, "p1")


class TwoProfilesMeet(ResilienceTest):
    """What only shows where rules of both profiles work together."""

    def test_R15_f7_3_a_probe_inside_a_chain_is_one_call(self):
        released = threading.Event()
        self.addCleanup(released.set)

        def script(conn, seen, number):
            if number == 0:
                return status(500)(conn, seen, number)
            released.wait()
            return status(503)(conn, seen, number)

        hoteld, (first, _) = self.group(
            script,
            chat(),
            # 503 is repeated, but never for a probe.
            extra=NO_PAUSE + "\nresilience:\n"
            "  retry: {retry_on_statuses: [503], initial_backoff: 1ms}\n"
            "  circuit_breaker:\n"
            "    {failure_threshold: 1, timeout: 300ms, half_open_max_in_flight: 1, block_direct: true}",
        )
        ask = asking("hotel/demo")
        self.served_by(hoteld, ask, "p2")
        probe = Asking(hoteld, ask)

        def probing():
            nonlocal probe
            if probe.done:
                probe = Asking(hoteld, ask)
            return len(first.seen) == 2

        wait_until(probing, "the probe is sent")
        wait_until(lambda: not probe.done, "it is the last one asked")
        others = [Asking(hoteld, ask) for _ in range(4)]
        wait_until(lambda: all(other.done for other in others), "the others do not wait")
        for other in others:
            self.assertEqual(other.answer.headers["x-hotel-provider"], "p2")
            self.assertEqual(self.trail(hoteld, other.answer)[0], "skip p1/model-p1 (circuit open)")
        # A direct name is no way around the one probe.
        self.assertEqual(hoteld.chat(asking("p1/model-p1")).error["code"], "circuit_open")
        self.assertFalse(probe.done)
        released.set()
        wait_until(lambda: probe.done, "the probe's request moves on")
        self.assertEqual(probe.answer.headers["x-hotel-provider"], "p2")
        self.assertEqual(len(first.seen), 2)
        self.assertNotIn("tries=", self.trail(hoteld, probe.answer)[0])

    def test_R53_a_probe_whose_client_leaves_gives_its_place_back(self):
        def script(conn, seen, number):
            if number == 0:
                return status(500)(conn, seen, number)
            if number > 1:
                return chat()(conn, seen, number)
            if conn.recv(1) == b"":
                seen.closed.set()
            return False

        hoteld, (first, _) = self.group(
            script,
            chat(),
            extra=NO_PAUSE + "\nresilience:\n  circuit_breaker:\n"
            "    {failure_threshold: 1, timeout: 300ms, half_open_max_in_flight: 1}",
        )
        ask = asking("hotel/demo")
        body = json.dumps(ask).encode()
        self.served_by(hoteld, ask, "p2")
        due = time.monotonic() + 0.3
        wait_until(lambda: time.monotonic() > due, "the cooldown is over")
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", body)
            wait_until(lambda: len(first.seen) == 2, "the probe is sent")
        self.assertTrue(first.seen[1].closed.wait(DEADLINE))
        # The place is free at once, and nobody was charged: no new cooldown.
        self.served_by(hoteld, ask, "p1")
        self.wait_event(hoteld, "closed")
        self.assertEqual(len(self.events(hoteld, "open")), 1)

    def test_f7_4_without_a_limit_the_first_outcome_decides_for_all(self):
        fail, succeed = threading.Event(), threading.Event()
        self.addCleanup(fail.set)
        self.addCleanup(succeed.set)

        def script(conn, seen, number):
            if number == 0:
                return status(500)(conn, seen, number)
            if number == 1:
                fail.wait()
                return status(500)(conn, seen, number)
            succeed.wait()
            return chat()(conn, seen, number)

        hoteld, (first, _) = self.group(
            script, chat(), extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 1, timeout: 4s}}"
        )
        ask = asking("hotel/demo")
        self.served_by(hoteld, ask, "p2")
        due = time.monotonic() + 4.0
        wait_until(lambda: time.monotonic() > due, "the cooldown is over")
        asked = [Asking(hoteld, ask) for _ in range(10)]
        wait_until(lambda: len(first.seen) == 11, "all ten are at the first provider")
        fail.set()
        wait_until(lambda: any(request.done for request in asked), "the first outcome is there")
        self.wait_event(hoteld, "open", 2)
        succeed.set()
        wait_until(lambda: all(request.done for request in asked), "the nine end")
        served = sorted(request.answer.headers["x-hotel-provider"] for request in asked)
        self.assertEqual(served, ["p1"] * 9 + ["p2"])
        self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 11)
        self.assertEqual(self.events(hoteld, "closed"), [])

    def test_f7_5_refusals_are_read_although_429_is_not_charged(self):
        said = {"now": status(429, BUSY, [("Retry-After", "1")])}
        hoteld, (first, _) = self.group(
            lambda conn, seen, number: said["now"](conn, seen, number),
            chat(),
            extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_on_statuses: [5xx]}}",
        )
        ask = asking("hotel/demo")
        for _ in range(10):
            self.served_by(hoteld, ask, "p2")
        said["now"] = status(429, VAGUE)
        for _ in range(5):
            self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 15)
        said["now"] = status(429, SPENT)
        self.served_by(hoteld, ask, "p2")
        self.wait_event(hoteld, "open")
        self.assertEqual(len(self.events(hoteld, "open")), 1)
        got = self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 16)
        self.assertEqual(self.trail(hoteld, got)[0], "skip p1/model-p1 (circuit open)")

    def test_f7_6_two_slow_models_skip_their_sibling_under_a_span_of_two(self):
        for span, provider in ((2, "p2"), (0, "p1")):
            with self.subTest(span=span):
                late = after(1.2, chat())
                first = self.upstream(per_model({"a": late, "b": late, "c": chat()}))
                groups = {name: ["p1/" + name, "p2/ok"] for name in "abc"}
                extra = (
                    "resilience:\n  circuit_breaker: {failure_threshold: 1, timeout: 1m,"
                    " slow_call_threshold: 1s, span_models: %d}" % span
                )
                hoteld = self.hoteld(config({"p1": first, "p2": self.upstream(chat())}, groups, extra=extra))
                for name in "ab":
                    self.served_by(hoteld, asking("hotel/" + name), "p1")
                self.wait_event(hoteld, "open", 2)
                self.served_by(hoteld, asking("hotel/c"), provider)
                self.assertEqual(calls(first, "c"), 1 if provider == "p1" else 0)


class RetryFirst(ResilienceTest):
    def test_three_tries_are_one_attempt(self):
        hoteld, (first, _) = self.group(
            in_turn(status(503), status(503), chat("third time")),
            chat(),
            extra="profile: retry_first\nresilience: {retry: {max_retries: 2, initial_backoff: 20ms}}",
        )
        got = self.served_by(hoteld, asking("hotel/demo"), "p1")
        self.assertIn(b"third time", got.body)
        self.assertEqual(got.headers["x-hotel-attempts"], "1")
        gaps = [b.received_at - a.received_at for a, b in zip(first.seen, first.seen[1:])]
        self.assertEqual(len(gaps), 2)
        self.assertGreaterEqual(gaps[0], 0.018)
        self.assertGreaterEqual(gaps[1], 0.036)
        self.assertRegex(self.trail(hoteld, got)[0], r"^0 p1/model-p1 200 success .*tries=3")

    def test_retry_after_floor_waits_as_told_or_moves_on(self):
        for told, provider in ((1, "p1"), (3600, "p2")):
            hoteld, (first, _) = self.group(
                in_turn(status(503, headers=[("Retry-After", str(told))]), chat()),
                chat(),
                extra="profile: retry_first\n"
                "resilience: {retry: {initial_backoff: 1ms, max_backoff: 2s, retry_after: floor}}",
            )
            self.served_by(hoteld, asking("hotel/demo"), provider)
            if provider == "p1":
                self.assertGreaterEqual(first.seen[1].received_at - first.seen[0].received_at, 1.0)
            else:
                self.assertEqual(len(first.seen), 1)

    def test_R50_an_open_circuit_refuses_the_direct_name(self):
        hoteld, (first,) = self.group(
            status(500), extra="profile: retry_first\nresilience: {circuit_breaker: {failure_threshold: 1}}"
        )
        ask = asking("p1/model-p1")
        self.assertEqual(hoteld.chat(ask).status, 500)
        got = hoteld.chat(ask)
        self.assertEqual((got.status, got.error["code"]), (503, "circuit_open"))
        self.assertEqual(got.error["message"], "circuit breaker is open - provider p1 temporarily unavailable")
        self.assertTrue(1 <= int(got.headers["retry-after"]) <= 30, got.headers)
        self.assertEqual(got.headers["x-hotel-attempts"], "0")
        self.assertEqual(len(first.seen), 1)

    def test_a_profile_of_its_own_is_one_providers_alone(self):
        first, second = self.upstream(status(503)), self.upstream(status(503))
        text = config(
            {"p1": first, "p2": second},
            {"demo": ["p1/a", "p2/b"]},
            extra="resilience: {retry: {initial_backoff: 1ms}}\n"
            "failover: {backoff: {initial: 0s}, last_candidate_retry: {statuses: []}}",
        )
        hoteld = self.hoteld(of_provider(text, "p2", "profile: retry_first"))
        self.assertEqual(hoteld.chat(asking("hotel/demo")).status, 503)
        self.assertEqual((len(first.seen), len(second.seen)), (1, 4))


class Environment(ResilienceTest):
    def test_variables_beat_the_file_and_lose_to_a_providers_own(self):
        first, second = self.upstream(status(503)), self.upstream(status(503))
        extra = (
            "resilience:\n"
            "  retry: {max_retries: 5, retry_on_statuses: []}\n"
            "  circuit_breaker: {failure_threshold: 9, scope: provider}\n"
            "failover: {backoff: {initial: 0s}, last_candidate_retry: {statuses: []}}"
        )
        text = config({"p1": first, "p2": second}, {"demo": ["p1/a"], "other": ["p2/a"], "more": ["p1/b"]}, extra=extra)
        text = of_provider(text, "p2", "resilience: {retry: {max_retries: 0}}")
        hoteld = self.hoteld(
            text,
            env={
                "RETRY_ON_STATUSES": "503",
                "RETRY_MAX_RETRIES": "1",
                "RETRY_INITIAL_BACKOFF": "1ms",
                "CIRCUIT_BREAKER_FAILURE_THRESHOLD": "2",
                "CIRCUIT_BREAKER_SCOPE": "model",
                "CIRCUIT_BREAKER_TIMEOUT": "1m",
            },
        )
        for _ in range(2):
            self.assertEqual(hoteld.chat(asking("hotel/demo")).status, 503)
            self.assertEqual(hoteld.chat(asking("hotel/other")).status, 503)
        self.assertEqual((len(first.seen), len(second.seen)), (4, 2))
        got = hoteld.chat(asking("hotel/demo"))
        self.assertEqual((got.status, got.error["code"]), (429, "no_available_provider"))
        self.assertGreater(int(got.headers["retry-after"]), 30)
        # Scope model: its sibling has a circuit of its own.
        self.assertEqual(hoteld.chat(asking("hotel/more")).status, 503)
        self.assertEqual(len(first.seen), 6)

    def test_the_circuit_can_be_switched_off(self):
        hoteld, (only,) = self.group(
            status(503),
            extra="resilience: {circuit_breaker: {failure_threshold: 1}}\n"
            "failover: {last_candidate_retry: {statuses: []}}",
            env={"CIRCUIT_BREAKER_ENABLED": "false"},
        )
        for _ in range(3):
            self.assertEqual(hoteld.chat(asking("hotel/demo")).status, 503)
        self.assertEqual(len(only.seen), 3)
        self.assertEqual(self.events(hoteld, "open"), [])


class VirtualModels(ResilienceTest):
    def test_they_are_listed_and_open_circuits_cost_no_attempt(self):
        first, second = self.upstream(status(500)), self.upstream(chat())
        extra = NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 1}}\n"
        extra += virtual_model("resilient-chat", "p1/a", "p2/b")
        hoteld = self.hoteld(config({"p1": first, "p2": second}, extra=extra))
        listed = [model["id"] for model in hoteld.request("GET", "/v1/models").json()["data"]]
        self.assertIn("resilient-chat", listed)
        got = self.served_by(hoteld, asking("resilient-chat"), "p2")
        self.assertEqual(got.headers["x-hotel-attempts"], "2")
        got = self.served_by(hoteld, asking("resilient-chat"), "p2")
        self.assertEqual(got.headers["x-hotel-attempts"], "1")
        self.assertEqual(json.loads(second.seen[1].body)["model"], "b")

    def test_round_robin_by_weight_and_chained(self):
        extra = (
            "virtual_models:\n"
            "  - {source: spread, targets: [{model: p1/a, weight: 3}, {model: rest}]}\n"
            "  - {source: rest, strategy: failover, targets: [{model: p2/b}, {model: p1/a}]}"
        )
        hoteld = self.hoteld(config({"p1": self.upstream(chat()), "p2": self.upstream(chat())}, extra=extra))
        served = [hoteld.chat(asking("spread")).headers["x-hotel-provider"] for _ in range(8)]
        self.assertEqual((served.count("p1"), served.count("p2")), (6, 2))


class WorkedExample(ResilienceTest):
    """R77: global values, and what three of four providers say of their own."""

    GLOBAL = (
        "profile: retry_first\n"
        "resilience:\n"
        "  retry:\n"
        "    {max_retries: 2, initial_backoff: 500ms, max_backoff: 10s, backoff_factor: 1.5, jitter_factor: 0.05}\n"
        "  circuit_breaker: {enabled: true, failure_threshold: 3, success_threshold: 1, timeout: 15s}"
    )
    OWN = {
        "anthropic": "resilience: {retry: {max_retries: 5}}",
        "ollama": "resilience: {circuit_breaker: {failure_threshold: 10, timeout: 5s}}",
        "vllm": "resilience: {circuit_breaker: {enabled: false}}",
    }

    def text(self, providers):
        text = config(providers, extra=self.GLOBAL)
        for name, lines in self.OWN.items():
            text = of_provider(text, name, lines)
        return text

    def test_R77_the_sidecar_does_what_the_table_says(self):
        # provider: tries a request, requests until its circuit is open, what it then says of the wait
        table = {"openai": (3, 3, 15), "anthropic": (6, 3, 15), "ollama": (3, 10, 5), "vllm": (3, None, None)}
        upstreams = {name: self.upstream(status(503)) for name in table}
        # The waits alone are shorter here.
        hoteld = self.hoteld(self.text(upstreams), env={"RETRY_INITIAL_BACKOFF": "1ms", "RETRY_MAX_BACKOFF": "1ms"})
        for name, (tries, threshold, wait) in table.items():
            with self.subTest(provider=name):
                requests = threshold or 12
                for _ in range(requests):
                    self.assertNotEqual(hoteld.chat(asking(name + "/m")).error.get("code"), "circuit_open")
                self.assertEqual(len(upstreams[name].seen), requests * tries)
                got = hoteld.chat(asking(name + "/m"))
                if threshold is None:
                    self.assertNotEqual(got.error.get("code"), "circuit_open")
                else:
                    self.assertEqual(got.error["code"], "circuit_open")
                    self.assertTrue(wait - 4 <= int(got.headers["retry-after"]) <= wait, got.headers)
                    self.assertEqual(len(upstreams[name].seen), requests * tries)

    def test_R77_check_accepts_it(self):
        text = self.text({name: "https://%s.example.com/v1" % name for name in ("openai", *self.OWN)})
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            done = subprocess.run(
                [HOTELD, "--check", "--config", file.name], capture_output=True, text=True, timeout=DEADLINE, check=False
            )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Example(ResilienceTest):
    def test_the_example_file_does_what_its_comments_say(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/resilience.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        upstreams = {
            "https://api.acme.example/v1": self.upstream(chat("acme")),
            "https://edge.example/v1": self.upstream(in_turn(status(524), status(524), chat("edge"))),
            "https://slow.example/v1": self.upstream(status(503)),
            "http://127.0.0.1:11434/v1": self.upstream(chat("local")),
        }
        for url, upstream in upstreams.items():
            self.assertEqual(text.count(url + "\n"), 1)
            text = text.replace(url, upstream.url)
        text = text.replace("127.0.0.1:11434", "127.0.0.1")
        hoteld = self.hoteld(text, env=dict({name: "k" for name in ("ACME_KEY", "EDGE_KEY", "SLOW_KEY")}, DEV_KEY=KEY))
        self.served_by(hoteld, asking("hotel/glm"), "acme")
        # 524 twice, then an answer: one attempt, behind the one that failed.
        got = self.served_by(hoteld, asking("chat"), "edge")
        self.assertEqual(got.headers["x-hotel-attempts"], "2")
        self.assertEqual(len(upstreams["https://edge.example/v1"].seen), 3)
        served = [hoteld.chat(asking("spread")).headers["x-hotel-provider"] for _ in range(4)]
        self.assertEqual(sorted(served), ["acme"] * 3 + ["edge"])
        listed = [model["id"] for model in hoteld.request("GET", "/v1/models").json()["data"]]
        for name in ("hotel/glm", "chat", "spread"):
            self.assertIn(name, listed)


if __name__ == "__main__":
    unittest.main()
