"""Start, --check, refusals to start, and stop."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from harness import (
    DEADLINE,
    DONE,
    HOTELD,
    TestCase,
    begin_stream,
    best_of,
    chat,
    config,
    end_stream,
    endless,
    event,
    send_chunk,
    spare_port,
    wait_until,
)

ASK = {"model": "hotel/demo", "stream": True, "messages": []}
BODY = json.dumps(ASK).encode()


def run(*args, env=None):
    return subprocess.run([HOTELD] + list(args), capture_output=True, timeout=DEADLINE, env=env)


class Check(TestCase):
    def file(self, text):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "hotel.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_three_mistakes_are_three_lines_and_exit_2(self):
        path = self.file(
            "server:\n"
            "  drain_timout: 10s\n"
            "timeouts: {request_timeout: fast}\n"
            "providers:\n"
            "  acme: {type: openai, base_url: 'https://api.acme.example/v1', api_key: k}\n"
            "failover_groups:\n"
            "  demo: [acme/a, other/b]\n"
        )
        result = run("--check", "--config", path)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stdout, b"")
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 3, lines)
        pattern = re.compile("^" + re.escape(path) + r":(\d+): ([^ :]+): (.+)$")
        found = [pattern.match(line) for line in lines]
        self.assertTrue(all(found), lines)
        self.assertEqual([int(m.group(1)) for m in found], [2, 3, 7])
        self.assertEqual(found[0].group(2), "server.drain_timout")
        self.assertEqual(found[1].group(2), "timeouts.request_timeout")
        self.assertTrue(found[2].group(2).startswith("failover_groups.demo"), lines)
        self.assertIn("other", found[2].group(3))

    def test_the_same_mistakes_fail_the_start(self):
        path = self.file("serverr: {}\n")
        result = run("--config", path)
        self.assertEqual(result.returncode, 2)
        self.assertTrue(result.stderr.decode().startswith(path + ":1: serverr: "), result.stderr)

    def test_a_good_file_is_0_and_silent_and_starts_nothing(self):
        path = self.file(config({"p1": "http://127.0.0.1:1/v1"}, {"demo": ["p1/a"]}))
        data = os.path.join(os.path.dirname(path), "data")
        result = run("--check", "--config", path, "--data-dir", data)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        self.assertFalse(os.path.exists(data))

    def test_a_file_that_no_client_can_use_is_0_and_warned_of(self):
        path = self.file(config({"p1": "http://127.0.0.1:1/v1"}, {"demo": ["p1/a"]}, keys=False))
        result = run("--check", "--config", path)
        self.assertEqual((result.returncode, result.stdout), (0, b""))
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(path + ":0: virtual_keys: no virtual_keys are configured"), lines)
        self.assertTrue(lines[0].endswith(" (warning)"), lines)
        path = self.file(config({}, server="require_virtual_key: false", keys=False))
        result = run("--check", "--config", path)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_provider_at_a_forbidden_address_is_2(self):
        text = config({"p1": "http://127.0.0.1:1/v1"}).replace('["127.0.0.1"]', "[]")
        path = self.file(text)
        for args in (["--check"], []):
            result = run("--config", path, "--listen", "127.0.0.1:0", *args)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr.decode(), re.escape(path) + r":\d+: providers\.p1\.base_url: .+\n$")

    def test_a_forbidden_address_is_reported_at_its_line_with_the_other_mistakes(self):
        path = self.file(
            "server: {listn: x}\n"
            "providers:\n"
            "  meta:\n"
            "    type: openai\n"
            "    base_url: https://169.254.169.254/v1\n"
            "    proxy: http://user:hunter2@10.0.0.1:3128\n"
            "  local:\n"
            "    type: openai\n"
            "    base_url: http://model/v1\n"
            "    unix_socket: /run/model.sock\n"
            "    ca_file: /nonexistent/roots.pem\n"
        )
        result = run("--check", "--config", path)
        self.assertEqual(result.returncode, 2)
        lines = result.stderr.decode().splitlines()
        found = [re.match("^" + re.escape(path) + r":(\d+): ([^ :]+): .", line) for line in lines]
        self.assertTrue(all(found), lines)
        self.assertEqual(
            [(int(m.group(1)), m.group(2)) for m in found],
            [
                (1, "server.listn"),
                (5, "providers.meta.base_url"),
                (6, "providers.meta.proxy"),
                (10, "providers.local.unix_socket"),
                (11, "providers.local.ca_file"),
            ],
        )
        self.assertNotIn(b"hunter2", result.stderr)

    def test_a_missing_file_is_2(self):
        result = run("--check", "--config", "/nonexistent/hotel.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"/nonexistent/hotel.yaml", result.stderr)

    def test_usage_mistakes_are_2(self):
        for args in (["--check"], ["--bogus"], ["--listen"], ["--listen", "nonsense:port"]):
            self.assertEqual(run(*args).returncode, 2, args)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout.decode(), r"^hoteld \d+\.\d+\.\d+\n$")

    def test_no_keys_needed_is_refused_beyond_loopback(self):
        path = self.file(config({}, server="require_virtual_key: false", keys=False))
        result = run("--check", "--config", path, "--listen", "0.0.0.0:0")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"require_virtual_key", result.stderr)


class Start(TestCase):
    def test_one_line_on_stdout_and_the_drain_timeout_in_the_log(self):
        hoteld, _ = self.group(chat(), server="drain_timeout: 7s")
        self.assertEqual(hoteld.chat(ASK).status, 200)
        self.assertEqual(hoteld.stop(), 0)
        self.assertEqual(hoteld.stdout.count(b"\n"), 1)
        self.assertRegex(hoteld.stdout, rb"^hoteld listening on http://127\.0\.0\.1:\d+\n$")
        self.assertRegex(hoteld.stderr(), r"7s .*drain_timeout")

    def test_an_ipv6_address_stands_in_brackets(self):
        hoteld = self.hoteld(config({}), args=["--listen", "[::1]:0"])
        self.assertRegex(hoteld.stdout, rb"^hoteld listening on http://\[::1\]:\d+\n$")
        self.assertEqual(hoteld.request("GET", "/health").status, 200)

    def test_a_port_in_use_is_a_clear_error(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            hoteld = self.hoteld(config({}), args=["--listen", "127.0.0.1:%d" % port], wait=False)
            self.assertEqual(hoteld.wait(), 1)
            self.assertIn("cannot listen on 127.0.0.1:%d" % port, hoteld.stderr())
            self.assertIn("ddress already in use", hoteld.stderr())
            self.assertEqual(hoteld.stdout, b"")

    def test_two_sidecars_do_not_share_a_port(self):
        first = self.hoteld(config({}))
        second = self.hoteld(config({}), args=["--listen", "127.0.0.1:%d" % first.address[1]], wait=False)
        self.assertEqual(second.wait(), 1)

    def test_two_sidecars_do_not_share_a_data_directory(self):
        first = self.hoteld(config({}))
        second = self.hoteld(config({}), data_dir=first.data_dir, wait=False)
        self.assertEqual(second.wait(), 1)
        self.assertIn(first.data_dir + " is in use", second.stderr())
        self.assertEqual(first.request("GET", "/health").status, 200)

    def test_no_virtual_keys_are_warned_of(self):
        hoteld = self.hoteld(config({}, keys=False))
        wait_until(lambda: "virtual_keys" in hoteld.stderr(), "it is told")
        self.assertIn("level=warn", hoteld.stderr())
        self.assertEqual(hoteld.request("GET", "/v1/models").status, 401)

    def test_without_MASTER_KEY_a_key_file_is_made_once_and_kept(self):
        upstream = self.upstream(chat())
        text = config({"p1": upstream}, {"demo": ["p1/a"]})
        first = self.hoteld(text)
        path = os.path.join(first.data_dir, "master-key")
        wait_until(lambda: "MASTER_KEY is not set" in first.stderr(), "it is told")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, "rb") as file:
            key = file.read()
        self.assertRegex(key, rb"^[0-9a-f]{64}\n$")
        self.assertNotIn(key.strip().decode(), first.stderr())
        self.assertEqual(first.stop(), 0)
        # The provider is only in the database now: its key must still open.
        second = self.hoteld(config({}), data_dir=first.data_dir)
        self.assertEqual(second.chat(ASK).status, 200)
        self.assertEqual(upstream.seen[0].header("Authorization"), "Bearer sk-p1-secret-0001")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), key)

    def test_with_MASTER_KEY_no_file_is_made(self):
        hoteld = self.hoteld(config({}), env={"MASTER_KEY": "0123456789abcdef0123456789abcdef"})
        self.assertFalse(os.path.exists(os.path.join(hoteld.data_dir, "master-key")))
        self.assertNotIn("MASTER_KEY", hoteld.stderr())

    def test_a_master_key_others_can_read_is_refused(self):
        first = self.hoteld(config({}))
        self.assertEqual(first.stop(), 0)
        os.chmod(os.path.join(first.data_dir, "master-key"), 0o644)
        second = self.hoteld(config({}), data_dir=first.data_dir, wait=False)
        self.assertEqual(second.wait(), 1)
        self.assertIn("0600", second.stderr())

    def test_the_log_can_be_json(self):
        hoteld = self.hoteld(config({"p1": self.upstream(chat())}, {"demo": ["p1/a"]}), env={"LOG_FORMAT": "json", "ADMIN_TOKEN": "t" * 32})
        self.assertEqual(hoteld.chat(ASK).status, 200)
        self.assertEqual(hoteld.stop(), 0)
        lines = [json.loads(line) for line in hoteld.stderr().splitlines()]
        self.assertGreater(len(lines), 3)
        for line in lines:
            self.assertLessEqual(set(line), {"time", "level", "source", "msg", "attrs"})
            self.assertLessEqual({"time", "level", "source", "msg"}, set(line))
        (request,) = [line for line in lines if line["source"] == "request"]
        attrs = request["attrs"]
        self.assertEqual((attrs["model"], attrs["provider"], attrs["status"], attrs["stream"]), ("hotel/demo", "p1", 200, ASK.get("stream", False)))


class Stop(TestCase):
    def gated(self, **options):
        """A provider that sends one event and waits for `gate` before the rest."""
        gate = threading.Event()
        self.addCleanup(gate.set)

        def script(conn, seen, number):
            begin_stream(conn)
            send_chunk(conn, event("first"))
            gate.wait(DEADLINE)
            send_chunk(conn, event("last") + event(finish="stop") + DONE)
            return end_stream(conn)

        return self.group(script, **options)[0], gate

    def test_a_running_answer_finishes_and_no_new_one_is_taken(self):
        hoteld, gate = self.gated()
        idle = hoteld.client()
        self.addCleanup(idle.sock.close)
        idle.send_request("GET", "/health")
        idle.read_answer()
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", BODY)
            self.assertEqual(client.read_head()[0], 200)
            first = client.read_chunk()
            hoteld.signal(signal.SIGTERM)
            wait_until(lambda: "stopping" in hoteld.stderr(), "the stop has begun")
            self.assertTrue(idle.is_closed(), "an idle connection is let go at once")
            wait_until(hoteld.refuses_connections, "new connections are refused")
            self.assertIsNone(hoteld.process.poll())
            gate.set()
            rest = first
            while True:
                chunk = client.read_chunk()
                if not chunk:
                    break
                rest += chunk
        self.assertIn(b"last", rest)
        self.assertTrue(rest.endswith(DONE))
        self.assertNotIn(b"error", rest)
        self.assertEqual(hoteld.wait(), 0)

    def test_with_a_drain_delay_readiness_goes_first_and_the_door_stays_open(self):
        hoteld, _ = self.group(chat(), server="drain_delay: 60s")
        hoteld.expected_exit = 128 + signal.SIGTERM
        kept = hoteld.client()
        self.addCleanup(kept.sock.close)
        kept.send_request("GET", "/health/ready")
        answer = kept.read_answer()
        self.assertEqual((answer.status, answer.headers.get("connection")), (200, None))
        hoteld.signal(signal.SIGTERM)
        wait_until(lambda: "server.drain_delay" in hoteld.stderr(), "the delay has begun")
        probe = hoteld.request("GET", "/health/ready")
        self.assertEqual((probe.status, probe.json()["components"]["router"]["status"]), (503, "stopping"))
        self.assertEqual(probe.headers["connection"], "close")
        self.assertEqual(hoteld.request("GET", "/health").status, 200)
        # What a balancer sends before it has heard is served, and told to come back by another way.
        for stream in (False, True):
            late = hoteld.chat(dict(ASK, stream=stream))
            self.assertEqual((late.status, late.headers["connection"]), (200, "close"))
        kept.send_request("POST", "/v1/chat/completions", BODY)
        answer = kept.read_answer()
        self.assertEqual((answer.status, answer.headers["connection"]), (200, "close"))
        self.assertTrue(kept.is_closed())
        self.assertIsNone(hoteld.process.poll())
        hoteld.signal(signal.SIGTERM)
        self.assertEqual(hoteld.wait(), hoteld.expected_exit)

    def test_behind_the_drain_delay_the_stop_goes_on_as_without_one(self):
        hoteld, gate = self.gated(server="drain_delay: 100ms")
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", BODY)
            self.assertEqual(client.read_head()[0], 200)
            rest = client.read_chunk()
            hoteld.signal(signal.SIGTERM)
            wait_until(hoteld.refuses_connections, "new connections are refused")
            gate.set()
            while True:
                chunk = client.read_chunk()
                if not chunk:
                    break
                rest += chunk
        self.assertTrue(rest.endswith(DONE))
        self.assertEqual(hoteld.wait(), 0)
        self.assertIn("accepted for another 100ms", hoteld.stderr())

    def test_F201_after_the_drain_timeout_a_stream_ends_with_an_error_event(self):
        hoteld, (upstream,) = self.group(endless(), server="drain_timeout: 200ms")
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", BODY)
            self.assertEqual(client.read_head()[0], 200)
            body = client.read_chunk()
            hoteld.signal(signal.SIGTERM)
            while True:
                chunk = client.read_chunk()  # the chunked end must come: not a bare cut
                if not chunk:
                    break
                body += chunk
        events = [e for e in body.split(b"\n\n") if e]
        errors = [e for e in events if b'"error"' in e]
        self.assertEqual(len(errors), 1)
        self.assertEqual(events[-1], errors[0])
        self.assertTrue(json.loads(errors[0][len(b"data: ") :])["error"]["code"])
        self.assertNotIn(b"[DONE]", body)
        self.assertEqual(hoteld.wait(), 0)
        self.assertTrue(upstream.seen[0].closed.wait(DEADLINE))

    def test_after_the_drain_timeout_an_answer_not_yet_begun_is_a_503(self):
        waiting = threading.Event()

        def silent(conn, seen, number):
            waiting.set()
            conn.recv(1)
            return False

        hoteld, _ = self.group(silent, server="drain_timeout: 100ms")
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", json.dumps(dict(ASK, stream=False)).encode())
            self.assertTrue(waiting.wait(DEADLINE))
            hoteld.signal(signal.SIGINT)
            answer = client.read_answer()
            self.assertEqual(answer.status, 503)
            self.assertTrue(answer.error["code"])
            self.assertTrue(answer.headers["x-hotel-request-id"])
        self.assertEqual(hoteld.wait(), 0)

    def test_a_second_signal_exits_at_once(self):
        hoteld, _ = self.group(endless(), server="drain_timeout: 60s")
        hoteld.expected_exit = 128 + signal.SIGTERM
        with hoteld.client() as client:
            client.send_request("POST", "/v1/chat/completions", BODY)
            self.assertEqual(client.read_head()[0], 200)
            hoteld.signal(signal.SIGTERM)
            wait_until(lambda: "stopping" in hoteld.stderr(), "the stop has begun")
            before = time.monotonic()
            hoteld.signal(signal.SIGTERM)
            self.assertEqual(hoteld.wait(), hoteld.expected_exit)
            self.assertLess(time.monotonic() - before, 30.0)  # of sixty

    def test_an_idle_sidecar_stops_quickly_and_can_be_started_again(self):
        def stopped():
            first = self.hoteld(config({}), args=["--listen", "127.0.0.1:%d" % spare_port()])
            before = time.monotonic()
            self.assertEqual(first.stop(), 0)
            took = time.monotonic() - before
            again = self.hoteld(
                config({}), data_dir=first.data_dir, args=["--listen", "127.0.0.1:%d" % first.address[1]]
            )
            self.assertEqual(again.request("GET", "/health").status, 200)
            return took

        self.assertLess(best_of(stopped, 2.0)[-1], 2.0)


if __name__ == "__main__":
    unittest.main()
