"""What is measured: hoteld, nginx as a plain proxy, the Node gateway, and the upstream itself.

Each is started on a port of its own in front of hotel-sim and stopped again. Standard library only.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEY = "vk-bench-0123456789abcdef"
ADMIN_TOKEN = "admin-token-of-the-bench"


def raise_file_limit():
    """Thousands of connections need descriptors on both sides of every process started here."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


class Program:
    """A process that serves HTTP. Its output is kept in its work folder."""

    path = "/v1/chat/completions"
    headers = ()
    warm_seconds = 0

    def __init__(self, name):
        self.name = name
        self.process = None
        self.work = None
        self.port = None

    def command(self):
        raise NotImplementedError

    def environment(self):
        return None

    def start(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="hotel-bench-"))
        self.port = free_port()
        with open(self.work / "output", "wb") as output:
            self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=subprocess.STDOUT, cwd=self.work,
                                            env=self.environment())
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    output = (self.work / "output").read_text(errors="replace")
                    self.stop()
                    raise RuntimeError(f"{self.name} did not start:\n{output}") from None
                time.sleep(0.02)

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        shutil.rmtree(self.work, ignore_errors=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{self.path}"

    def pids(self):
        """The processes whose CPU time and memory count."""
        return [self.process.pid]

    def model(self, behaviour):
        """The name a client asks for to get this behaviour of hotel-sim."""
        return behaviour

    def version(self):
        raise NotImplementedError


class Sim(Program):
    def __init__(self, binary):
        super().__init__("hotel-sim")
        self.binary = binary

    def command(self):
        return [self.binary, "--listen", f"127.0.0.1:{self.port}"]

    def version(self):
        return "hotel-sim"


class Direct:
    """The upstream without anything before it."""

    name = "direct"
    headers = ()
    warm_seconds = 0

    def __init__(self, sim):
        self.sim = sim

    def start(self):
        return self

    def stop(self):
        pass

    @property
    def url(self):
        return self.sim.url

    def pids(self):
        return self.sim.pids()

    def model(self, behaviour):
        return behaviour


class Hoteld(Program):
    """Two candidates a group; the first one serves."""

    def __init__(self, binary, sim, behaviours, key=False, name="hoteld", extra=(), second=None,
                 stored=False, limited=False):
        super().__init__(name)
        self.stored = stored    # rows of requests in the database
        self.limited = limited  # a key with limits, and models whose prices are known
        key = key or limited
        self.binary = binary
        self.sim = sim
        self.groups = {behaviour: f"b{i}" for i, behaviour in enumerate(behaviours)}
        self.key = key
        self.extra = extra    # further lines of the configuration
        self.second = second  # what the second candidate does; None = as the first
        if key:
            self.headers = (f"Authorization: Bearer {KEY}",)

    def command(self):
        models = ", ".join([*self.groups, self.second] if self.second else self.groups)
        # As nginx without its access log.
        lines = ["server:", "  log_requests: false", f"  store_requests: {str(self.stored).lower()}",
                 f"  require_virtual_key: {str(self.key).lower()}",
                 "  allow_http_providers: true", "  allowed_provider_hosts: [127.0.0.1]", *self.extra, "providers:"]
        for provider in ("first", "second"):
            lines.append(f"  {provider}: {{type: openai, api_key: \"\", models: [{models}], "
                         f"base_url: \"http://127.0.0.1:{self.sim.port}/{provider}/v1\"}}")
        lines.append("failover_groups:")
        for behaviour, group in self.groups.items():
            lines.append(f"  {group}: [first/{behaviour}, second/{self.second or behaviour}]")
        if self.key:
            # Requests a second are left out: the highest limit of one key is below what is measured.
            limits = ", rate_limit_tpm: 100000000, budget_usd: 100000" if self.limited else ""
            lines.append(f"virtual_keys: [{{name: bench, key: {KEY}{limits}}}]")
        (self.work / "hotel.yaml").write_text("\n".join(lines) + "\n")
        return [self.binary, "--config", "hotel.yaml", "--data-dir", "data",
                "--listen", f"127.0.0.1:{self.port}"]

    def environment(self):
        return {**os.environ, "ADMIN_TOKEN": ADMIN_TOKEN}

    def start(self):
        super().start()
        if self.limited:
            self.wait_ready()
            for model in self.api("GET", "/api/models"):
                self.api("PATCH", f"/api/models/{model['id']}",
                         {"input_price_per_million": 1, "output_price_per_million": 4})
        return self

    def wait_ready(self):
        """The port is open before the stored configuration is."""
        end = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/ready", timeout=20):
                    return
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def api(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {ADMIN_TOKEN}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.load(reply)

    def model(self, behaviour):
        return "hotel/" + self.groups[behaviour]

    def version(self):
        return output_of([self.binary, "--version"])


class Nginx(Program):
    """One worker that passes everything on as it comes."""

    def __init__(self, sim):
        super().__init__("nginx")
        self.sim = sim

    @staticmethod
    def binary():
        return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

    def command(self):
        user = "user root;" if os.geteuid() == 0 else ""
        (self.work / "nginx.conf").write_text(f"""
{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile {resource.getrlimit(resource.RLIMIT_NOFILE)[0]};
pid {self.work}/nginx.pid;
error_log {self.work}/error.log crit;
events {{ worker_connections 18000; }}
http {{
  access_log off;
  client_body_temp_path {self.work}/client;
  proxy_temp_path {self.work}/proxy;
  fastcgi_temp_path {self.work}/fastcgi;
  uwsgi_temp_path {self.work}/uwsgi;
  scgi_temp_path {self.work}/scgi;
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  upstream sim {{
    server 127.0.0.1:{self.sim.port};
    keepalive 512;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{self.port} backlog=4096;
    location / {{
      proxy_pass http://sim;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }}
  }}
}}
""")
        return [self.binary(), "-p", str(self.work), "-c", str(self.work / "nginx.conf"),
                "-e", str(self.work / "error.log")]

    def pids(self):
        master = self.process.pid
        children = pathlib.Path(f"/proc/{master}/task/{master}/children").read_text()
        return [int(pid) for pid in children.split()]

    def version(self):
        return re.sub(r"^nginx version: ", "", output_of([self.binary(), "-v"]))


class Portkey(Program):
    """The most used gateway on Node, as its npm package starts it."""

    warm_seconds = 4  # its code is compiled while it runs

    def __init__(self, folder, sim):
        super().__init__("portkey")
        self.package = pathlib.Path(folder) / "node_modules/@portkey-ai/gateway"
        self.sim = sim

    def command(self):
        # The upstream's address goes with every request.
        self.headers = ("x-portkey-provider: openai", "Authorization: Bearer sk-none",
                        f"x-portkey-custom-host: http://127.0.0.1:{self.sim.port}/v1")
        return ["node", str(self.package / "build/start-server.js"), f"--port={self.port}", "--headless"]

    def environment(self):
        return {**os.environ, "NODE_ENV": "production",
                "TRUSTED_CUSTOM_HOSTS": "localhost,127.0.0.1"}

    def version(self):
        found = re.search(r'"version": "([^"]+)"', (self.package / "package.json").read_text())
        return f"@portkey-ai/gateway {found.group(1)} on Node {output_of(['node', '--version'])}"
