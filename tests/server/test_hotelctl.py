"""hotelctl against a running sidecar: what it shows, what it changes, what it says when it cannot."""

import json
import os
import subprocess
import unittest

from harness import DEADLINE, TestCase, answer, chat, config, status, wait_until

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")
TOKEN = "admin-token-for-tests"
ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}


class Tool(TestCase):
    def start(self, *scripts, extra=""):
        self.gate, _ = self.group(*scripts, extra=extra, env={"ADMIN_TOKEN": TOKEN})
        self.url = "http://%s:%d" % self.gate.address
        return self.gate

    def command(self, *args, token=TOKEN, url=None):
        environment = {k: v for k, v in os.environ.items() if k != "ADMIN_TOKEN"}
        if token:
            environment["ADMIN_TOKEN"] = token
        return subprocess.run([CTL, *args, "--url", url or self.url], capture_output=True, text=True, env=environment,
                              timeout=DEADLINE, check=False)

    def shown(self, *args):
        done = self.command(*args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def read(self, *args):
        return json.loads(self.shown(*args, "--json"))

    def test_groups_circuits_and_reset(self):
        self.start(status(503), chat(), extra="settings: {circuit_breaker_threshold: 1}")
        lines = [line.split() for line in self.shown("groups").splitlines()]
        self.assertEqual(lines, [["GROUP", "STATE", "TOKENS", "MEMBERS"],
                                 ["hotel/demo", "on", "0", "p1/model-p1"],
                                 ["p2/model-p2"]])
        self.assertEqual(self.read("groups")["groups"][0]["display_model"], "demo")
        self.assertEqual(self.shown("circuits"), "providers: 2 closed, 0 half-open, 0 open\n")
        for which in (("--provider", "p1"), ("--provider", "p1", "--model", "model-p1"), ("--group", "hotel/demo"),
                      ("--group", "demo"), ("--all",)):
            with self.subTest(which=which):
                self.assertEqual(self.gate.chat(ASK).status, 200)
                wait_until(lambda: self.read("circuits")["open"] == 1, "the circuit is open")
                rows = [line.split() for line in self.shown("circuits").splitlines()[2:]]
                row = next(row for row in rows if row[0] == "p1")
                self.assertEqual(row[:5], ["p1", "model-p1", "open", "1", "cooldown"])
                self.assertEqual(" ".join(row[6:]), "upstream status 503")
                told = self.shown("reset", *which)
                if which[0] == "--provider":
                    self.assertEqual(told, "reset; it was open\n")
                    self.assertEqual(self.shown("reset", *which), "nothing to reset; it was closed\n")
                else:
                    self.assertIn("1 of them were not closed", told)
                self.assertEqual(self.read("circuits")["open"], 0)
        for which, told in (("--group", "no group is named nobody"), ("--provider", "no provider is named nobody")):
            done = self.command("reset", which, "nobody")
            self.assertEqual((done.returncode, done.stderr), (1, "hotelctl: %s\n" % told))

    def test_groups_show_members_as_clients_write_them(self):
        self.gate = self.hoteld(config({}, server=""), env={"ADMIN_TOKEN": TOKEN})
        self.url = "http://%s:%d" % self.gate.address
        for name in ("My Acme", "other"):
            spec = {"name": name, "provider_type": "openai", "api_key": "", "models": ["z/m"]}
            spec["base_url"] = "http://127.0.0.1:1/v1"
            self.assertEqual(self.api("POST", "/api/providers", spec).status, 201)
        models = {model["provider_name"]: model["id"] for model in self.api("GET", "/api/models").json()}
        group = {"display_model": "demo", "entry_ids": [models["My Acme"], models["other"]]}
        self.assertEqual(self.api("POST", "/api/failover-groups", group).status, 201)
        self.assertEqual(self.api("DELETE", "/api/models/" + models["other"]).status, 204)
        lines = [line.split() for line in self.shown("groups").splitlines()]
        # A model that is gone leaves its groups, and a group of one is switched off.
        self.assertEqual([line[-1] for line in lines], ["MEMBERS", "My-Acme/z/m"])
        self.assertEqual(lines[1][1:3], ["off", "(auto)"])
        for name in ("My Acme", "My-Acme"):
            self.assertEqual(self.shown("reset", "--provider", name), "nothing to reset; it was closed\n")
        self.assertIn("0 circuits forgotten", self.shown("reset", "--group", "hotel/DEMO"))

    def api(self, method, path, body=None):
        headers = {"Authorization": "Bearer " + TOKEN}
        return self.gate.request(method, path, b"" if body is None else json.dumps(body).encode(), headers)

    def test_logs(self):
        gate = self.start(status(503), chat())
        request = gate.chat(ASK).headers["x-hotel-request-id"]
        wait_until(lambda: self.read("logs")["total"] == 1, "the row is written")
        table = self.shown("logs").splitlines()
        self.assertEqual(table[1].split()[1:7], [request, "hotel/demo", "p2", "200", "2", "0"])
        self.assertEqual(table[2], "1 rows match")
        trail = [line.split() for line in self.shown("logs", request).splitlines()]
        self.assertEqual(trail[2][:4], ["0", "p1", "model-p1", "503"])
        self.assertEqual(trail[3][:4], ["1", "p2", "model-p2", "200"])
        self.assertEqual(self.read("logs", "--attempt-provider", "p1", "--attempt-status", "503")["total"], 1)
        self.assertEqual(self.read("logs", "--attempt-provider", "p2", "--attempt-status", "503")["total"], 0)
        self.assertEqual(self.read("logs", "--provider", "p2", "--status", "2xx", "--model", "hotel/demo")["total"], 1)
        done = self.command("logs", "nonsense")
        self.assertEqual((done.returncode, done.stderr), (1, "hotelctl: 404: log entry not found\n"))

    def test_what_was_skipped_is_no_attempt(self):
        gate = self.start(status(503), chat(), extra="settings: {circuit_breaker_threshold: 1}")
        gate.chat(ASK)
        request = gate.chat(ASK).headers["x-hotel-request-id"]
        wait_until(lambda: self.read("logs")["total"] == 2, "the rows are written")
        rows = {line.split()[1]: line.split() for line in self.shown("logs").splitlines()[1:3]}
        self.assertEqual(rows[request][5:7], ["1", "1"])
        trail = [line.split() for line in self.shown("logs", request).splitlines()]
        self.assertEqual([line[0] for line in trail[2:]], ["skipped", "0"])

    def test_settings(self):
        self.start(chat(), extra="settings: {ttft_timeout: 5s}")
        rows = {line.split()[0]: line.split()[1:] for line in self.shown("settings").splitlines()}
        self.assertEqual(rows["timeouts.ttft_timeout"][:2], ["5s", "file"])
        self.assertEqual(self.shown("settings", "set", "hedging.enabled=true", "log_retention=24h"), "")
        rows = {line.split()[0]: line.split()[1:] for line in self.shown("settings").splitlines()}
        self.assertEqual((rows["hedging.enabled"][:2], rows["log.retention"][0]), (["true", "runtime"], "24h"))
        self.assertEqual(self.shown("settings", "reset", "hedging.enabled"), "")
        rows = {row["name"]: row["value"] for row in self.read("settings")}
        self.assertEqual((rows["hedging.enabled"], rows["log.retention"]), ("false", "24h"))
        self.shown("settings", "reset", "--all")
        self.assertEqual({row["name"]: row["value"] for row in self.read("settings")}["log.retention"], "0s")
        done = self.command("settings", "set", "ttft_timeout=7s")
        self.assertEqual(done.returncode, 1)
        self.assertIn("hotelctl: 409: ttft_timeout: is pinned by " + self.gate.config, done.stderr)
        for args in (("settings", "reset"), ("settings", "set"), ("reset",), ("reset", "--all", "--provider", "p1"),
                     ("reset", "--group", "demo", "--model", "x"), ("settings", "set", "nonsense"),
                     ("keys", "create", "x", "--rps", "fast"), ("keys", "update", "dev"), ("logs", "--limit", "0")):
            done = self.command(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertNotEqual(done.stderr, "", args)

    def test_what_it_says_when_it_cannot(self):
        self.start(chat())
        done = self.command("groups", token="", url="http://127.0.0.1:1")  # nobody is there, and nobody is asked
        self.assertEqual((done.returncode, done.stderr), (2, "hotelctl: no admin token: set ADMIN_TOKEN or --token\n"))
        done = self.command("groups", token="wrong")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "hotelctl: 401: invalid admin token (see --token and ADMIN_TOKEN)\n")
        for command in ("groups", "events"):  # who was never there is not waited for
            done = self.command(command, url="http://127.0.0.1:1")
            self.assertEqual(done.returncode, 1)
            self.assertIn("hotelctl: cannot ask http://127.0.0.1:1: ", done.stderr)
        for url in ("ftp://127.0.0.1:1", "http://", "http://[::1", "http://127.0.0.1:99999"):
            done = self.command("groups", url=url)
            self.assertEqual((done.returncode, done.stderr), (2, "hotelctl: --url: %s is not http://HOST:PORT\n" % url))

    def test_bytes_that_are_no_text_are_a_mistake_on_the_command_line(self):
        self.start(chat())
        done = subprocess.run([CTL.encode(), b"settings", b"set", b"log_retention=\xff", b"--url", self.url.encode()],
                              capture_output=True, env={"ADMIN_TOKEN": TOKEN}, timeout=DEADLINE, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, b"hotelctl: what was given is not UTF-8\n"))


