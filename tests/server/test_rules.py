"""The numbered rules of repeats, idempotency keys and streams, each once through the sidecar.

Every rule is checked in all its cases in virtual time (tests/scenario); here it has to hold between real
sockets, under a configuration file of profile retry_first with short waits.
"""

import json
import threading
import time
import unittest

from harness import (
    DEADLINE,
    DONE,
    KEY,
    answer,
    begin_stream,
    chat,
    config,
    end_stream,
    event,
    reset,
    send_chunk,
    status,
    wait_until,
)
from resilience import Asking, NO_PAUSE, ResilienceTest, asking, in_turn, model_of, of_provider

ASK = asking("hotel/demo")
STREAM = asking("hotel/demo", stream=True)
ADMIN = {"ADMIN_TOKEN": "admin-token-for-tests"}
KEYED = {"Idempotency-Key": "order-17"}
# What a loaded machine may add to a wait.
SLACK = 3.0


def retry_first(retry="", rest=""):
    """Profile retry_first: three tries, without waits worth the name."""
    return "profile: retry_first\nresilience: {retry: {max_retries: 2, initial_backoff: 1ms%s}}\n%s" % (
        ", " + retry if retry else "",
        rest,
    )


def keys(upstream):
    return [seen.header("idempotency-key") for seen in upstream.seen]


def silent(conn, seen, number):
    """Reads the request and answers nothing."""
    if conn.recv(1) == b"":
        seen.closed.set()
    return False


def stream(*pieces, end=True):
    """A stream of these pieces; a callable one runs. Without `end` it breaks off behind the last."""

    def script(conn, seen, number):
        begin_stream(conn)
        for piece in pieces:
            if callable(piece):
                piece()
            else:
                send_chunk(conn, piece)
        return end_stream(conn) if end else False

    return script


