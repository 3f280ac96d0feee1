"""kill -9 under write load, a full disk, a stop during the start: what was acknowledged is there."""

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from harness import SANITIZED, SEED, Client, chat, config, wait_until
from test_api import ASK, TOKEN, ApiCase

ROUNDS = 10 if SANITIZED else 50
CUT = "the last run did not come to its end"
# A row waits 200 ms for others; the rest is what a loaded machine may add.
ROW_IS_WRITTEN = 5.0
LIMIT = 1 << 20  # of a file that may not grow


class Value:
    """Something that is written over and over."""

    def __init__(self, path, body):
        self.path, self.body = path, body
        self.acknowledged = self.tried = 0

    def write(self, call):
        self.tried += 1
        answer = call("PUT", self.path, self.body(self.tried))
        if answer.status == 200:
            self.acknowledged = self.tried
        return answer

    def check(self, test, found):
        test.assertTrue(self.acknowledged <= found <= self.tried, (self.path, self.acknowledged, found, self.tried))
        self.acknowledged = self.tried = found


class Load:
    """Threads that write until the sidecar is gone."""

    def __init__(self, address, steps, pause):
        self.address, self.pause = address, pause
        self.failed = []
        self.threads = [threading.Thread(target=self._run, args=(step,), daemon=True) for step in steps]
        for thread in self.threads:
            thread.start()

    def _run(self, step):
        try:
            with Client(self.address) as client:
                while True:
                    answer = step(lambda *asked: self._call(client, *asked))
                    if answer.status >= 300:
                        self.failed.append((answer.status, answer.body))
                    time.sleep(self.pause)
        except (OSError, AssertionError, ValueError):
            return  # cut off in the middle of a call

    @staticmethod
    def _call(client, method, path, body=None, token=TOKEN):
        data = json.dumps(body).encode() if body is not None else b""
        client.send_request(method, path, data, {"Authorization": "Bearer " + token} if token else None)
        return client.read_answer()

    def join(self):
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()


