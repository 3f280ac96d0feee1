"""A day of an operator, from an empty directory to the same state in another one: hoteld, hotelctl and hotel-sim together."""

import json
import os
import subprocess
import threading
import unittest

from harness import DEADLINE, TestCase, answer, chat, config, wait_until

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")
TOKEN = "admin-token-for-tests"
ENV = {"ADMIN_TOKEN": TOKEN, "MASTER_KEY": "a master key of more than thirty-two characters", "DISCOVERY_ENABLED": "true"}
WORDS = [{"role": "user", "content": "good morning"}]


class Alpha:
    """A provider that can be broken."""

    def __init__(self):
        self.broken = False

    def __call__(self, conn, seen, number):
        if seen.head.startswith(b"GET"):
            return answer(conn, 200, {"object": "list", "data": [{"id": "vendor/ok", "object": "model"}]})
        if self.broken:
            return answer(conn, 503, {"error": {"message": "out of order"}})
        return chat("from alpha")(conn, seen, number)


class Listener(threading.Thread):
    """Reads the stream of events."""

    def __init__(self, gate):
        super().__init__(daemon=True)
        self.client = gate.client(timeout=120)
        self.client.send_request("GET", "/api/events", headers={"Authorization": "Bearer " + TOKEN})
        self.client.read_head()
        self.events = []
        self.start()

    def run(self):
        try:
            while True:
                chunk = self.client.read_chunk()
                if not chunk:
                    return
                self.events += [json.loads(line[6:]) for line in chunk.decode().splitlines() if line.startswith("data: ")]
        except (OSError, AssertionError, ValueError):
            return  # the sidecar has stopped

    def of(self, kind):
        return [event for event in list(self.events) if event["type"] == kind]


