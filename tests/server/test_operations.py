"""Backups, what may be read by whom, and what hotelctl shows of providers, models, sums and the log."""

import json
import os
import sqlite3
import stat
import subprocess
import threading
import unittest

from harness import DEADLINE, KEY, TestCase, chat, config, status, wait_until

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")
TOKEN = "admin-token-for-tests"
MASTER = "a master key of more than thirty-two characters"
ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}
ENV = {"ADMIN_TOKEN": TOKEN, "MASTER_KEY": MASTER}


class Operations(TestCase):
    def start(self, *scripts, **options):
        options.setdefault("env", dict(ENV))
        self.gate, self.upstreams = self.group(*scripts, **options)
        return self.gate

    def ctl(self, *args):
        return subprocess.run([CTL, *args], capture_output=True, text=True, timeout=DEADLINE, check=False,
                              env={**os.environ, "ADMIN_TOKEN": TOKEN})

    def shown(self, *args):
        done = self.ctl(*args, "--url", "http://%s:%d" % self.gate.address)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def path(self, name):
        return os.path.join(self.gate.dir, name)

    def call(self, method, path, body=None, gate=None):
        data = b"" if body is None else json.dumps(body).encode()
        return (gate or self.gate).request(method, path, data, {"Authorization": "Bearer " + TOKEN})