class Killed(ApiCase):
    def test_fifty_kills_under_write_load_lose_nothing_that_was_acknowledged(self):
        random.seed(SEED)
        directory = tempfile.mkdtemp(prefix="hoteld-kill-")
        self.addCleanup(shutil.rmtree, directory, True)
        data_dir = os.path.join(directory, "data")
        upstream = self.upstream(chat())
        text = config({"p1": upstream}, {"demo": ["p1/m", "p1/n"]})
        self.start(text, data_dir=data_dir)
        models = [model["id"] for model in self.ok("GET", "/api/models")]
        group = self.ok("POST", "/api/failover-groups", {"display_model": "g", "entry_ids": models}, 201)
        description = Value("/api/failover-groups/" + group["id"], lambda n: {"description": str(n)})
        setting = Value("/api/settings", lambda n: {"log_retention": "%dh" % n})
        default = self.ok("GET", "/api/settings")["log_retention"]
        providers, groups, rows = set(), set(), {}

        def add_provider(call):
            name = "p-%d" % random.getrandbits(60)
            # With a key: it is there in one piece or not at all.
            spec = {"name": name, "provider_type": "custom", "base_url": "https://%s.example/v1" % name}
            answer = call("POST", "/api/providers", dict(spec, api_key="sk-" + name))
            if answer.status == 201:
                providers.add(name)
            return answer

        def add_group(call):
            name = "g-%d" % random.getrandbits(60)
            answer = call("POST", "/api/failover-groups", {"display_model": name, "entry_ids": models})
            if answer.status == 201:
                groups.add(name)
            return answer

        def request(call):
            answer = call("POST", "/v1/chat/completions", ASK, None)
            if answer.status == 200:
                rows[answer.headers["x-hotel-request-id"]] = time.monotonic()
            return answer

        steps = [description.write, setting.write, add_provider, add_group, request, request]
        lost = 0
        for turn in range(ROUNDS):
            gate = self.gate
            # Now and then long enough for rows to be written behind the requests, and with a moment in
            # which they can be: four writers that never pause keep the database to themselves.
            is_long = turn % 10 == 9
            load = Load(gate.address, steps, 0.05 if is_long else 0)
            time.sleep(ROW_IS_WRITTEN + 0.3 if is_long else random.uniform(0.02, 0.2))
            gate.signal(signal.SIGKILL)
            killed = time.monotonic()
            gate.expected_exit = -signal.SIGKILL
            self.assertEqual(gate.wait(), -signal.SIGKILL)
            load.join()
            self.assertEqual(load.failed, [])

            self.start(text, data_dir=data_dir)
            self.assertEqual(self.gate.stderr().count(CUT), 1)
            found = {p["name"]: p for p in self.ok("GET", "/api/providers")}
            self.assertLessEqual(providers, set(found))
            self.assertEqual({p["key_state"] for p in found.values()}, {"ready"})
            listed = self.ok("GET", "/api/failover-groups")["groups"]
            self.assertLessEqual(groups, {g["display_model"] for g in listed})
            description.check(self, int(next(g for g in listed if g["id"] == group["id"])["description"] or 0))
            retention = self.ok("GET", "/api/settings")["log_retention"]
            setting.check(self, int(retention.rstrip("h")) if setting.acknowledged or retention != default else 0)
            # Rows are lost, if at all, of the last moments.
            for request_id, at in rows.items():
                if self.call("GET", "/api/logs/" + request_id).status == 404:
                    lost += 1
                    self.assertLess(killed - at, ROW_IS_WRITTEN)
            rows.clear()
        self.assertGreater(len(providers), ROUNDS)
        self.assertGreater(len(groups), ROUNDS)
        self.gate.stop()
        with sqlite3.connect(os.path.join(data_dir, "hotel.db")) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(database.execute("PRAGMA foreign_key_check").fetchall(), [])
        # It ended in order this time.
        self.start(text, data_dir=data_dir)
        self.assertNotIn(CUT, self.gate.stderr())

    def test_a_request_that_a_kill_cuts_has_a_row_that_says_so(self):
        release = threading.Event()
        self.addCleanup(release.set)

        def silent(conn, seen, number):
            release.wait(60)
            return False

        upstream = self.upstream(silent)
        text = config({"p1": upstream}, {"demo": ["p1/m"]})
        gate = self.start(text)

        def noted():
            with sqlite3.connect(os.path.join(gate.data_dir, "hotel.db"), timeout=5) as database:
                return [row[0] for row in database.execute("SELECT request_id FROM running_requests")]

        with gate.client() as client:
            client.send_request("POST", "/v1/chat/completions", json.dumps(ASK).encode())
            wait_until(noted, "it is noted as running")
            (request_id,) = noted()
            self.assertEqual(self.call("GET", "/api/logs/" + request_id).status, 404)
            gate.signal(signal.SIGKILL)
            gate.expected_exit = -signal.SIGKILL
            self.assertEqual(gate.wait(), -signal.SIGKILL)
        release.set()
        again = self.start(text, data_dir=gate.data_dir)
        row = self.ok("GET", "/api/logs/" + request_id)
        self.assertEqual((row["status_code"], row["error_message"]), (0, "request interrupted (stale)"))
        self.assertEqual(row["model_id"], "hotel/demo")
        wait_until(lambda: "requests=1" in again.stderr(), "the log tells")
        self.assertEqual(noted(), [])

    def test_a_stop_during_the_start_is_obeyed_at_once(self):
        gate = self.start()
        data_dir = gate.data_dir
        gate.stop()
        # Each of these keys has a salt of its own, so that each is derived: ten seconds and more.
        with sqlite3.connect(os.path.join(data_dir, "hotel.db")) as database:
            for i in range(100):
                database.execute(
                    "INSERT INTO providers (id, name, routing_name, provider_type, base_url, encrypted_key,"
                    " key_nonce, key_salt, created_at, updated_at) VALUES (?, ?, ?, 'custom',"
                    " 'https://a.example/v1', ?, ?, ?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')",
                    ("%08x-0000-4000-8000-000000000001" % i, "p%d" % i, "p%d" % i, b"\x01" + os.urandom(40),
                     os.urandom(12), os.urandom(16)),
                )
        slow = self.start(data_dir=data_dir, wait=False)
        wait_until(lambda: slow.cpu_seconds() > 0.5, "it is at work")
        slow.signal(signal.SIGTERM)
        begun = time.monotonic()
        self.assertEqual(slow.wait(), 0)
        self.assertLess(time.monotonic() - begun, 8)
        self.assertEqual(slow.stdout, b"")
        self.assertIn("stopped before the start was done", slow.stderr())

    def test_keys_of_forty_providers_are_derived_once(self):
        upstream = self.upstream(chat())
        text = config({"p%d" % i: upstream for i in range(40)})
        gate = self.start(text)
        data_dir = gate.data_dir
        gate.stop()
        again = self.start(text, data_dir=data_dir)
        self.assertEqual({p["key_state"] for p in self.ok("GET", "/api/providers")}, {"ready"})
        self.assertLess(again.cpu_seconds(), 20 if SANITIZED else 2.5)


