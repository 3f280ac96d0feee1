"""The situations of public crash tests of gateways, through the sidecar with examples/crash-test.yaml.

Scale 1:10: every time of the file is a tenth of what it says, and so are the bounds and the simulator's
delays. tests/scenario/crash_test.cc has the same at full length.
"""

import os
import re
import time
import unittest

from harness import TestCase

SCALE = 10
FILE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "crash-test.yaml")
# What a loaded machine may add; not as much as a second wait of the same length.
SLACK = 3.0


def scaled():
    with open(FILE, encoding="utf-8") as file:
        text = file.read()
    return re.sub(r": (\d+)s( |\n)", lambda m: ": %dms%s" % (int(m[1]) * 1000 // SCALE, m[2]), text)


class Crash(TestCase):
    def start(self, primary, backup="ok"):
        self.simulator = self.sim()
        base = "http://127.0.0.1:%d/" % self.simulator.address[1]
        self.sidecar = self.hoteld(
            scaled(),
            env={
                "PRIMARY_URL": base + "primary/v1",
                "BACKUP_URL": base + "backup/v1",
                "PRIMARY_MODEL": primary,
                "BACKUP_MODEL": backup,
            },
        )

    def ask(self, stream=True, model="hotel/crash"):
        begin = time.monotonic()
        answer = self.sidecar.chat({"model": model, "stream": stream, "messages": []})
        self.took = time.monotonic() - begin
        return answer

    def calls(self, model):
        return self.simulator.stats()["models"].get(model, 0)

    def assertWhole(self, answer, provider=None):
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.body.count(b"data: [DONE]"), 1)
        self.assertNotIn(b'"error"', answer.body)
        if provider:
            self.assertEqual(answer.headers["x-hotel-provider"], provider)

    def assertBroken(self, answer, tokens):
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.body.count(b'"stream_incomplete"'), 1)
        self.assertEqual(answer.body.count(b'"error"'), 1)
        self.assertNotIn(b"[DONE]", answer.body)
        self.assertNotIn(b'"finish_reason":"', answer.body)
        self.assertEqual(len(re.findall(rb'"content":"[^"]', answer.body)), tokens)

    def test_01_a_429_with_retry_after(self):
        self.start("busy+retry-after-2+fail-first-1")
        self.assertWhole(self.ask(), "backup")
        self.assertWhole(self.ask(), "primary")

    def test_02_a_429_that_stays(self):
        self.start("busy+retry-after-1", "busy+retry-after-1")
        answer = self.ask()
        self.assertEqual(answer.status, 429)
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)

    def test_03_one_500(self):
        self.start("status-500+fail-first-1")
        self.assertWhole(self.ask(), "backup")
        self.assertWhole(self.ask(), "primary")

    def test_04_a_503_that_stays(self):
        self.start("status-503")
        for _ in range(4):
            self.assertWhole(self.ask(), "backup")
        self.assertEqual(self.calls("status-503"), 3)
        self.assertEqual(self.ask(model="primary/status-503").status, 503)

    def test_05_a_reset_before_the_head(self):
        self.start("reset")
        self.assertWhole(self.ask(), "backup")
        self.assertEqual(self.ask(stream=False).headers["x-hotel-provider"], "backup")

    def test_06_no_answer_at_all(self):
        self.start("silence")
        self.assertWhole(self.ask(), "backup")
        self.assertLess(self.took, 31 / SCALE + SLACK)
        self.assertEqual(self.ask(stream=False).status, 200)
        self.assertLess(self.took, 31 / SCALE + SLACK)
        self.assertEqual(self.ask(stream=False, model="primary/silence").status, 504)
        self.assertLess(self.took, 31 / SCALE + SLACK)

    def test_07_a_late_first_token(self):
        self.start("role-only+delay-first-2s")
        self.assertWhole(self.ask(), "backup")
        self.assertLess(self.took, 15 / SCALE + SLACK)

    def test_08_cut_at_40_of_60_tokens(self):
        for how in ("cut", "reset"):
            self.start("frames-60+%s-after-40" % how)
            self.assertBroken(self.ask(), 40)
            self.assertEqual(self.calls("ok"), 0)

    def test_09_silence_behind_20_tokens(self):
        self.start("frames-60+silence-after-20")
        self.assertBroken(self.ask(), 20)
        self.assertLess(self.took, 31 / SCALE + SLACK)

    def test_10_a_malformed_event(self):
        self.start("frames-20+malformed-at-10")
        self.assertWhole(self.ask(), "primary")

    def test_11_no_done(self):
        self.start("frames-20+no-done")
        self.assertWhole(self.ask(), "primary")
        self.start("frames-20+no-finish")
        self.assertBroken(self.ask(), 20)

    def test_12_13_a_400_is_the_clients(self):
        self.start("status-400")
        for stream in (True, False):
            answer = self.ask(stream)
            self.assertEqual(answer.status, 400)
            self.assertEqual(answer.headers["x-hotel-attempts"], "1")
        self.assertEqual(self.calls("ok"), 0)

    def test_14_cut_and_the_second_provider_refuses(self):
        self.start("frames-60+cut-after-40", "status-401")
        self.assertBroken(self.ask(), 40)
        self.assertEqual(self.calls("status-401"), 0)
        self.start("role-only+cut-after-head", "status-401")
        self.assertEqual(self.ask().status, 401)

    def test_15_down_and_back_under_steady_requests(self):
        # A minute of sixty seconds becomes six; a request every 4 s one every 0.4 s.
        self.start("down-6s-of-60s")
        begin = time.monotonic()
        again = None
        while time.monotonic() < begin + 6 + 30 / SCALE + SLACK and again is None:
            answer = self.ask()
            self.assertWhole(answer)
            if answer.headers["x-hotel-provider"] == "primary":
                again = time.monotonic() - begin
            time.sleep(4 / SCALE)
        self.assertIsNotNone(again, "the provider that came back is not used again")
        self.assertLess(again, 6 + 30 / SCALE + SLACK)
        # Three to open the circuit, then one for each of the cooldowns of 1.2, 2.4 and 2.4 s, then this.
        self.assertLessEqual(self.calls("down-6s-of-60s"), 3 + 3 + 1)

    def test_16_model_and_usage_after_failover(self):
        self.start("status-503")
        answer = self.ask(stream=False)
        self.assertEqual(
            (answer.headers["x-hotel-provider"], answer.headers["x-hotel-model"], answer.headers["x-hotel-attempts"]),
            ("backup", "ok", "2"),
        )
        self.assertEqual(answer.json()["model"], "ok")
        self.assertGreater(answer.json()["usage"]["total_tokens"], 0)


if __name__ == "__main__":
    unittest.main()