class Backups(Operations):
    def backup(self, name="backup.db", *args):
        done = self.ctl("backup", "--data-dir", self.gate.data_dir, *args, self.path(name))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return self.path(name), done.stdout

    def test_a_backup_of_a_running_sidecar_is_restored_elsewhere_and_served(self):
        self.start(chat("from the first"), extra="")
        self.assertEqual(self.call("POST", "/api/providers", {"name": "later", "base_url": self.upstreams[0].url,
                                                              "provider_type": "openai", "api_key": "sk-later-secret-0002",
                                                              "models": ["m"]}).status, 201)
        self.assertEqual(self.call("PUT", "/api/settings", {"ttft_timeout": "7s"}).status, 200)
        self.assertEqual(self.gate.chat(ASK).status, 200)
        wait_until(lambda: self.call("GET", "/api/logs").json()["total"] == 1, "the row is written")
        file, told = self.backup()
        for word in ("sealed", "master-key", "admin-token", "configuration file", "log of finished requests"):
            self.assertIn(word, told)
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)

        elsewhere = self.path("elsewhere")
        done = self.ctl("restore", "--data-dir", elsewhere, file)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(stat.S_IMODE(os.stat(elsewhere).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(elsewhere, "hotel.db")).st_mode), 0o600)
        second = self.hoteld(config({}), data_dir=elsewhere, env=dict(ENV))
        rows = {row["name"]: row for row in self.call("GET", "/api/providers", gate=second).json()}
        self.assertEqual(sorted(rows), ["later", "p1"])
        self.assertEqual(rows["later"]["key_state"], "ready")
        self.assertEqual(self.call("GET", "/api/logs", gate=second).json()["total"], 1)
        self.assertEqual(self.call("GET", "/api/settings", gate=second).json()["ttft_timeout"], "7s")
        answer = second.chat({**ASK, "model": "later/m"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(self.upstreams[0].seen[-1].header("Authorization"), "Bearer sk-later-secret-0002")

    def test_without_logs(self):
        self.start(chat())
        self.assertEqual(self.gate.chat(ASK).status, 200)
        wait_until(lambda: self.call("GET", "/api/logs").json()["total"] == 1, "the row is written")
        file, told = self.backup("small.db", "--without-logs")
        self.assertNotIn("log of finished requests", told)
        with sqlite3.connect(file) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM request_logs").fetchone(), (0,))
            self.assertEqual(database.execute("SELECT sum(requests) FROM request_minutes").fetchone(), (1,))

    def test_backups_under_load_are_whole(self):
        self.start(chat())
        stop = threading.Event()
        statuses = []

        def load():
            while not stop.is_set():
                statuses.append(self.gate.chat(ASK).status)

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for i in range(5):
                file, _ = self.backup("load%d.db" % i)
                with sqlite3.connect(file) as database:
                    self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(set(statuses), {200})

    def test_a_backup_overwrites_nothing(self):
        self.start(chat())
        file, _ = self.backup()
        done = self.ctl("backup", "--data-dir", self.gate.data_dir, file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("exists", done.stderr)
        done = self.ctl("backup", "--data-dir", self.path("nowhere"), self.path("x.db"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no database", done.stderr)

    def test_restoring_below_a_running_sidecar_is_refused(self):
        self.start(chat())
        file, _ = self.backup()
        before = os.stat(os.path.join(self.gate.data_dir, "hotel.db")).st_ino
        done = self.ctl("restore", "--data-dir", self.gate.data_dir, file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stop it first", done.stderr)
        self.assertEqual(os.stat(os.path.join(self.gate.data_dir, "hotel.db")).st_ino, before)
        self.assertEqual(self.gate.chat(ASK).status, 200)

    def test_the_replaced_database_is_kept_and_can_be_restored_again(self):
        self.start(chat())
        file, _ = self.backup()
        self.assertEqual(self.call("PUT", "/api/settings", {"ttft_timeout": "9s"}).status, 200)
        self.assertEqual(self.gate.stop(), 0)
        done = self.ctl("restore", "--data-dir", self.gate.data_dir, file)
        self.assertEqual(done.returncode, 0, done.stderr)
        (kept,) = [name for name in os.listdir(self.gate.data_dir) if "replaced" in name]
        self.assertIn(kept, done.stdout)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.gate.data_dir, kept)).st_mode), 0o600)
        setting = "SELECT count(*) FROM settings WHERE key LIKE '%ttft%'"
        with sqlite3.connect(os.path.join(self.gate.data_dir, "hotel.db")) as database:
            self.assertEqual(database.execute(setting).fetchone(), (0,))
        with sqlite3.connect(os.path.join(self.gate.data_dir, kept)) as database:
            self.assertEqual(database.execute(setting).fetchone(), (1,))

    def test_damaged_and_foreign_files_are_refused_before_anything_changes(self):
        self.start(chat())
        file, _ = self.backup()
        self.assertEqual(self.gate.stop(), 0)
        with open(file, "rb") as good:
            data = good.read()
        cut = self.path("cut.db")
        with open(cut, "wb") as out:
            out.write(data[: len(data) // 2])
        foreign = self.path("foreign.db")
        with sqlite3.connect(foreign) as database:
            database.execute("CREATE TABLE t (a)")
        later = self.path("later.db")
        with open(later, "wb") as out:
            out.write(data)
        with sqlite3.connect(later) as database:
            database.execute("PRAGMA user_version = 9999")
        before = sorted(os.listdir(self.gate.data_dir))
        for bad in (cut, foreign, later, self.path("none.db"), self.gate.config):
            with self.subTest(file=bad):
                done = self.ctl("restore", "--data-dir", self.gate.data_dir, bad)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done)
                self.assertEqual(sorted(os.listdir(self.gate.data_dir)), before)
        # Nor is a directory made for what cannot be restored.
        self.assertEqual(self.ctl("restore", "--data-dir", self.path("new"), cut).returncode, 1)
        self.assertFalse(os.path.exists(self.path("new")))


class Files(Operations):
    def test_nobody_else_may_read_what_is_kept(self):
        self.start(chat(), env={"ADMIN_TOKEN": ""})
        self.assertEqual(self.gate.chat(ASK).status, 200)
        self.assertEqual(stat.S_IMODE(os.stat(self.gate.data_dir).st_mode), 0o700)
        names = sorted(os.listdir(self.gate.data_dir))
        self.assertLessEqual({"hotel.db", "hotel.db-wal", "hotel.lock", "admin-token", "master-key"}, set(names))
        for name in names:
            mode = stat.S_IMODE(os.stat(os.path.join(self.gate.data_dir, name)).st_mode)
            self.assertEqual(mode, 0o600, name)

    def test_a_wide_umask_changes_nothing(self):
        self.start(chat(), env={"ADMIN_TOKEN": ""}, preexec=lambda: os.umask(0))
        for name in os.listdir(self.gate.data_dir):
            mode = stat.S_IMODE(os.stat(os.path.join(self.gate.data_dir, name)).st_mode)
            self.assertEqual(mode & 0o077, 0, name)


class Reads(Operations):
    def test_models(self):
        self.start(chat(), chat())
        lines = [line.split() for line in self.shown("models").splitlines()]
        self.assertEqual(lines[0], ["PROVIDER", "MODEL", "ENABLED", "ID"])
        self.assertEqual(sorted(line[:3] for line in lines[1:]), [["p1", "model-p1", "yes"], ["p2", "model-p2", "yes"]])
        lines = self.shown("models", "--provider", "p2").splitlines()
        self.assertEqual([line.split()[0] for line in lines[1:]], ["p2"])
        self.assertEqual(len(json.loads(self.shown("models", "--json"))), 2)

    def test_a_model_is_tried(self):
        self.start(status(401, {"error": {"message": "wrong key"}}), chat("OK"))
        lines = [line.split() for line in self.shown("models", "test", "p2/model-p2").splitlines()]
        self.assertEqual(lines[0], ["RESULT", "STATUS", "MS", "FIRST", "MS", "REQUEST", "ANSWER"])
        self.assertEqual((lines[1][:2], lines[1][-1]), (["works", "200"], "OK"))
        url = "http://%s:%d" % self.gate.address
        done = self.ctl("models", "test", "p1/model-p1", "--url", url)
        self.assertEqual((done.returncode, done.stderr), (1, "hotelctl: the model does not work\n"))
        self.assertIn("wrong key", done.stdout)
        for name, code, told in (
            ("p1/nothing", 1, "no model is known as p1/nothing"),
            ("nobody/m", 1, "no provider is named nobody"),
            ("model-p1", 2, "model-p1 is neither <provider>/<model> nor an id"),
        ):
            done = self.ctl("models", "test", name, "--url", url)
            self.assertEqual((done.returncode, done.stderr), (code, "hotelctl: %s\n" % told))

    def test_stats(self):
        self.start(status(503), chat())
        for _ in range(3):
            self.assertEqual(self.gate.chat(ASK).status, 200)
        wait_until(lambda: json.loads(self.shown("stats", "--json"))["requests"] == 3, "they are counted")
        rows = {line.split()[0]: line.split() for line in self.shown("stats", "--period", "1h").splitlines()}
        self.assertEqual(rows["p2"][1:4], ["3", "0", "0.0%"])
        self.assertEqual(rows["all"][1:4], ["3", "0", "0.0%"])
        self.assertEqual(self.ctl("stats", "--period", "1y").returncode, 2)

    def test_the_log(self):
        self.start(status(503), chat(), extra="settings: {circuit_breaker_threshold: 1}")
        self.assertEqual(self.gate.chat(ASK).status, 200)
        text = self.shown("log", "--source", "circuit-breaker", "--level", "warn")
        self.assertIn("circuit-breaker: model state=closed→open", text)
        self.assertIn("provider=p1", text)
        self.assertEqual(len(text.splitlines()), 1)
        self.assertEqual(len(json.loads(self.shown("log", "--limit", "2", "--json"))["entries"]), 2)


if __name__ == "__main__":
    unittest.main()