class Repeats(ResilienceTest):
    def test_R1_R2_R3_R4_R7_each_target_has_its_own_tries_and_its_own_circuit(self):
        hoteld, (first, second, third) = self.group(status(503), status(503), chat(), extra=retry_first())
        got = self.served_by(hoteld, ASK, "p3")
        self.assertEqual(got.headers["x-hotel-attempts"], "3")
        self.assertEqual([len(u.seen) for u in (first, second, third)], [3, 3, 1])
        self.assertEqual({model_of(seen) for seen in first.seen}, {"model-p1"})
        self.assertEqual(len({seen.body for seen in first.seen}), 1)
        self.assertRegex(self.trail(hoteld, got)[0], r"^0 p1/model-p1 503 .*tries=3")
        # Repeats of a direct name stay with its target, and so does its circuit.
        for _ in range(4):
            self.assertEqual(hoteld.chat(asking("p1/model-p1")).status, 503)
        self.assertEqual(hoteld.chat(asking("p1/model-p1")).error["code"], "circuit_open")
        self.assertEqual([len(u.seen) for u in (first, second, third)], [15, 3, 1])
        # What is not on the list goes back after the first try.
        hoteld, (first,) = self.group(status(500), extra=retry_first())
        self.assertEqual(hoteld.chat(ASK).status, 500)
        self.assertEqual(len(first.seen), 1)

    def test_R5_R17_the_waits_grow_and_Retry_After_is_not_looked_at(self):
        hoteld, (first,) = self.group(
            status(503, headers=[("Retry-After", "30")]),
            extra="profile: retry_first\nresilience: {retry: {max_retries: 3, initial_backoff: 100ms}}",
        )
        self.assertEqual(hoteld.chat(ASK).status, 503)
        gaps = [b.received_at - a.received_at for a, b in zip(first.seen, first.seen[1:])]
        self.assertEqual(len(gaps), 3)
        for gap, base in zip(gaps, (0.1, 0.2, 0.4)):
            self.assertGreaterEqual(gap, base * 0.9 - 0.005)
            self.assertLess(gap, base * 1.1 + SLACK)

    def test_R6_R11_an_empty_list_still_repeats_what_broke_on_the_way(self):
        extra = retry_first("retry_on_statuses: []")
        hoteld, (first,) = self.group(in_turn(reset, reset, chat()), extra=extra)
        got = self.served_by(hoteld, ASK, "p1")
        self.assertEqual((len(first.seen), got.headers["x-hotel-attempts"]), (3, "1"))
        hoteld, (first,) = self.group(status(503), extra=extra)
        self.assertEqual(hoteld.chat(ASK).status, 503)
        self.assertEqual(len(first.seen), 1)

    def test_R8_a_time_limit_of_our_own_ends_the_attempt_at_once(self):
        limit = "timeouts: {request_timeout: 3s}"
        hoteld, (first, _) = self.group(silent, chat(), extra=retry_first(rest=limit))
        self.served_by(hoteld, ASK, "p2")
        self.assertEqual(hoteld.chat(asking("p1/model-p1")).status, 504)
        self.assertEqual(len(first.seen), 2)

    def test_R9_who_leaves_in_a_wait_ends_it(self):
        hoteld, (first, second) = self.group(
            status(503),
            chat(),
            extra="profile: retry_first\nresilience: {retry: {initial_backoff: 3s}}",
        )
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", json.dumps(ASK).encode())
            wait_until(lambda: len(first.seen) == 1, "the first try")
        wait_until(lambda: "status=499" in hoteld.stderr(), "the request is over")
        due = time.monotonic() + 3.5
        wait_until(lambda: time.monotonic() > due, "the wait would be over")
        self.assertEqual((len(first.seen), len(second.seen)), (1, 0))

    def test_R10_R12_lists_of_codes_and_classes_and_the_breakers_own(self):
        def calls(code, retry, charged):
            hoteld, (first,) = self.group(
                status(code),
                extra="profile: retry_first\nresilience:\n"
                "  retry: {max_retries: 2, initial_backoff: 1ms%s}\n"
                "  circuit_breaker: {failure_threshold: 1, failure_on_statuses: %s}"
                % (", retry_on_statuses: " + retry if retry else "", charged),
            )
            self.assertEqual(hoteld.chat(asking("p1/m")).status, code)
            tries = len(first.seen)
            return tries, hoteld.chat(asking("p1/m")).error.get("code") == "circuit_open"

        self.assertEqual(calls(500, "[5XX]", "[]"), (3, False))
        self.assertEqual(calls(524, "[]", "[524]"), (1, True))
        self.assertEqual(calls(429, "", "[500]"), (3, False))

    def test_R13_a_stream_is_never_repeated_once_it_was_sent(self):
        hoteld, (first, _) = self.group(in_turn(status(503), reset), chat(), extra=retry_first())
        for calls in (1, 2):
            self.served_by(hoteld, STREAM, "p2")
            self.assertEqual(len(first.seen), calls)

    def test_R16_what_cannot_be_built_is_nobodys_fault_and_takes_no_probe(self):
        hoteld, (first,) = self.group(
            in_turn(status(500), chat()),
            extra="profile: retry_first\nresilience: {circuit_breaker: {failure_threshold: 1, timeout: 200ms}}",
        )
        direct = asking("p1/model-p1")
        self.assertEqual(hoteld.chat(direct).status, 500)
        due = time.monotonic() + 0.3
        wait_until(lambda: time.monotonic() > due, "a probe is due")
        for body in (b'{"model":"p1/model-p1","messages":[', b'{"model":"p1/model-p1","model":"x"}'):
            self.assertEqual(hoteld.chat(body).status, 400)
        self.assertEqual(len(first.seen), 1)
        self.assertEqual(hoteld.chat(direct).status, 200)


