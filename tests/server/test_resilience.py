"""Circuits, refusals, slots, repeats and virtual models through real sockets and in real time.

The rules are checked one by one in virtual time elsewhere; here it is the sidecar, its configuration and
its environment that are under test. Cooldowns are short, and nothing is waited for but conditions.
"""

import json
import subprocess
import tempfile
import threading
import time
import unittest

from harness import (
    HOTELD,
    TestCase,
    begin_stream,
    chat,
    config,
    event,
    send_chunk,
    status,
    wait_until,
)

NO_PAUSE = "failover: {backoff: {initial: 0s}}"
BUSY = {"error": {"message": "Too many concurrent requests, please slow down", "code": "concurrency_limit_exceeded"}}
SPENT = {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota"}}
WINDOW = {"error": {"message": "You have reached your weekly usage limit"}}
# Restates the status and says nothing else.
VAGUE = {"error": {"message": "Rate limit exceeded"}}


def asking(model, **more):
    return dict({"model": model, "messages": [{"role": "user", "content": "hi"}]}, **more)


def model_of(seen):
    return json.loads(seen.body)["model"]


def calls(upstream, model):
    return sum(1 for seen in list(upstream.seen) if model_of(seen) == model)


def after(seconds, script):
    """`script`, that much later."""

    def late(conn, seen, number):
        time.sleep(seconds)
        return script(conn, seen, number)

    return late


def per_model(scripts):
    return lambda conn, seen, number: scripts[model_of(seen)](conn, seen, number)


def in_turn(*scripts):
    """One script a request; the last one stays."""
    return lambda conn, seen, number: scripts[min(number, len(scripts) - 1)](conn, seen, number)


def virtual_model(source, *targets, strategy="failover"):
    lines = ["virtual_models:", "  - source: " + source, "    strategy: " + strategy, "    targets:"]
    return "\n".join(lines + ["      - {model: %s}" % target for target in targets])


def of_provider(text, name, lines):
    """The configuration `text` with more lines under one provider."""
    key = "    api_key: sk-%s-secret-0001\n" % name
    assert key in text
    return text.replace(key, key + "".join("    %s\n" % line for line in lines.splitlines()))


class Asking(threading.Thread):
    """A request that runs beside the test."""

    def __init__(self, hoteld, body):
        super().__init__(daemon=True)
        self.hoteld, self.body, self.answer = hoteld, body, None
        self.start()

    def run(self):
        self.answer = self.hoteld.chat(self.body)

    @property
    def done(self):
        return self.answer is not None


class ResilienceTest(TestCase):
    def served_by(self, hoteld, body, provider):
        got = hoteld.chat(body)
        self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, provider), got.body)
        return got

    def trail(self, hoteld, got):
        """The attempts of an answered request, from its line in the log."""
        name = "request=" + got.headers["x-hotel-request-id"]
        wait_until(lambda: name in hoteld.stderr(), "the request is in the log")
        line = next(line for line in hoteld.stderr().splitlines() if name in line)
        return line.partition('trail="')[2].split(" | ")

    def events(self, hoteld, kind):
        return [
            line
            for line in hoteld.stderr().splitlines()
            if " event=circuit_breaker.%s " % kind in line
        ]

    def wait_event(self, hoteld, kind, count=1):
        wait_until(lambda: len(self.events(hoteld, kind)) >= count, "the circuit is told as " + kind)


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
            return (after(0.4, healthy) if slow.is_set() else healthy)(conn, seen, number)

        first, second = self.upstream(script), self.upstream(healthy)
        extra = "profile: retry_first\n" + virtual_model("resilient-chat", "p1/deepseek", "p2/mini")
        text = of_provider(
            config({"p1": first, "p2": second}, extra=extra),
            "p1",
            "resilience:\n  circuit_breaker:\n    {scope: model, slow_call_threshold: 250ms,"
            " failure_threshold: 3, timeout: 1500ms}",
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

    def test_a_probe_inside_a_chain_is_one_call(self):
        released = threading.Event()
        self.addCleanup(released.set)

        def script(conn, seen, number):
            if number > 0:
                released.wait()
            return status(503)(conn, seen, number)

        hoteld, (first, _) = self.group(
            script,
            chat(),
            extra=NO_PAUSE + "\nresilience:\n  circuit_breaker:\n"
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

    def test_without_a_limit_the_first_outcome_decides_for_all(self):
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
            script, chat(), extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 1, timeout: 1s}}"
        )
        ask = asking("hotel/demo")
        self.served_by(hoteld, ask, "p2")
        due = time.monotonic() + 1.0
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

    def test_refusals_are_read_although_429_is_not_charged(self):
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

    def test_two_slow_models_skip_their_sibling_under_a_span_of_two(self):
        for span, provider in ((2, "p2"), (0, "p1")):
            with self.subTest(span=span):
                late = after(0.3, chat())
                first = self.upstream(per_model({"a": late, "b": late, "c": chat()}))
                groups = {name: ["p1/" + name, "p2/ok"] for name in "abc"}
                extra = (
                    "resilience:\n  circuit_breaker: {failure_threshold: 1, timeout: 1m,"
                    " slow_call_threshold: 200ms, span_models: %d}" % span
                )
                hoteld = self.hoteld(config({"p1": first, "p2": self.upstream(chat())}, groups, extra=extra))
                for name in "ab":
                    self.served_by(hoteld, asking("hotel/" + name), "p1")
                self.wait_event(hoteld, "open", 2)
                self.served_by(hoteld, asking("hotel/c"), provider)
                self.assertEqual(calls(first, "c"), 1 if provider == "p1" else 0)


