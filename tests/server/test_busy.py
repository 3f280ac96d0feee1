"""Refusals, slots, races and silence: what a busy provider does to a request, through real sockets."""

import json
import threading
import time
import unittest

from harness import DEADLINE, begin_stream, chat, config, event, send_chunk, status, wait_until
from resilience import asking, Asking, BUSY, in_turn, NO_PAUSE, of_provider, ResilienceTest, SPENT, WINDOW


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

    def test_402_opens_at_once_404_is_nothing_400_shows_life(self):
        said = {}
        hoteld, (first, _) = self.group(
            lambda conn, seen, number: said["now"](conn, seen, number),
            chat(),
            extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 3}}",
        )
        ask = asking("hotel/demo")
        # Two failures and no third in a row: the 404s between them count for nothing, the 400 ends the row.
        for code, answered in ((500, 200), (404, 200), (401, 200), (404, 200), (400, 400), (500, 200), (500, 200)):
            said["now"] = status(code)
            self.assertEqual(hoteld.chat(ask).status, answered)
        self.assertEqual((len(first.seen), self.events(hoteld, "open")), (7, []))
        said["now"] = status(402)
        self.served_by(hoteld, ask, "p2")
        self.wait_event(hoteld, "open")
        self.served_by(hoteld, ask, "p2")
        self.assertEqual(len(first.seen), 8)

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
        released = threading.Event()
        self.addCleanup(released.set)

        def held(conn, seen, number):
            released.wait(DEADLINE)
            return chat()(conn, seen, number)

        first, second = self.upstream(held), self.upstream(chat())
        text = config({"p1": first, "p2": second}, {"demo": ["p1/a", "p2/b"]})
        hoteld = self.hoteld(of_provider(text, "p1", "max_in_flight: 2"))
        asked = [Asking(hoteld, asking("hotel/demo")) for _ in range(6)]
        wait_until(lambda: sum(one.done for one in asked) == 4, "four are answered by the other")
        self.assertEqual((len(first.seen), len(second.seen)), (2, 4))
        released.set()
        wait_until(lambda: all(one.done for one in asked), "all are answered")
        self.assertEqual([one.answer.status for one in asked], [200] * 6)
        self.assertEqual((len(first.seen), len(second.seen)), (2, 4))

    def test_max_in_flight_waits_in_line_when_nobody_else_is_left(self):
        hoteld, sim = self.sidecar("takes-200ms", "ok", max_in_flight=2)
        begun = time.monotonic()
        bodies = [asking("hotel/solo"), asking("p1/takes-200ms"), asking("hotel/solo", stream=True)] * 2
        self.assertEqual(self.together(hoteld, bodies), ["p1"] * 6)
        self.assertGreaterEqual(time.monotonic() - begun, 0.6)
        stats = sim.stats()
        self.assertEqual(stats["most_at_once"], {"/a/v1/chat/completions": 2})
        self.assertEqual(stats["statuses"], {"200": 6})

    def test_all_busy_is_an_honest_429_and_who_left_the_line_holds_nothing(self):
        released = threading.Event()
        self.addCleanup(released.set)

        def script(conn, seen, number):
            released.wait()
            return chat()(conn, seen, number)

        only = self.upstream(script)
        text = of_provider(
            config({"p1": only}, {"demo": ["p1/m"]}, extra="rate_limit: {saturation_max_wait: 1s}"),
            "p1",
            "max_in_flight: 1",
        )
        hoteld = self.hoteld(text)
        holder = Asking(hoteld, asking("hotel/demo"))
        wait_until(lambda: len(only.seen) == 1, "the slot is taken")
        for name in ("hotel/demo", "p1/m"):
            got = hoteld.chat(asking(name))
            self.assertEqual((got.status, got.error["code"]), (429, "provider_saturated"))
            self.assertEqual(got.headers["retry-after"], "2")
        with hoteld.client() as leaving:
            leaving.send_request("POST", "/v1/chat/completions", json.dumps(asking("hotel/demo")).encode())
        wait_until(lambda: "status=499" in hoteld.stderr(), "the client that left is recorded")
        released.set()
        wait_until(lambda: holder.done, "the holder is served")
        self.served_by(hoteld, asking("hotel/demo"), "p1")
        self.assertEqual(len(only.seen), 2)

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
            try:
                conn.recv(1)
            except ConnectionError:
                pass
            seen.closed.set()
            return False

        hoteld, (first, second) = self.group(
            falls_silent,
            chat(),
            extra="timeouts: {stream_stall_timeout: 2s}\nresilience: {circuit_breaker: {failure_threshold: 1}}",
        )
        got = hoteld.chat(asking("hotel/demo", stream=True))
        self.assertEqual(got.status, 200)
        events = [part for part in got.body.split(b"\n\n") if part]
        self.assertEqual(b"\n\n".join(events[:2]) + b"\n\n", event("once") + event("upon"))
        self.assertEqual(len(events), 3, events)
        self.assertEqual(json.loads(events[2][len(b"data: ") :])["error"]["code"], "stream_incomplete")
        self.assertTrue(first.seen[0].closed.wait(DEADLINE))
        self.assertEqual(len(second.seen), 0)
        self.wait_event(hoteld, "open")
        self.served_by(hoteld, asking("hotel/demo", stream=True), "p2")


    def test_a_slow_candidate_is_raced_and_charged_nothing_when_it_loses(self):
        def silent(conn, seen, number):
            begin_stream(conn)
            try:
                conn.recv(1)
            except ConnectionError:
                pass  # with its head unread
            seen.closed.set()
            return False

        hoteld, (first, second) = self.group(
            silent,
            chat("quick"),
            extra="hedging: {enabled: true, delay: 200ms}\nresilience: {circuit_breaker: {failure_threshold: 1}}",
        )
        for turn in range(2):
            begun = time.monotonic()
            got = self.served_by(hoteld, asking("hotel/demo", stream=True), "p2")
            self.assertIn(b"quick", got.body)
            wait_until(lambda: len(first.seen) == turn + 1, "the first one was asked")
            self.assertTrue(first.seen[turn].closed.wait(DEADLINE))
            self.assertGreaterEqual(second.seen[turn].received_at - begun, 0.2)
        self.assertEqual(self.events(hoteld, "open"), [])


if __name__ == "__main__":
    unittest.main()
