"""What a sidecar says about itself: GET /api/system and hotelctl status."""

import os
import re
import subprocess
import threading
import unittest

from harness import DEADLINE, answer, chat, completion, wait_until
from test_api import ASK, TIME, TOKEN, ApiCase

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")


class System(ApiCase):
    def test_the_form_of_the_answer(self):
        gate = self.start_group(chat(), chat())
        system = self.ok("GET", "/api/system")
        self.assertEqual(list(system), ["version", "build", "started_at", "uptime_seconds", "listen", "data_dir", "config_file",
                                        "active_requests", "counts", "request_log"])
        self.assertRegex(system["version"], r"\A\d+\.\d+\.\d+\Z")
        self.assertIn(system["build"]["type"], ("release", "debug"))
        self.assertRegex(system["build"]["compiler"], r"\A(gcc|clang) \d+\.")
        self.assertRegex(system["started_at"], TIME)
        self.assertGreaterEqual(system["uptime_seconds"], 0)
        self.assertEqual(system["listen"], "%s:%d" % gate.address)
        self.assertEqual((system["data_dir"], system["config_file"]), (gate.data_dir, gate.config))
        self.assertEqual(system["active_requests"], 0)
        self.assertEqual(system["counts"], {"providers": {"total": 2, "enabled": 2}, "models": {"total": 2, "enabled": 2},
                                            "failover_groups": {"total": 1, "enabled": 1}, "virtual_keys": {"total": 1, "enabled": 1}})
        self.assertEqual(system["request_log"], {"written": 0, "waiting": 0, "lost": 0, "failing": False})

    def test_the_counts_are_those_of_the_moment(self):
        self.start()
        one = self.add_provider("one", models=["a", "b"])
        self.ok("PUT", "/api/providers/" + one["id"], {"enabled": False})
        counts = self.ok("GET", "/api/system")["counts"]
        self.assertEqual(counts["providers"], {"total": 1, "enabled": 0})
        self.assertEqual(counts["models"], {"total": 2, "enabled": 2})
        self.assertEqual(counts["failover_groups"], {"total": 0, "enabled": 0})

    def test_running_requests_are_counted(self):
        gate = threading.Event()
        self.addCleanup(gate.set)

        def slow(conn, seen, number):
            gate.wait(DEADLINE)
            return answer(conn, 200, completion())

        self.start_group(slow)
        with self.gate.client() as client:
            client.send_request("POST", "/v1/chat/completions", b'{"model":"hotel/demo","messages":[]}')
            wait_until(lambda: self.ok("GET", "/api/system")["active_requests"] == 1, "the request runs")
            gate.set()
            self.assertEqual(client.read_answer().status, 200)
        wait_until(lambda: self.ok("GET", "/api/system")["active_requests"] == 0, "the request has ended")
        wait_until(lambda: self.ok("GET", "/api/system")["request_log"]["written"] == 1, "its row is written")

    def test_only_with_the_admin_token(self):
        self.start()
        self.assertEqual(self.call("GET", "/api/system", token="").status, 401)
        self.assertEqual(self.call("POST", "/api/system").status, 405)

    def test_hotelctl_status(self):
        gate = self.start_group(chat())
        self.assertEqual(gate.chat(ASK).status, 200)
        wait_until(lambda: self.ok("GET", "/api/system")["request_log"]["written"] == 1, "the row is written")
        done = subprocess.run([CTL, "status", "--url", "http://%s:%d" % gate.address], capture_output=True, text=True,
                              env={"ADMIN_TOKEN": TOKEN}, timeout=DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = dict(re.split(r" {2,}", line, maxsplit=1) for line in done.stdout.splitlines())
        self.assertRegex(rows["running"], r"\A\d+.* since \d{4}-")
        self.assertEqual((rows["data"], rows["configuration"]), (gate.data_dir, gate.config))
        self.assertEqual((rows["providers"], rows["groups"], rows["keys"], rows["running requests"]), ("1", "1", "1", "0"))
        self.assertEqual(rows["request log"], "1 rows written, 0 waiting, 0 lost")


if __name__ == "__main__":
    unittest.main(verbosity=2)