class Refusals(ResilienceTest):
    def test_busy_moves_on_and_charges_nobody(self):
        hoteld, (first, _) = self.group(
            status(429, BUSY, [("Retry-After", "1")]),
            chat(),
            extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 1}}",
        )
        for _ in range(3):
            got = self.served_by(hoteld, asking("hotel/demo"), "p2")
            self.assertRegex(self.trail(hoteld, got)[0], r"^0 p1/model-p1 429 provider_saturated noop ")
        self.assertEqual(len(first.seen), 3)
        self.assertEqual(self.events(hoteld, "open"), [])

    def test_a_busy_last_candidate_is_asked_again_after_the_wait_it_stated(self):
        hoteld, (only,) = self.group(in_turn(status(429, BUSY, [("Retry-After", "1")]), chat("patience")))
        got = self.served_by(hoteld, asking("hotel/demo"), "p1")
        self.assertIn(b"patience", got.body)
        self.assertEqual(len(only.seen), 2)
        self.assertGreaterEqual(only.seen[1].received_at - only.seen[0].received_at, 1.0)
        self.assertEqual(len(self.trail(hoteld, got)), 2)

    def test_a_last_candidate_that_stays_busy_is_an_honest_429(self):
        hoteld, (only,) = self.group(status(429, BUSY, [("Retry-After", "1")]))
        got = hoteld.chat(asking("hotel/demo"))
        self.assertEqual((got.status, got.error["code"]), (429, "provider_saturated"))
        self.assertEqual(got.headers["retry-after"], "1")
        self.assertEqual(len(only.seen), 2)
        self.assertEqual(self.events(hoteld, "open"), [])

    def test_spent_opens_at_once_and_all_open_says_when_to_come_back(self):
        hoteld, upstreams = self.group(
            status(429, SPENT), status(429, WINDOW, [("Retry-After", "7200")]), extra=NO_PAUSE
        )
        got = hoteld.chat(asking("hotel/demo"))
        self.assertEqual((got.status, got.error["code"]), (429, "provider_quota_exhausted"), got.body)
        self.wait_event(hoteld, "open", 2)
        got = hoteld.chat(asking("hotel/demo"))
        self.assertEqual((got.status, got.error["code"]), (429, "no_available_provider"), got.body)
        self.assertTrue(1 <= int(got.headers["retry-after"]) <= 60, got.headers)
        self.assertEqual(got.headers["x-hotel-attempts"], "0")
        self.assertEqual([len(u.seen) for u in upstreams], [1, 1])

    def test_a_last_candidate_that_fails_is_asked_once_more(self):
        hoteld, (first, last) = self.group(status(503), in_turn(status(503), chat("second time")), extra=NO_PAUSE)
        got = self.served_by(hoteld, asking("hotel/demo"), "p2")
        self.assertIn(b"second time", got.body)
        self.assertEqual((len(first.seen), len(last.seen)), (1, 2))
        self.assertGreaterEqual(last.seen[1].received_at - last.seen[0].received_at, 0.5)
        self.assertEqual(len(self.trail(hoteld, got)), 3)

    def test_it_is_asked_once_more_only_and_only_where_that_helps(self):
        for code, count in ((503, 2), (501, 1)):
            hoteld, (only,) = self.group(status(code))
            self.assertEqual(hoteld.chat(asking("hotel/demo")).status, code)
            self.assertEqual(len(only.seen), count)