class FullDisk(ApiCase):
    def fails_no_request(self, gate, free):
        """`gate` can write no more, and can again behind `free()`."""
        served = []
        refused = None

        def is_told():
            served.append(gate.chat(ASK))
            return "request_log.write_failed" in gate.stderr()

        wait_until(is_told, "that the log cannot be written is told")
        served += [gate.chat(ASK) for _ in range(50)]
        self.assertEqual({answer.status for answer in served}, {200})
        refused = self.call("PUT", "/api/settings", {"log_retention": "11h"})
        self.assertEqual(refused.status, 503, refused.body)
        self.assertEqual(gate.stderr().count("request_log.write_failed"), 1)
        self.assertRegex(self.call("GET", "/metrics").body, rb"hotel_log_rows_waiting [1-9]")
        free()
        total = len(served)
        wait_until(lambda: self.ok("GET", "/api/logs")["total"] == total, "every row is written")
        self.ok("PUT", "/api/settings", {"log_retention": "12h"})
        self.assertRegex(self.call("GET", "/metrics").body, rb"hotel_log_rows_lost_total 0")

    def test_F187_a_file_that_may_not_grow_fails_no_request_and_loses_no_row(self):
        def ignored():
            # Otherwise the first write beyond the limit ends the process.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        self.start_group(chat())
        text, data_dir = self.text(), self.gate.data_dir
        self.gate.stop()
        gate = self.start(text, data_dir=data_dir, preexec=ignored)
        # The limit holds for the log on stderr, too, which is to have room below it. So the journal is made
        # larger than that first, and who reads keeps it from beginning anew: all that is written lies beyond.
        path = os.path.join(data_dir, "hotel.db")
        reader, writer = (sqlite3.connect(path, isolation_level=None, timeout=60) for _ in range(2))
        self.addCleanup(reader.close)
        self.addCleanup(writer.close)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM settings").fetchone()
        writer.execute("CREATE TABLE filler (x)")
        writer.execute("INSERT INTO filler VALUES (zeroblob(?))", (2 * LIMIT,))
        writer.execute("DROP TABLE filler")
        self.assertGreater(os.path.getsize(path + "-wal"), LIMIT)
        hard = resource.prlimit(gate.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(gate.process.pid, resource.RLIMIT_FSIZE, (LIMIT, hard))

        def free():
            resource.prlimit(gate.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            reader.execute("COMMIT")

        self.fails_no_request(gate, free)

    def test_F187_a_full_disk_fails_no_request_and_loses_no_row(self):
        place = tempfile.mkdtemp(prefix="hoteld-full-")
        self.addCleanup(os.rmdir, place)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "hotel", place], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here; the test before does without")
        self.addCleanup(subprocess.run, ["umount", place], check=True)
        self.start_group(chat())
        text = self.text()
        gate = self.start(text, data_dir=os.path.join(place, "data"))
        filler = os.path.join(place, "filler")

        def fill():
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    return

        fill()
        self.fails_no_request(gate, lambda: os.remove(filler))
        gate.stop()

    def text(self):
        with open(self.gate.config, encoding="utf-8") as file:
            return file.read()


if __name__ == "__main__":
    unittest.main()
