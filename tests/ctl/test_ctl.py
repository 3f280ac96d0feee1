"""hotelctl as a black box: what it reads, what it prints, when it complains."""

import json
import os
import pathlib
import subprocess
import unittest

CTL = os.environ["HOTELCTL"]
CORPUS = pathlib.Path(os.environ["HOTEL_ROOT"]) / "tests/corpus/refusals.jsonl"
LIMIT = 60  # seconds; only a broken program takes that long


def run(*args, text=""):
    return subprocess.run([CTL, *args], input=text, capture_output=True, text=True, timeout=LIMIT,
                          check=False)


def classify(*lines, args=()):
    """The answers to lines that are all well formed."""
    done = run("classify", *args, text="".join(json.dumps(line) + "\n" for line in lines))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def close(expected, actual):
    if expected is None or actual is None:
        return expected == actual
    return abs(expected - actual) <= max(1000, 0.02 * expected)


def complete(*words):
    """What bash offers in the place of the last word."""
    script = run("completion", "bash").stdout + """
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_hotelctl
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, timeout=LIMIT, check=True)
    return done.stdout.split()


class Completion(unittest.TestCase):
    def test_all_scripts_are_written_from_one_table(self):
        subprocess.run(["bash", "-n"], input=run("completion", "bash").stdout, text=True, timeout=LIMIT, check=True)
        words = complete("hotelctl", "settings", "")
        self.assertIn("reset", words)
        self.assertIn("--json", words)
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                done = run("completion", shell)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(" '%s'" % " ".join(words), done.stdout)
                self.assertEqual(done.stdout.count("'settings set'"), 1)

    def test_commands_are_completed(self):
        commands = [word for word in complete("hotelctl", "") if not word.startswith("-")]
        shown = run("--help").stdout.partition("Subcommands:")[2]
        self.assertEqual(commands, [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line[2] != " "])
        self.assertIn("circuits", commands)
        self.assertEqual(complete("hotelctl", "cir"), ["circuits"])
        self.assertEqual(complete("hotelctl", "settings", "se"), ["set"])

    def test_options_are_completed_behind_their_command(self):
        self.assertEqual(complete("hotelctl", "reset", "--pro"), ["--provider"])
        self.assertEqual(complete("hotelctl", "--json", "reset", "--gr"), ["--group"])
        self.assertEqual(complete("hotelctl", "logs", "--attempt-st"), ["--attempt-status"])
        self.assertEqual(complete("hotelctl", "circuits", "--attempt-st"), [])
        self.assertEqual(complete("hotelctl", "circuits", "--tok"), ["--token"])
        self.assertEqual(complete("hotelctl", "logs", "--model", "x", "--st"), ["--status"])

    def test_an_unknown_shell_is_refused(self):
        self.assertEqual(run("completion", "tcsh").returncode, 2)


class Arguments(unittest.TestCase):
    def test_help_and_version(self):
        self.assertEqual(run("--help").returncode, 0)
        self.assertIn("classify", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"\Ahotelctl \d+\.\d+\.\d+\n\Z")

    def test_mistakes_exit_with_2(self):
        for args in ([], ["nonsense"], ["classify", "--max-wait", "never"]):
            with self.subTest(args=args):
                self.assertEqual(run(*args).returncode, 2)


class Lines(unittest.TestCase):
    def test_the_exact_line(self):
        line = {"status": 429, "headers": {"retry-after": "20"}, "body": "", "now": "2026-09-01T10:00:00Z"}
        self.assertEqual(
            run("classify", text=json.dumps(line) + "\n").stdout,
            '{"class":"saturated","account_wide":false,"needs_payment":false,"wait_ms":20000,'
            '"phrase":"","hidden_status":null}\n')

    def test_only_status_is_required(self):
        self.assertEqual(classify({"status": 429})[0]["class"], "unknown")

    def test_a_bad_line_keeps_the_count(self):
        good = json.dumps({"status": 429})
        bad = ["{", "[]", "", '{"status":"429"}', '{"status":429,"body":1}', '{"status":1}',
               '{"status":429,"headers":[]}', '{"status":429,"headers":{"a":1}}',
               '{"status":429,"now":"soon"}', '{"status":429,"now":12}']
        done = run("classify", text="".join(f"{good}\n{line}\n" for line in bad))
        self.assertEqual(done.returncode, 1)
        out = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(out), 2 * len(bad))
        for number, answer in enumerate(out, 1):
            self.assertEqual(list(answer) == ["error"], number % 2 == 0, number)
        complaints = done.stderr.splitlines()
        self.assertEqual(len(complaints), len(bad))
        for place, complaint in enumerate(complaints, 1):
            self.assertIn(f"line {2 * place}:", complaint)

    def test_answers_come_line_by_line(self):
        with subprocess.Popen([CTL, "classify"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            for _ in range(3):
                process.stdin.write('{"status":429}\n')
                process.stdin.flush()
                self.assertIn('"class"', process.stdout.readline())
            process.stdin.close()
            self.assertEqual(process.wait(LIMIT), 0)

    def test_a_last_line_without_end_and_text_that_is_no_utf8(self):
        body = b'{"status":429,"body":"caf\xe9"}\n{"status":429}'
        done = subprocess.run([CTL, "classify"], input=body, capture_output=True, timeout=LIMIT,
                              check=False)
        self.assertEqual(len(done.stdout.splitlines()), 2)

    def test_the_date_header_is_the_time_of_a_recorded_answer(self):
        answer = classify({"status": 429, "headers": {
            "Date": "Sat, 25 Jul 2026 12:04:30 GMT", "Retry-After": "Sat, 25 Jul 2026 12:05:00 GMT"}})
        self.assertEqual(answer[0]["wait_ms"], 30000)

    def test_max_wait(self):
        line = {"status": 429, "headers": {"retry-after": "20"}}
        self.assertEqual(classify(line, args=["--max-wait", "10"])[0]["class"], "exhausted")


class Hidden(unittest.TestCase):
    def test_errors_under_200(self):
        for body, status in [
                ('{"error":{"code":429,"message":"x"}}', 429),
                ('{"error":"Unexpected endpoint or method"}', 502),
                ('[{"error":{"code":503,"message":"x"}}]', 503),
                ('{"id":"1","choices":null,"base_resp":{"status_code":1008,"status_msg":"x"}}', 429),
                ('{"base_resp":{"status_code":1004,"status_msg":"x"}}', 401),
                ('{"type":"error","error":{"type":"overloaded_error","message":"x"}}', 529),
                ('event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n', 529),
                (': waiting\n\ndata: {"error":{"code":502,"message":"x"},"choices":[]}\n\n', 502),
                ('data: {"type":"response.created","response":{"error":null}}\n\n'
                 'data: {"type":"response.failed","response":{"error":{"code":"server_error",'
                 '"message":"overloaded"}}}\n\n', 503),
                ('{"Response":{"Error":{"Code":"RequestLimitExceeded",'
                 '"Message":"more than 5 in a second"}}}', 429),
                ('{"code":401,"msg":"x","success":false}', 401),
                ('{"code":11202,"message":"QpsLimit","sid":"x"}', 429)]:
            with self.subTest(body=body):
                self.assertEqual(classify({"status": 200, "body": body})[0]["hidden_status"], status)

    def test_answers_hide_nothing(self):
        for body in ['{"id":"1","choices":[{"message":{"content":"{\\"error\\":{\\"code\\":429}}"}}]}',
                     '{"error":null,"choices":[]}', '{"object":"list","data":[]}', '{"code":"word"}',
                     '{"base_resp":{"status_code":0},"choices":[]}', '{"code":0,"msg":"ok"}', '[1,2]',
                     '{"status":"ok"}', "plain text", "",
                     'data: {"choices":[{"delta":{"content":"error"}}]}\n\ndata: [DONE]\n\n']:
            with self.subTest(body=body):
                answer = classify({"status": 200, "body": body})[0]
                self.assertIsNone(answer["hidden_status"])
                self.assertEqual(answer["class"], "unknown")

    def test_the_words_of_a_hidden_error_are_read(self):
        answer = classify({"status": 200, "body": '{"error":{"code":429,"message":"Insufficient balance"}}'})
        self.assertEqual((answer[0]["class"], answer[0]["needs_payment"]), ("exhausted", True))


class Corpus(unittest.TestCase):
    def test_every_labelled_refusal_is_read_as_labelled(self):
        rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
        keys = ("status", "headers", "body", "now")
        answers = classify(*[{key: row[key] for key in keys if key in row} for row in rows])
        self.assertGreater(len(rows), 300)
        self.assertEqual(len({row["id"] for row in rows}), len(rows))
        for row, answer in zip(rows, answers):
            expect = row["expect"]
            with self.subTest(id=row["id"]):
                self.assertEqual(answer["class"], expect["class"], answer)
                self.assertEqual(answer["account_wide"], expect["account_wide"], answer)
                self.assertEqual(answer["needs_payment"], expect["needs_payment"], answer)
                self.assertTrue(close(expect["wait_ms"], answer["wait_ms"]), answer)


if __name__ == "__main__":
    unittest.main()
