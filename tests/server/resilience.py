"""What the tests of circuits, refusals and slots share."""

import json
import threading
import time

from harness import TestCase, wait_until

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
