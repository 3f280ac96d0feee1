"""hotelctl events: what it shows, and that it outlives the sidecar it listens to."""

import os
import queue
import subprocess
import threading
import unittest

from harness import DEADLINE, TestCase, answer, chat, config, spare_port, status, wait_until

CTL = os.environ.get("HOTELCTL", "build/server/hotelctl")
TOKEN = "admin-token-for-tests"
ASK = {"model": "hotel/demo", "messages": [{"role": "user", "content": "hi"}]}
SETTINGS = "settings: {circuit_breaker_threshold: 1}"


class Listener:
    """A running `hotelctl events`."""

    def __init__(self, url, *args):
        self.process = subprocess.Popen([CTL, "events", "--url", url, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={"ADMIN_TOKEN": TOKEN})
        self.out = self._lines(self.process.stdout)
        self.err = self._lines(self.process.stderr)

    @staticmethod
    def _lines(stream):
        lines = queue.Queue()

        def read():
            for line in stream:
                lines.put(line.decode())
            lines.put(None)  # the end

        threading.Thread(target=read, daemon=True).start()
        return lines

    @staticmethod
    def line(lines, containing, timeout=DEADLINE):
        """The next line that holds the text; those before it are dropped."""
        while True:
            try:
                line = lines.get(timeout=timeout)
            except queue.Empty:
                raise AssertionError("no line came with " + containing) from None
            if line is None:
                raise AssertionError("the end came before " + containing)
            if containing in line:
                return line

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Events(TestCase):
    def listen(self, url, *args):
        listener = Listener(url, *args)
        self.addCleanup(listener.stop)
        return listener

    def start(self, text, port, **options):
        gate = self.hoteld(text, args=("--listen", "127.0.0.1:%d" % port), **options)
        return gate

    def open_circuit(self, gate):
        headers = {"Authorization": "Bearer " + TOKEN}
        self.assertEqual(gate.request("POST", "/api/failover-groups/circuit-breaker/reset", headers=headers).status, 200)
        self.assertEqual(gate.chat(ASK).status, 200)

    def one_line(self, gate, listener, kind="circuit_breaker.open"):
        """Makes events until one is shown: until then nobody knows whether it listens yet."""
        for _ in range(int(DEADLINE * 4)):
            self.open_circuit(gate)
            try:
                return listener.line(listener.out, kind, timeout=0.25)
            except AssertionError:
                self.assertIsNone(listener.process.poll())
        raise AssertionError("no event was ever shown")

    def test_events_are_shown_as_they_happen(self):
        gate, _ = self.group(status(503), chat(), extra=SETTINGS, env={"ADMIN_TOKEN": TOKEN})
        listener = self.listen("http://%s:%d" % gate.address)
        self.assertIn("upstream status 503", self.one_line(gate, listener))

    def test_a_restart_is_told_and_outlived(self):
        text = config({"p1": self.upstream(status(503)), "p2": self.upstream(chat())}, {"demo": ["p1/a", "p2/b"]}, extra=SETTINGS)
        port = spare_port()
        gate = self.start(text, port, env={"ADMIN_TOKEN": TOKEN})
        listener = self.listen("http://127.0.0.1:%d" % port)
        self.one_line(gate, listener)
        self.assertEqual(gate.stop(), 0)
        self.assertIn("trying again until it is back", listener.line(listener.err, "hotelctl: "))
        again = self.start(text, port, env={"ADMIN_TOKEN": TOKEN}, data_dir=gate.data_dir)
        # What happens before it is back is not lost either.
        self.assertEqual(again.chat(ASK).status, 200)
        self.assertEqual(listener.line(listener.err, "hotelctl: "), "hotelctl: listening again\n")
        self.assertIn("upstream status 503", listener.line(listener.out, "circuit_breaker.open"))

    def test_a_sidecar_that_does_not_know_the_token_any_more_ends_it(self):
        port = spare_port()
        text = config({"p1": self.upstream(status(503)), "p2": self.upstream(chat())}, {"demo": ["p1/a", "p2/b"]}, extra=SETTINGS)
        gate = self.start(text, port, env={"ADMIN_TOKEN": TOKEN})
        listener = self.listen("http://127.0.0.1:%d" % port)
        self.one_line(gate, listener)
        self.assertEqual(gate.stop(), 0)
        self.start(text, port, env={"ADMIN_TOKEN": "another-token"}, data_dir=gate.data_dir)
        listener.line(listener.err, "hotelctl: 401: ")
        self.assertEqual(listener.process.wait(DEADLINE), 1)

    def test_it_goes_on_behind_the_last_event_also_when_none_was_shown(self):
        asked = []

        def script(conn, seen, number):
            asked.append(seen.header("Last-Event-ID"))
            if number == 2:
                return answer(conn, 503, "the sidecar is starting; retry shortly")
            if number == 3:
                return answer(conn, 200, "data: {\"type\":\"x.y\",\"message\":\"back\"}\nid: r-9\n\n", content_type="text/event-stream")
            if number > 3:
                return answer(conn, 404, "gone")
            frames = ": connected\nid: r-7\n\n" if number == 0 else ": connected\nid: r-8\n\n: half a li"
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            conn.sendall(b"%x\r\n%s\r\n" % (len(frames), frames.encode()))
            return False  # cut

        listener = self.listen("http://127.0.0.1:%d" % self.upstream(script).port)
        self.assertIn("back", listener.line(listener.out, "x.y"))
        listener.line(listener.err, "hotelctl: 404: gone")
        self.assertEqual(listener.process.wait(DEADLINE), 1)
        self.assertEqual(asked, [None, "r-7", "r-8", "r-8", "r-9"])

    def test_who_stops_reading_ends_it(self):
        def script(conn, seen, number):
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            while not seen.closed.wait(0.01):
                conn.sendall(b"data: {\"type\":\"x\"}\n\n")

        upstream = self.upstream(script)
        process = subprocess.Popen([CTL, "events", "--url", "http://127.0.0.1:%d" % upstream.port], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env={"ADMIN_TOKEN": TOKEN})
        self.addCleanup(process.kill)
        self.assertIn(b"x", process.stdout.readline())
        process.stdout.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        wait_until(lambda: upstream.open == 0, "the connection is gone")


if __name__ == "__main__":
    unittest.main()