class Terminal(TestCase):
    """What a sidecar says, or whoever answers in its place, does not reach a terminal as it is."""

    # Colours and the title of the window, an override, an isolate, marks, a separator, C1, DEL, BOM.
    HOSTILE = ["\x1b]0;x\x07", "\x1b[2J", "\u202e", "\u2066", "\u200f", "\u200b", "\u2028", "\x9b", "\x7f", "\ufeff", "\r\n", "\U000e0041"]
    NAME = "a" + "b".join(HOSTILE) + "c"
    SHOWN = ("a" + "b".join(["\\x1b]0;x\\x07", "\\x1b[2J", "\\u202e", "\\u2066", "\\u200f", "\\u200b", "\\u2028", "\\u009b", "\\x7f", "\\ufeff",
                             "\\x0d\\x0a", "\\U000e0041"]) + "c")

    def ask(self, answers, *args):
        """Runs a command against somebody who gives `answers` by the beginning of the path."""

        def script(conn, seen, number):
            path = seen.head.split(b" ")[1].decode()
            body = next(body for start, body in answers.items() if path.startswith(start))
            return answer(conn, 200, body)

        url = "http://127.0.0.1:%d" % self.upstream(script).port
        done = subprocess.run([CTL, *args, "--url", url], capture_output=True, env={"ADMIN_TOKEN": TOKEN}, timeout=DEADLINE, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_names_are_escaped_wherever_they_stand(self):
        name = self.NAME
        entry = {"created_at": name, "id": name, "model_id": name, "provider_name": name, "status_code": name, "error_message": name,
                 "error_kind": name, "attempts": [{"provider": name, "model": name, "detail": name, "error_kind": name, "status": name}]}
        cases = {
            ("groups",): {"/": {"groups": [{"display_model": name, "total_tokens": name, "entries": [{"provider_name": name, "model_id": name}]}]}},
            ("circuits",): {"/": {"closed": name, "providers": [{"provider_name": name, "circuits": [
                {"model": name, "state": name, "last_cause": name, "quota_pinned": True, "pin_source": name, "next_retry_at": name}]}]}},
            ("reset", "--all"): {"/": {"cleared": name, "recovered": name}},
            ("reset", "--provider", "7b1f2c3d-0000-4000-8000-000000000001"): {"/": {"reset": True, "previous_state": name}},
            ("providers",): {"/": {"providers": [{"name": name, "type": name, "status_label": name, "status_reason": name, "last_error": name}]}},
            ("models",): {"/": [{"provider_name": name, "model_id": name, "id": name, "enabled": True}]},
            ("discover",): {"/": {"results": [{"provider_name": name, "success": True, "error": name}]}},
            ("stats",): {"/": {"providers": [{"provider_name": name, "requests": name}]}},
            ("logs",): {"/": {"entries": [dict(entry)], "total": name}},
            ("logs", "x"): {"/": entry},
            ("settings",): {"/": [{"name": name, "value": name, "source": name, "where": name}]},
            ("log",): {"/": {"entries": [{"timestamp": name, "level": name, "source": name, "message": name, "attributes": {name: name}}]}},
            ("keys",): {"/": [{"name": name, "key_preview": name, "enabled": True, "budget_usd": 1, "budget_period": name, "last_used_at": name}]},
            ("keys", "create", "x"): {"/": {"key": name}},
            ("keys", "show", "7b1f2c3d-0000-4000-8000-000000000001"): {"/": {"name": name, name: [name]}},
        }
        for args, answers in cases.items():
            with self.subTest(args=args):
                code, out, err = self.ask(answers, *args)
                self.assertEqual((code, err), (0, ""))
                self.assertIn(self.SHOWN, out)
                for hostile in self.HOSTILE:
                    self.assertNotIn(hostile, out)

    def test_the_words_of_a_refusal_are_escaped(self):
        url = "http://127.0.0.1:%d" % self.upstream(status(409, self.NAME)).port
        done = subprocess.run([CTL, "groups", "--url", url], capture_output=True, env={"ADMIN_TOKEN": TOKEN}, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 1)
        text = done.stderr.decode()
        for hostile in self.HOSTILE:
            self.assertNotIn(hostile, text)
        self.assertIn("\\x1b]0;x\\x07", text)

    def test_text_for_programs_stays_as_it_is(self):
        code, out, _ = self.ask({"/": [{"provider_name": self.NAME, "model_id": "ä", "enabled": True}]}, "models", "--json")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out)[0]["provider_name"], self.NAME)
        self.assertNotIn("\x1b", out)  # JSON has an escape for it

    def test_letters_of_all_languages_are_letters(self):
        name = "Zürich 東京 עברית 🙂"
        code, out, _ = self.ask({"/": [{"provider_name": name, "model_id": "m", "enabled": True}]}, "models")
        self.assertEqual(code, 0)
        self.assertIn(name, out)

    def test_an_answer_of_another_form_is_an_error_and_no_crash(self):
        for body in ([], {}, "text", 7, [1], {"groups": 7}, {"providers": {"a": 1}}):
            for args in (("groups",), ("circuits",), ("providers",), ("models",), ("stats",), ("settings",), ("keys",), ("logs", "x")):
                with self.subTest(body=body, args=args):
                    code, _, err = self.ask({"/": json.dumps(body)}, *args)
                    self.assertIn(code, (0, 1))
                    self.assertEqual(err == "", code == 0)


if __name__ == "__main__":
    unittest.main()
