"""hotel-load against hotel-sim: it counts what is good, and sees every kind of fault."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "path"))
import systems  # noqa: E402

HOTEL_LOAD = os.environ["HOTEL_LOAD"]


class Load(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sim = systems.Sim(os.environ["HOTEL_SIM"]).start()

    @classmethod
    def tearDownClass(cls):
        cls.sim.stop()

    def load(self, model, *arguments, stream=None, status=0):
        body = {"model": model, "stream": stream is not None, "messages": []}
        command = [HOTEL_LOAD, "--url", self.sim.url, "--body", json.dumps(body),
                   "--pid", str(self.sim.process.pid), *map(str, arguments)]
        if stream is not None:
            command += ["--stream", str(stream)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_whole_answers_for_a_second(self):
        result = self.load("ok", "-c", 8, "-t", 1)
        self.assertGreater(result["succeeded"], 100)
        self.assertEqual(result["started"], result["succeeded"])
        self.assertEqual(result["connections_opened"], 8)
        self.assertEqual(result["statuses"], {"200": result["succeeded"]})
        whole = result["whole_ms"]
        self.assertTrue(0 < whole["p50"] <= whole["p90"] <= whole["p99"] <= whole["max"])
        self.assertGreater(result["cpu_us_per_request"], 0)
        self.assertGreater(result["rss_kib_peak"], 1000)

    def test_streams_have_their_frames_in_their_time(self):
        result = self.load("frames-5-gap-50ms", "-c", 20, "-n", 40, stream=5)
        self.assertEqual((result["succeeded"], result["frames"]), (40, 200))
        self.assertGreaterEqual(result["whole_ms"]["p50"], 200)
        self.assertGreaterEqual(result["gap_ms"]["max"], 50)
        self.assertLess(result["first_frame_ms"]["p50"], result["whole_ms"]["p50"])

    def test_frames_count_however_they_are_cut(self):
        result = self.load("frames-3-trickle-7b-1ms", "-c", 2, "-n", 2, stream=3)
        self.assertEqual(result["frames"], 6)

    def test_a_body_may_end_with_its_connection(self):
        result = self.load("frames-3-until-close", "-c", 2, "-n", 6, stream=3)
        self.assertEqual((result["succeeded"], result["connections_opened"]), (6, 6))

    def test_faults_are_told_apart(self):
        for model, stream, fault in (("status-503", None, "status"), ("cut", None, "closed"),
                                     ("reset", None, "reset"), ("frames-3-cut-after-2", 3, "closed"),
                                     ("frames-3", 4, "frames"), ("frames-3-no-done", 3, "not_terminated"),
                                     ("silence", None, "timeout")):
            with self.subTest(model=model):
                limit = 0.5 if fault == "timeout" else 30
                result = self.load(model, "-c", 2, "-n", 4, "--timeout", limit, stream=stream, status=1)
                self.assertEqual((result["succeeded"], result["faults"]), (0, {fault: 4}))

    def test_a_refusal_is_shown(self):
        self.assertIn("error", self.load("status-503", "-n", 1, status=1)["first_refusal"])

    def test_idle_connections_stay(self):
        result = self.load("ok", "--idle", 300, "-t", 0.5)
        self.assertEqual((result["succeeded"], result["dropped"], result["connections_opened"]),
                         (300, 0, 300))
        self.assertLess(result["cpu_share"], 0.5)

    def test_idle_connections_that_are_closed_are_counted(self):
        sim = systems.Sim(os.environ["HOTEL_SIM"]).start()
        command = [HOTEL_LOAD, "--url", sim.url, "--idle", "10", "-t", "5"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                # The upstream goes once all connections have had their answer.
                self.wait_for_answers(sim, 10)
            finally:
                sim.stop()
            output, _ = process.communicate(timeout=30)
        result = json.loads(output)
        self.assertEqual((process.returncode, result["succeeded"], result["dropped"]), (1, 10, 10))

    def wait_for_answers(self, sim, count):
        url = f"http://127.0.0.1:{sim.port}/stats"
        end = time.monotonic() + 20
        while True:
            with urllib.request.urlopen(url) as answer:
                stats = json.load(answer)
            if stats["answered"] >= count:
                time.sleep(0.5)  # the answers are read
                return
            self.assertLess(time.monotonic(), end, stats)
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