class Day(TestCase):
    def api(self, method, path, body=None, code=200, gate=None):
        data = b"" if body is None else json.dumps(body).encode()
        got = (gate or self.gate).request(method, path, data, {"Authorization": "Bearer " + TOKEN})
        self.assertEqual(got.status, code, got.body)
        return got.json() if got.body else None

    def ctl(self, *args, gate=None):
        """What hotelctl shows."""
        url = "http://%s:%d" % (gate or self.gate).address
        done = subprocess.run([CTL, *args, "--url", url], capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env={**os.environ, "ADMIN_TOKEN": TOKEN})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def ask(self, key, model="hotel/ok", gate=None):
        body = json.dumps({"model": model, "messages": WORDS}).encode()
        return (gate or self.gate).request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer " + key})

    def members(self, gate=None):
        groups = {group["display_model"]: group for group in self.api("GET", "/api/failover-groups", gate=gate)["groups"]}
        return groups.get("ok"), [entry["provider_name"] for entry in groups.get("ok", {}).get("entries", [])]

    def test_a_day(self):
        alpha = Alpha()
        sim = self.sim()
        self.gate = self.hoteld(config({}, keys=False), env=dict(ENV))
        listener = Listener(self.gate)
        self.addCleanup(listener.client.sock.close)

        # Morning: three providers are added; their lists make the group.
        urls = {"alpha": self.upstream(alpha).url, "beta": "http://127.0.0.1:%d/b/v1" % sim.address[1], "gamma": "http://127.0.0.1:%d/c/v1" % sim.address[1]}
        ids = {}
        for name, url in urls.items():
            ids[name] = self.api("POST", "/api/providers", {"name": name, "base_url": url, "provider_type": "openai", "api_key": "sk-%s-secret-0001" % name}, 201)["id"]
        self.assertTrue(self.api("POST", "/api/providers/%s/discover" % ids["alpha"])["success"])
        self.assertEqual([line.split()[0] for line in self.ctl("discover", "beta").splitlines()], ["PROVIDER", "beta"])
        self.assertEqual(sorted(line.split()[0] for line in self.ctl("discover").splitlines()[1:]), ["alpha", "beta", "gamma"])
        wait_until(lambda: sorted(self.members()[1]) == ["alpha", "beta", "gamma"], "the group has all three")
        group, _ = self.members()
        self.assertTrue(group["auto_created"])
        self.assertIn("hotel/ok", self.ctl("groups"))
        wait_until(lambda: self.ctl("providers").count("Healthy") == 3, "all three are healthy")

        # The order is the operator's; so are the options.
        models = {entry["provider_name"]: entry["model_uuid"] for entry in group["entries"]}
        self.api("PUT", "/api/failover-groups/" + group["id"], {"priority_order": [models[name] for name in ("alpha", "gamma", "beta")]})
        self.assertEqual(self.members()[1], ["alpha", "gamma", "beta"])
        self.ctl("settings", "set", "circuit_breaker_threshold=2", "circuit_breaker_cooldown=10m")

        # A key for a program, and traffic.
        key = self.api("POST", "/api/virtual-keys", {"name": "app"}, 201)["key"]
        for _ in range(3):
            got = self.ask(key)
            self.assertEqual((got.status, got.headers["x-hotel-provider"]), (200, "alpha"))

        # Noon: alpha breaks; nobody notices but who watches.
        alpha.broken = True
        for _ in range(2):
            got = self.ask(key)
            self.assertEqual((got.status, got.headers["x-hotel-provider"], got.headers["x-hotel-attempts"]), (200, "gamma", "2"))
        wait_until(lambda: listener.of("circuit_breaker.open"), "the opening is told")
        (opened,) = listener.of("circuit_breaker.open")
        self.assertEqual((opened["metadata"]["provider"], opened["metadata"]["model"], opened["metadata"]["cause"]), ("alpha", "vendor/ok", "upstream status 503"))
        self.assertEqual((self.ask(key).headers["x-hotel-attempts"]), "1")
        self.assertIn("Circuit Open", self.ctl("providers"))
        wait_until(lambda: self.api("GET", "/api/logs")["total"] == 6, "the rows are written")
        trail = self.ctl("logs", got.headers["x-hotel-request-id"]).splitlines()
        self.assertEqual([line.split()[:4] for line in trail[2:]], [["0", "alpha", "vendor/ok", "503"], ["1", "gamma", "ok", "200"]])

        # Alpha is repaired, and the operator knows it before the circuit does.
        alpha.broken = False
        self.assertEqual(self.ctl("reset", "--provider", "alpha"), "reset; it was open\n")
        self.assertEqual(self.ask(key).headers["x-hotel-provider"], "alpha")

        # Afternoon: the program gets a cap, uses it up and is told so.
        (row,) = self.api("GET", "/api/virtual-keys")
        self.api("PUT", "/api/virtual-keys/" + row["id"], {"rate_limit_tpm": 1})
        statuses = [self.ask(key).status for _ in range(3)]
        self.assertEqual(statuses[-1], 429)
        refused = self.ask(key)
        self.assertEqual((refused.status, "retry-after" in refused.headers), (429, True))
        self.assertIn("app", self.ctl("keys"))
        count = statuses.count(429) + 1
        wait_until(lambda: self.api("GET", "/api/logs?status_code=429")["total"] == count, "the refusals are logged")
        rows = self.api("GET", "/api/logs")["total"]
        stats = self.api("GET", "/api/stats")["requests"]
        self.assertGreaterEqual(stats, 7)

        # Evening: a backup while it runs, and everything is found again elsewhere.
        file = os.path.join(self.gate.dir, "evening.db")
        offline = subprocess.run([CTL, "backup", "--data-dir", self.gate.data_dir, file], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(offline.returncode, 0, offline.stderr)
        elsewhere = os.path.join(self.gate.dir, "elsewhere")
        offline = subprocess.run([CTL, "restore", "--data-dir", elsewhere, file], capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(offline.returncode, 0, offline.stderr)
        self.assertEqual(self.gate.stop(), 0)
        second = self.hoteld(config({}, keys=False), data_dir=elsewhere, env=dict(ENV))
        found = {row["name"]: row for row in self.api("GET", "/api/providers", gate=second)}
        self.assertEqual(sorted(found), ["alpha", "beta", "gamma"])
        self.assertEqual({row["key_state"] for row in found.values()}, {"ready"})
        self.assertEqual(self.members(second)[1], ["alpha", "gamma", "beta"])
        self.assertEqual(self.api("GET", "/api/settings", gate=second)["circuit_breaker_threshold"], "2")
        self.assertEqual(self.api("GET", "/api/logs", gate=second)["total"], rows)
        self.assertEqual(self.api("GET", "/api/stats", gate=second)["requests"], stats)
        self.assertEqual(self.ctl("logs", got.headers["x-hotel-request-id"], gate=second).splitlines(), trail)
        (row,) = self.api("GET", "/api/virtual-keys", gate=second)
        self.assertEqual((row["name"], row["rate_limit_tpm"]), ("app", 1))
        self.api("PUT", "/api/virtual-keys/" + row["id"], {"rate_limit_tpm": None}, gate=second)
        served = self.ask(key, gate=second)
        self.assertEqual((served.status, served.headers["x-hotel-provider"]), (200, "alpha"))


if __name__ == "__main__":
    unittest.main()