class Keys(ResilienceTest):
    def test_R18_R19_R20_f7_7_the_key_goes_with_the_first_targets_calls_alone(self):
        hoteld, (first, second) = self.group(status(503), chat(), extra=retry_first())
        got = hoteld.chat(ASK, KEYED)
        self.assertEqual(got.headers["x-hotel-provider"], "p2")
        self.assertEqual(keys(first), ["order-17"] * 3)
        self.assertEqual(keys(second), [None])  # and there is no call but these
        # The last candidate's repeat is one more call to the first target.
        hoteld, (only,) = self.group(in_turn(status(503), chat()))
        self.assertEqual(hoteld.chat(ASK, KEYED).status, 200)
        self.assertEqual(keys(only), ["order-17"] * 2)
        # In a race the first one has it alone.
        hoteld, (first, second) = self.group(silent, chat(), extra="hedging: {enabled: true, delay: 100ms}")
        self.assertEqual(hoteld.chat(STREAM, KEYED).headers["x-hotel-provider"], "p2")
        wait_until(lambda: len(first.seen) == 1, "the first one has seen it, too")
        self.assertEqual((keys(first), keys(second)), (["order-17"], [None]))

    def test_R21_a_key_that_is_no_key_is_ignored(self):
        hoteld, (only,) = self.group(chat())
        for sent, seen in (
            ("  padded  ", "padded"),
            ("k" * 255, "k" * 255),
            ("k" * 256, None),
            ("two words", None),
            ("", None),
        ):
            self.assertEqual(hoteld.chat(ASK, {"Idempotency-Key": sent}).status, 200)
            self.assertEqual(keys(only)[-1], seen, sent)

    def test_R14_R22_a_passthrough_is_repeated_if_that_is_safe(self):
        hoteld, (only,) = self.group(
            status(503, "no"), extra=retry_first(), env={"CIRCUIT_BREAKER_ENABLED": "false"}
        )
        for method, key, calls in (
            ("GET", None, 3),
            ("PUT", None, 3),
            ("POST", None, 1),
            ("DELETE", None, 1),
            ("POST", "order-17", 3),
            ("POST", "order 17", 1),
        ):
            with self.subTest(method=method, key=key):
                before = len(only.seen)
                body = b'{"a": 1}' if method in ("POST", "PUT") else b""
                got = hoteld.request(method, "/p/p1/files?x=1", body, {"Idempotency-Key": key})
                self.assertEqual((got.status, got.body), (503, b"no"))
                self.assertEqual([seen.body for seen in only.seen[before:]], [body] * calls)

    def test_R29_a_passthrough_is_byte_exact_whatever_it_looks_like(self):
        hidden = b' {"error": {"code": 503, "message": "x"}}\n'
        hoteld, (only,) = self.group(lambda conn, seen, number: answer(conn, 200, hidden), extra=retry_first())
        sent = b'{ "model":"hotel/demo",  "stream":true, "n":1e400 }'
        got = hoteld.request("POST", "/p/p1/chat/completions?a=%2F&b", sent)
        self.assertEqual((got.status, got.body), (200, hidden))
        self.assertEqual(len(only.seen), 1)
        self.assertEqual(only.seen[0].body, sent)
        line = only.seen[0].head.split(b"\r\n")[0]
        self.assertEqual(line, b"POST /v1/chat/completions?a=%2F&b HTTP/1.1")
        self.assertNotIn(KEY.encode(), only.seen[0].raw)