class Slots(ResilienceTest):
    def sidecar(self, first, second, max_in_flight=None):
        """hotel/demo over both, hotel/solo over the first; both are at one simulator."""
        sim = self.sim()
        base = sim.url[: -len("/v1")]
        text = config(
            {"p1": base + "/a/v1", "p2": base + "/b/v1"},
            {"demo": ["p1/" + first, "p2/" + second], "solo": ["p1/" + first]},
        )
        if max_in_flight:
            text = of_provider(text, "p1", "max_in_flight: %d" % max_in_flight)
        return self.hoteld(text), sim

    def together(self, hoteld, bodies):
        asked = [Asking(hoteld, body) for body in bodies]
        wait_until(lambda: all(one.done for one in asked), "all are answered")
        self.assertEqual([one.answer.status for one in asked], [200] * len(bodies))
        return [one.answer.headers["x-hotel-provider"] for one in asked]

    def test_max_in_flight_spills_over(self):
        hoteld, sim = self.sidecar("takes-700ms", "ok", max_in_flight=2)
        served = self.together(hoteld, [asking("hotel/demo")] * 6)
        self.assertEqual(sorted(served), ["p1"] * 2 + ["p2"] * 4)
        self.assertEqual(sim.stats()["most_at_once"]["/a/v1/chat/completions"], 2)

    def test_max_in_flight_waits_in_line_when_nobody_else_is_left(self):
        hoteld, sim = self.sidecar("takes-200ms", "ok", max_in_flight=2)
        begun = time.monotonic()
        bodies = [asking("hotel/solo"), asking("p1/takes-200ms"), asking("hotel/solo", stream=True)] * 2
        self.assertEqual(self.together(hoteld, bodies), ["p1"] * 6)
        self.assertGreaterEqual(time.monotonic() - begun, 0.6)
        stats = sim.stats()
        self.assertEqual(stats["most_at_once"], {"/a/v1/chat/completions": 2})
        self.assertEqual(stats["statuses"], {"200": 6})

    def test_a_ceiling_is_learned_from_refusals_and_nobody_is_benched(self):
        hoteld, sim = self.sidecar("ceiling-2+takes-150ms", "ok")
        for _ in range(5):
            served = self.together(hoteld, [asking("hotel/demo")] * 6)
            self.assertIn("p1", served)
        stats = sim.stats()
        self.assertEqual(stats["most_at_once"]["/a/v1/chat/completions"], 2)
        # Four of the first six learn it; 20 clean answers let the window be tried anew.
        self.assertLessEqual(stats["statuses"].get("429", 0), 6)
        self.assertEqual(self.events(hoteld, "open"), [])


class Streams(ResilienceTest):
    def test_a_stream_that_falls_silent_ends_with_one_error_event(self):
        def falls_silent(conn, seen, number):
            begin_stream(conn)
            for word in ("once", "upon"):
                send_chunk(conn, event(word))
            if conn.recv(1) == b"":
                seen.closed.set()
            return False

        hoteld, (first, second) = self.group(
            falls_silent,
            chat(),
            extra="timeouts: {stream_stall_timeout: 300ms}\nresilience: {circuit_breaker: {failure_threshold: 1}}",
        )
        got = hoteld.chat(asking("hotel/demo", stream=True))
        self.assertEqual(got.status, 200)
        events = [part for part in got.body.split(b"\n\n") if part]
        self.assertEqual(b"\n\n".join(events[:2]) + b"\n\n", event("once") + event("upon"))
        self.assertEqual(len(events), 3, events)
        self.assertEqual(json.loads(events[2][len(b"data: ") :])["error"]["code"], "stream_incomplete")
        self.assertTrue(first.seen[0].closed.wait(10))
        self.assertEqual(len(second.seen), 0)
        self.wait_event(hoteld, "open")
        self.served_by(hoteld, asking("hotel/demo", stream=True), "p2")


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
        "  retry: {max_retries: 2, initial_backoff: 500ms, max_backoff: 10s, backoff_factor: 1.5, jitter_factor: 0.05}\n"
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
                [HOTELD, "--check", "--config", file.name], capture_output=True, text=True, timeout=20, check=False
            )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
