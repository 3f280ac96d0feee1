"""hotelctl keys against a running sidecar."""

import json
import os
import subprocess
import unittest

from harness import KEY, chat
from test_api import ApiCase, TOKEN

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")


class Keys(ApiCase):
    def ctl(self, *args, code=0):
        done = subprocess.run(
            [CTL, "--url", "http://%s:%d" % self.gate.address, "keys", *args],
            capture_output=True,
            text=True,
            timeout=30,
            env={"ADMIN_TOKEN": TOKEN, "PATH": "/usr/bin"},
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def ask(self, secret):
        body = json.dumps({"model": "hotel/demo", "messages": []}).encode()
        return self.gate.request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer " + secret}).status

    def test_from_making_one_to_deleting_it(self):
        self.start_group(chat())
        made = self.ctl("create", "app", "--rps", "5", "--budget", "2.5", "--budget-period", "day", "--providers", "p1")
        self.assertRegex(made, r"^sk-[0-9a-f]{32} \(shown this once\)\n$")
        secret = made.split()[0]
        self.assertEqual(self.ask(secret), 200)
        lines = self.ctl("list").splitlines()
        self.assertEqual(lines, self.ctl().splitlines())
        self.assertEqual(lines[0].split()[:3], ["NAME", "KEY", "STATE"])
        row = next(line for line in lines if line.startswith("app"))
        for part in ("sk-..." + secret[-4:], " on ", "0.00 of 2.50 a day"):
            self.assertIn(part, row)
        self.assertIn("on (file)", next(line for line in lines if line.startswith("dev")))
        shown = json.loads(self.ctl("show", "app", "--json"))
        self.assertEqual((shown["rate_limit_rps"], shown["budget_usd"], shown["requests"]), (5, 2.5, 1))
        self.assertIn("rate_limit_rps", self.ctl("show", shown["id"]))

        self.ctl("update", "app", "--name", "web", "--rps", "default", "--budget", "none", "--providers", "all", "--disable")
        shown = json.loads(self.ctl("show", "web", "--json"))
        for name in ("rate_limit_rps", "budget_usd", "allowed_providers"):
            self.assertIsNone(shown[name], name)
        self.assertEqual(self.ask(secret), 401)
        self.ctl("update", "web", "--enable")
        self.assertEqual(self.ask(secret), 200)
        self.assertEqual(self.ctl("delete", "web"), "deleted\n")
        self.assertEqual(self.ask(secret), 401)
        self.assertEqual(self.ask(KEY), 200)

    def test_mistakes(self):
        self.start_group(chat())
        self.assertEqual(self.ctl("show", "nobody", code=1), "hotelctl: no virtual key is named nobody\n")
        self.assertEqual(self.ctl("create", "admin", code=1), "hotelctl: 400: the name 'admin' is reserved; choose another\n")
        self.assertIn("is not a number", self.ctl("create", "a", "--tpm", "many", code=2))
        self.assertEqual(self.ctl("update", "dev", code=2), "hotelctl: nothing to change was named\n")
        self.assertIn("change it there", self.ctl("delete", "dev", code=1))
        self.ctl("update", "dev", "--enable", "--disable", code=2)
        self.ctl("create", code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
