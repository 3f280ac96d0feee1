"""A short soak of hoteld by the means of the benchmarks, and the table they print."""

import os
import unittest

import measure
import plan
import report
import systems


class Soak(unittest.TestCase):
    def test_two_hundred_streams_lose_nothing(self):
        systems.raise_file_limit()
        sim = systems.Sim(os.environ["HOTEL_SIM"]).start()
        try:
            hoteld = systems.Hoteld(os.environ["HOTELD"], sim, plan.BEHAVIOURS, key=True)
            bench = measure.Bench(os.environ["HOTEL_LOAD"], print)
            runs = bench.run("soak", [hoteld], 1, plan.FAST, "-c", 200, "-t", 3, "--ramp", 500, stream=20)
        finally:
            sim.stop()
        result = runs.by_system["hoteld"][0]
        self.assertEqual((result["failed"], result["faults"]), (0, {}))
        self.assertGreaterEqual(result["succeeded"], 200)
        self.assertEqual(result["frames"], 20 * result["succeeded"])


class Table(unittest.TestCase):
    def test_goals_decide(self):
        row = plan.at_most_times(plan.Row("a", "us", 30.0, 10.0), 4)
        self.assertEqual(report.cells(row), ["a", "us", "30.0", "10.0", "3.00", "at most 4 x nginx", "pass"])
        row = plan.at_most_times(plan.Row("a", "us", 50.0, 10.0), 4)
        self.assertEqual(report.cells(row)[-1], "FAIL")
        # A figure that could not be taken has not passed.
        self.assertEqual(report.cells(plan.at_most(plan.Row("a", "us", None), 1, ""))[-1], "FAIL")


if __name__ == "__main__":
    unittest.main()
