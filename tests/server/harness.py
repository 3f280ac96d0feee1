"""What the black-box tests of hoteld share: scripted upstreams, a sidecar of one's own, raw clients.

Standard library only. The binary's path comes from the environment (HOTELD).
"""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

HOTELD = os.environ.get("HOTELD", "build/server/hoteld")
HOTEL_SIM = os.environ.get("HOTEL_SIM", "build/server/hotel-sim")
KEY = "vk-test-0123456789abcdef"
# How long is waited for what must happen. A loaded machine with a sanitizer takes its time; who waits in vain
# waits no longer than one test.
DEADLINE = 60.0
# Sanitizers keep freed memory and map shadows: bounds on memory are looser then.
SANITIZED = os.environ.get("HOTEL_SANITIZED") == "1"
LONG = os.environ.get("HOTEL_LONG_TESTS") == "1"
SEED = int(os.environ.get("HOTEL_SEED", "20260701"))
MIB = 1 << 20


def memory_bound(plain):
    """`plain` bytes in a plain build; what a sanitizer may add on top of it otherwise."""
    return plain * 3 + 512 * MIB if SANITIZED else plain


def wait_until(condition, what, timeout=DEADLINE):
    """Waits for a condition; fails loudly when it never comes."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("never happened: " + what)
        time.sleep(0.005)


def best_of(measure, bound, rounds=5):
    """The times that `measure()` gave, until one is below the bound: the machine may be busy with other things,
    but hardly in each of the rounds."""
    times = [measure()]
    while times[-1] >= bound and len(times) < rounds:
        times.append(measure())
    return times


def spare_port():
    """A port to listen on more than once: the system gives it to no connection and no other listener between."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first = int(file.read().split()[0])
    while True:
        port = random.SystemRandom().randrange(first // 2, first)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # somebody has it


class Seen:
    """One request as an upstream saw it."""

    def __init__(self, head, body):
        self.head = head
        self.body = body
        self.closed = threading.Event()  # the gateway closed the connection
        self.received_at = time.monotonic()

    def header(self, name):
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.lower().encode():
                return value.strip().decode()
        return None

    @property
    def raw(self):
        return self.head + b"\r\n\r\n" + self.body


class Upstream:
    """A provider on a raw socket. `script(conn, seen, number)` answers each request."""

    def __init__(self, script):
        self.script = script
        self.seen = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.open = 0  # connections
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return "http://127.0.0.1:%d/v1" % self.port

    def stop(self):
        self.stopped.set()
        self.listener.close()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray()
        with self.lock:
            self.open += 1
        try:
            with conn:
                while True:
                    seen = self._read(conn, buffer)
                    if seen is None:
                        return
                    with self.lock:
                        number = len(self.seen)
                        self.seen.append(seen)
                    if not self.script(conn, seen, number):
                        return
        except OSError:
            return
        finally:
            with self.lock:
                self.open -= 1

    @staticmethod
    def _read(conn, buffer):
        while b"\r\n\r\n" not in buffer:
            data = conn.recv(65536)
            if not data:
                return None
            buffer += data
        head, _, rest = bytes(buffer).partition(b"\r\n\r\n")
        buffer[:] = rest
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        while len(buffer) < length:
            data = conn.recv(1 << 20)
            if not data:
                return None
            buffer += data
        body = bytes(buffer[:length])
        del buffer[:length]
        return Seen(head, body)


# Scripts. True = the connection may serve another request.


def answer(conn, status, body, headers=(), content_type="application/json"):
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    lines = ["HTTP/1.1 %d X" % status, "Content-Type: " + content_type, "Content-Length: %d" % len(body)]
    lines += ["%s: %s" % pair for pair in headers]
    conn.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return True


def status(code, body=None, headers=()):
    text = body if body is not None else {"error": {"message": "scripted %d" % code}}
    return lambda conn, seen, number: answer(conn, code, text, headers)


def reset(conn, seen, number):
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def completion(text="hello"):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def event(text=None, finish=None):
    delta = {} if text is None else {"content": text}
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def wants_stream(seen):
    return json.loads(seen.body).get("stream") is True


def begin_stream(conn, headers=()):
    lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
    lines += ["%s: %s" % pair for pair in headers]
    conn.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")


def send_chunk(conn, data):
    conn.sendall(b"%x\r\n" % len(data) + data + b"\r\n")


def end_stream(conn):
    conn.sendall(b"0\r\n\r\n")
    return True


def chat(text="hello", headers=()):
    """A healthy provider."""

    def script(conn, seen, number):
        if not wants_stream(seen):
            return answer(conn, 200, completion(text), headers)
        begin_stream(conn, headers)
        for word in text.split(" "):
            send_chunk(conn, event(word))
        send_chunk(conn, event(finish="stop") + DONE)
        return end_stream(conn)

    return script


def endless(pause=0.02, size=0):
    """Streams until the gateway closes."""

    def script(conn, seen, number):
        begin_stream(conn)
        conn.settimeout(pause)
        try:
            while True:
                try:
                    if conn.recv(1) == b"":
                        break
                except socket.timeout:
                    pass
                conn.settimeout(None)
                send_chunk(conn, event("tick" + "x" * size))
                conn.settimeout(pause)
        except OSError:
            pass
        seen.closed_at = time.monotonic()
        seen.closed.set()
        return False

    return script


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # lower-case names, last value wins
        self.body = body

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json()["error"]


class Client:
    """A raw HTTP/1.1 connection."""

    def __init__(self, address, timeout=DEADLINE, receive_buffer=None):
        self.sock = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(timeout)
        self.buffer = b""
        try:
            self.sock.connect(address)
        except OSError:
            self.sock.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def send_request(self, method, path, body=b"", headers=None):
        fields = {"Host": "gateway", "Authorization": "Bearer " + KEY}
        if body or method == "POST":
            fields.update({"Content-Type": "application/json", "Content-Length": str(len(body))})
        fields.update(headers or {})
        lines = ["%s %s HTTP/1.1" % (method, path)]
        lines += ["%s: %s" % pair for pair in fields.items() if pair[1] is not None]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def _more(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def read_line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise AssertionError("connection closed inside a line: %r" % self.buffer[:200])
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def read_exactly(self, count):
        parts, self.buffer = [self.buffer[:count]], self.buffer[count:]
        missing = count - len(parts[0])
        while missing > 0:
            data = self.sock.recv(min(missing, MIB))
            if not data:
                raise AssertionError("connection closed inside a body")
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def read_head(self):
        line = self.read_line().split(b" ", 2)
        headers = {}
        while True:
            field = self.read_line()
            if not field:
                break
            name, _, value = field.partition(b":")
            headers[name.strip().lower().decode()] = value.strip().decode()
        return int(line[1]), headers

    def read_chunk(self):
        """One chunk of a chunked body; b"" is its end."""
        size = int(self.read_line(), 16)
        data = self.read_exactly(size)
        assert self.read_line() == b""
        return data

    def read_to_end(self):
        while self._more():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def read_answer(self, head_only=False):
        code, headers = self.read_head()
        if head_only or code in (204, 304):
            return Answer(code, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while True:
                chunk = self.read_chunk()
                if not chunk:
                    break
                parts.append(chunk)
            return Answer(code, headers, b"".join(parts))
        if "content-length" in headers:
            return Answer(code, headers, self.read_exactly(int(headers["content-length"])))
        return Answer(code, headers, self.read_to_end())

    def is_closed(self):
        """True when the server has closed (a clean end or a reset)."""
        try:
            return self.buffer == b"" and self.sock.recv(1) == b""
        except ConnectionError:
            return True


class Hoteld:
    """A running sidecar with a configuration of its own."""

    def __init__(self, config, args=(), env=None, data_dir=None, preexec=None, wait=True):
        self.dir = tempfile.mkdtemp(prefix="hoteld-test-")
        self.data_dir = data_dir or os.path.join(self.dir, "data")
        self.config = os.path.join(self.dir, "hotel.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(config)
        environment = {k: v for k, v in os.environ.items() if k not in ("MASTER_KEY", "LOG_FORMAT", "DEBUG_LOG")}
        # Upstreams here count what they are asked; tests of discovery switch it on.
        environment["DISCOVERY_ENABLED"] = "false"
        environment.update(env or {})
        command = [HOTELD, "--config", self.config, "--data-dir", self.data_dir]
        if "--listen" not in args:
            command += ["--listen", "127.0.0.1:0"]
        self.stderr_path = os.path.join(self.dir, "stderr")
        with open(self.stderr_path, "wb") as errors:
            self.process = subprocess.Popen(
                command + list(args), stdout=subprocess.PIPE, stderr=errors, env=environment, preexec_fn=preexec
            )
        self.stdout = b""
        self.expected_exit = 0
        if wait:
            self.wait_ready()

    def wait_ready(self):
        line = self.process.stdout.readline()
        self.stdout += line
        prefix = b"hoteld listening on http://"
        if not line.startswith(prefix):
            raise AssertionError("hoteld did not start: %r\n%s" % (line, self.stderr()))
        host, _, port = line[len(prefix) :].strip().decode().rpartition(":")
        self.address = (host.strip("[]"), int(port))

    def stderr(self):
        with open(self.stderr_path, "rb") as file:
            return file.read().decode(errors="replace")

    def client(self, **options):
        return Client(self.address, **options)

    def refuses_connections(self):
        try:
            self.client().sock.close()
            return False
        except ConnectionRefusedError:
            return True

    def request(self, method, path, body=b"", headers=None):
        with self.client() as client:
            client.send_request(method, path, body, headers)
            return client.read_answer(head_only=method == "HEAD")

    def chat(self, body, headers=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return self.request("POST", "/v1/chat/completions", body, headers)

    def _memory(self, field):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no " + field)

    def rss(self):
        """Resident memory, in bytes."""
        return self._memory("VmRSS")

    def peak_rss(self):
        """The most it has been since reset_peak."""
        return self._memory("VmHWM")

    def reset_peak(self):
        with open("/proc/%d/clear_refs" % self.process.pid, "w", encoding="ascii") as file:
            file.write("5")

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def cpu_seconds(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=DEADLINE):
        code = self.process.wait(timeout)
        self.stdout += self.process.stdout.read()
        return code

    def stop(self):
        """Ends the sidecar; returns its exit status."""
        code = self.process.poll()
        if code is None:
            self.signal(signal.SIGTERM)
            try:
                code = self.wait()
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        self.process.stdout.close()
        return code

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Sim:
    """A running hotel-sim: an upstream for loads that are too much for threads of this process."""

    def __init__(self):
        self.process = subprocess.Popen(
            [HOTEL_SIM, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        line = self.process.stdout.readline()
        if b"listening on http://" not in line:
            raise AssertionError("hotel-sim did not start: %r" % line)
        self.address = ("127.0.0.1", int(line.strip().rpartition(b":")[2]))
        self.url = "http://127.0.0.1:%d/v1" % self.address[1]

    def stats(self):
        with Client(self.address) as client:
            client.send(b"GET /stats HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")
            return client.read_answer().json()

    def open_connections(self):
        """Without the one that asks."""
        return self.stats()["open_connections"] - 1

    def stop(self):
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


def config(providers, groups=None, extra="", server="", keys=True, types=None):
    """YAML for `providers` (name -> Upstream or url) and `groups` (name -> members)."""
    types = types or {}
    lines = [
        "server:",
        "  allow_http_providers: true",
        '  allowed_provider_hosts: ["127.0.0.1"]',
    ]
    lines += ["  " + line for line in server.splitlines()]
    lines += extra.splitlines()
    lines.append("providers:" if providers else "providers: {}")
    for name, upstream in providers.items():
        url = upstream if isinstance(upstream, str) else upstream.url
        lines += ["  %s:" % name, "    type: " + types.get(name, "openai"), "    base_url: " + url]
        lines += ["    api_key: sk-%s-secret-0001" % name]
    if groups:
        lines.append("failover_groups:")
        for name, members in groups.items():
            lines.append("  %s: [%s]" % (name, ", ".join(members)))
    if keys:
        lines += ["virtual_keys:", "  - {name: dev, key: %s}" % KEY]
    return "\n".join(lines) + "\n"


class TestCase(unittest.TestCase):
    """Starts upstreams and sidecars that end with the test."""

    def upstream(self, script):
        upstream = Upstream(script)
        self.addCleanup(upstream.stop)
        return upstream

    def sim(self):
        sim = Sim()
        self.addCleanup(sim.stop)
        return sim

    def hoteld(self, config_text, **options):
        hoteld = Hoteld(config_text, **options)
        self.addCleanup(hoteld.remove)

        def finish():
            code = hoteld.stop()
            # A sanitizer's finding shows in the exit status.
            if options.get("wait", True):
                self.assertEqual(code, hoteld.expected_exit, hoteld.stderr()[-4000:])

        self.addCleanup(finish)
        return hoteld

    def group(self, *scripts, name="demo", **options):
        """A sidecar with the group `hotel/demo` over providers p1, p2, ... that follow `scripts`."""
        upstreams = [self.upstream(script) for script in scripts]
        names = ["p%d" % (i + 1) for i in range(len(scripts))]
        text = config(
            dict(zip(names, upstreams)),
            {name: ["%s/model-%s" % (n, n) for n in names]},
            **{k: options.pop(k) for k in ("extra", "server", "types") if k in options}
        )
        return self.hoteld(text, **options), upstreams