class Begin(ResilienceTest):
    def test_R30_R31_an_empty_stream_or_an_error_first_moves_on(self):
        error = b'data: {"error": {"code": 503, "message": "overloaded"}}\n\n'
        empty = stream(b": ping\n\n")
        firsts = (empty, stream(error), stream(b": ping\n\n" + error))
        hoteld, (one, _) = self.group(in_turn(*firsts, empty, stream(error)), chat(), extra=retry_first())
        for calls in (1, 2, 3):
            got = self.served_by(hoteld, STREAM, "p2")
            self.assertNotIn(b"ping", got.body)
            self.assertEqual(len(one.seen), calls)
        # With nobody to move on to: what the empty one is worth, and what the error says.
        for code in (502, 503):
            got = hoteld.chat(asking("p1/model-p1", stream=True))
            self.assertEqual((got.status, got.headers["content-type"]), (code, "application/json"))
        self.assertEqual(len(one.seen), 5)

    def test_R32_R33_the_head_waits_for_the_first_event_and_what_was_held_comes_unchanged(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        waiting = threading.Event()
        held = b": ping\r\n\r\nretry: 5\n\n: more\n\n"
        rest = event("one") + event(finish="stop") + DONE

        def wait():
            waiting.set()
            go_on.wait(DEADLINE)

        hoteld, _ = self.group(stream(held, wait, rest), extra=retry_first())
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", json.dumps(STREAM).encode())
            self.assertTrue(waiting.wait(DEADLINE))
            client.sock.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                client.read_head()
            client.sock.settimeout(DEADLINE)
            go_on.set()
            self.assertEqual(client.read_answer().body, held + rest)


class Ends(ResilienceTest):
    """What a stream's client sees at its end."""

    CHAT = event("one") + event("two")
    MESSAGES = (
        b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","role":"assistant","content":[]}}\n\n'
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        b'"delta":{"type":"text_delta","text":"one"}}\n\n'
    )
    RESPONSES = (
        b'event: response.created\ndata: {"type":"response.created","response":{"id":"r"}}\n\n'
        b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"one"}\n\n'
    )
    STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'

    @staticmethod
    def completed(size=0):
        text = json.dumps({"type": "response.completed", "response": {"id": "r", "x": "x" * size}})
        return b"event: response.completed\ndata: %s\n\n" % text.encode()

    def setUp(self):
        self.sidecars = {}

    def sidecar(self, path, extra):
        """One for each path and configuration; its provider follows `self.script`."""
        if (path, extra) not in self.sidecars:
            first = self.upstream(lambda conn, seen, number: self.script(conn, seen, number))
            text = config({"p1": first}, {"demo": ["p1/m"]}, extra=retry_first(rest=extra))
            if path == "/v1/messages":
                text = text.replace("type: openai", "type: anthropic")
            self.sidecars[path, extra] = self.hoteld(text), first
        return self.sidecars[path, extra]

    def ask(self, path, script, extra=""):
        """The answer to a stream at `path`, and how it stands in the log."""
        self.script = script
        hoteld, self.first = self.sidecar(path, extra)
        before = len(self.first.seen)
        got = hoteld.request("POST", path, json.dumps(STREAM).encode())
        self.assertEqual(got.status, 200, got.body)
        name = "request=" + got.headers["x-hotel-request-id"]
        wait_until(lambda: name in hoteld.stderr(), "the request is in the log")
        self.line = next(line for line in hoteld.stderr().splitlines() if name in line)
        self.assertEqual(len(self.first.seen), before + 1)
        return got.body

    def error_event(self, body, relayed):
        """What follows the relayed bytes is exactly one event; its name and data."""
        self.assertTrue(body.startswith(relayed), body)
        rest = body[len(relayed) :]
        self.assertEqual(body.count(b"stream_incomplete"), 1)
        self.assertTrue(rest.endswith(b"\n\n"))
        events = [part for part in rest.split(b"\n\n") if part.strip()]
        self.assertEqual(len(events), 1, rest)
        fields = dict(line.split(b": ", 1) for line in events[0].strip().split(b"\n"))
        self.assertNotIn(b"127.0.0.1", rest)
        self.assertNotIn(str(self.first.port).encode(), rest)
        return fields.get(b"event"), json.loads(fields[b"data"])

    def test_R34_R36_R39_R40_R42_a_cut_chat_ends_with_one_error_event(self):
        call = b'{"index":0,"id":"a","function":{"name":"f","arguments":""}}'
        tool = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[' + call + b"]}}]}\n\n"
        half = event("three")[:30]
        for pieces, relayed in (
            ((self.CHAT,), self.CHAT),
            ((self.CHAT, half), self.CHAT),
            ((tool,), tool),
            ((self.CHAT, b"data: {oops\n\n"), self.CHAT),
        ):
            for end in (False, True):
                body = self.ask("/v1/chat/completions", stream(*pieces, end=end))
                if pieces[-1].startswith(b"data: {oops") and pieces[-1] in body:
                    relayed = self.CHAT + pieces[-1]
                _, data = self.error_event(body, relayed)
                self.assertEqual(data["error"]["code"], "stream_incomplete")
                self.assertNotIn(b"[DONE]", body)
                self.assertIn("provider_error", self.line)

    def test_R37_R38_the_error_event_has_the_clients_dialect(self):
        name, data = self.error_event(self.ask("/v1/responses", stream(self.RESPONSES)), self.RESPONSES)
        self.assertEqual((name, data["type"], data["code"]), (b"error", "error", "stream_incomplete"))
        body = self.ask("/v1/messages", stream(self.MESSAGES))
        name, data = self.error_event(body, self.MESSAGES)
        self.assertEqual((name, data["type"], data["error"]["type"]), (b"error", "error", "api_error"))
        self.assertNotIn(b"message_stop", body)

    def test_R35_R41_R43_what_is_whole_stays_whole_however_the_connection_ends(self):
        for path, whole in (
            ("/v1/chat/completions", self.CHAT + DONE),
            ("/v1/messages", self.MESSAGES + self.STOP),
            ("/v1/responses", self.RESPONSES + self.completed()),
            ("/v1/responses", self.RESPONSES + self.completed(300000)),
        ):
            for end in (False, True):
                self.assertEqual(self.ask(path, stream(whole, end=end)), whole)
                self.assertNotIn("provider_error", self.line)
        # A finish_reason says as much; the gateway adds what is missing.
        finished = self.CHAT + event(finish="stop")
        self.assertEqual(self.ask("/v1/chat/completions", stream(finished, end=False)), finished + DONE)

    def test_R44_silence_behind_the_first_word_ends_the_stream(self):
        stopped = threading.Event()
        self.addCleanup(stopped.set)
        begin = time.monotonic()
        body = self.ask(
            "/v1/chat/completions",
            stream(self.CHAT, lambda: stopped.wait(DEADLINE)),
            extra="timeouts: {stream_stall_timeout: 1s}",
        )
        self.assertLess(time.monotonic() - begin, DEADLINE / 2)
        self.error_event(body, self.CHAT)
        # A comment is a sign of life.
        pieces = [self.CHAT]
        for _ in range(8):
            pieces += [lambda: time.sleep(0.5), b": ping\n\n"]
        whole = b"".join(piece for piece in pieces if not callable(piece)) + event(finish="stop") + DONE
        body = self.ask(
            "/v1/chat/completions",
            stream(*pieces, event(finish="stop") + DONE),
            extra="timeouts: {stream_stall_timeout: 3s}",
        )
        self.assertEqual(body, whole)


class Matrix(ResilienceTest):
    """Cases of f.7 that both profiles have a part in; 3 to 6 are in test_resilience.py."""

    def admin(self, hoteld, method, path, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        return hoteld.request(method, path, data, {"Authorization": "Bearer " + ADMIN["ADMIN_TOKEN"]})

    def test_f7_1_each_target_repeats_by_its_own_profile_and_the_list_by_its_own(self):
        for of_list, of_target, calls in (("failover", "retry", 4), ("retry", "failover", 1)):
            upstream = self.upstream(status(503))
            text = config({"p1": upstream}, {"demo": ["p1/m"]}, extra="profile: %s_first" % of_list)
            own = "profile: %s_first\nresilience: {retry: {initial_backoff: 1ms}}" % of_target
            hoteld = self.hoteld(of_provider(text, "p1", own))
            self.assertEqual(hoteld.chat(ASK).status, 503)
            self.assertEqual(len(upstream.seen), calls)

    def test_f7_2_the_last_candidates_repeat_is_a_charge_of_its_own(self):
        for second, charged in ((status(503), True), (chat(), False)):
            hoteld, (only,) = self.group(
                in_turn(status(503), second), extra="resilience: {circuit_breaker: {failure_threshold: 2}}"
            )
            got = hoteld.chat(ASK)
            self.assertEqual((got.status, got.headers["x-hotel-attempts"]), (503 if charged else 200, "2"))
            self.assertEqual(len(only.seen), 2)
            self.trail(hoteld, got)
            self.assertEqual(len(self.events(hoteld, "open")), 1 if charged else 0)

    def test_f7_8_a_cut_is_the_same_for_the_client_and_counts_by_the_verdicts_time(self):
        bodies = []
        for verdict, opened in (("start", 0), ("end", 1)):
            hoteld, _ = self.group(
                stream(Ends.CHAT, end=False),
                extra="resilience: {circuit_breaker: {failure_threshold: 1, stream_verdict: %s}}" % verdict,
            )
            got = hoteld.chat(STREAM)
            bodies.append(got.body)
            self.trail(hoteld, got)
            self.assertEqual(len(self.events(hoteld, "open")), opened)
        self.assertEqual(bodies[0], bodies[1])
        self.assertEqual(bodies[0].count(b"stream_incomplete"), 1)

    def test_f7_10_a_pinned_key_is_refused_a_free_one_is_used_by_the_next_request(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(conn, seen, number):
            if number == 0:
                go_on.wait(DEADLINE)
            return status(503)(conn, seen, number)

        hoteld, (only,) = self.group(
            script, extra="profile: retry_first\nresilience: {retry: {initial_backoff: 1ms}}", env=ADMIN
        )
        running = Asking(hoteld, ASK)
        wait_until(lambda: len(only.seen) == 1, "it is at the provider")
        pinned = self.admin(hoteld, "PUT", "/api/settings", {"resilience.retry.initial_backoff": "2s"})
        self.assertEqual(pinned.status, 409)
        done = self.admin(hoteld, "PUT", "/api/settings", {"resilience.retry.max_retries": 1})
        self.assertEqual(done.status, 200, done.body)
        go_on.set()
        wait_until(lambda: running.done, "the running request")
        self.assertEqual(len(only.seen), 4)
        self.assertEqual(hoteld.chat(ASK).status, 503)
        self.assertEqual(len(only.seen), 6)

    def test_f7_11_embeddings_stay_with_their_model_where_a_chat_moves_on(self):
        hoteld, (first, second) = self.group(status(500), chat(), extra=NO_PAUSE)
        got = hoteld.request("POST", "/v1/embeddings", json.dumps({"model": "hotel/demo", "input": "x"}).encode())
        self.assertEqual((got.status, len(second.seen)), (500, 0), got.body)
        self.assertEqual({seen.head.split(b" ")[1] for seen in first.seen}, {b"/v1/embeddings"})
        self.served_by(hoteld, ASK, "p2")

    def test_f7_12_a_failure_from_before_a_reset_does_not_reopen(self):
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def script(conn, seen, number):
            if number == 0:
                go_on.wait(DEADLINE)
            if number < 2:
                return status(500)(conn, seen, number)
            return chat()(conn, seen, number)

        hoteld, (first, _) = self.group(
            script,
            chat(),
            extra=NO_PAUSE + "\nresilience: {circuit_breaker: {failure_threshold: 1, timeout: 1m}}",
            env=ADMIN,
        )
        late = Asking(hoteld, ASK)
        wait_until(lambda: len(first.seen) == 1, "it is at the provider")
        self.served_by(hoteld, ASK, "p2")
        self.wait_event(hoteld, "open")
        self.assertEqual(self.admin(hoteld, "POST", "/api/failover-groups/circuit-breaker/reset").status, 200)
        go_on.set()
        wait_until(lambda: late.done, "the late one")
        self.assertEqual(late.answer.headers["x-hotel-provider"], "p2")
        self.served_by(hoteld, ASK, "p1")
        self.assertEqual(len(self.events(hoteld, "open")), 1)


if __name__ == "__main__":
    unittest.main()
