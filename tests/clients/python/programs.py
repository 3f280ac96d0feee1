"""hotel-sim and hoteld as child processes of a test."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

KEY = "vk-client-0123456789abcdef"
LIMIT = 60  # seconds

CONFIG = """
server:
  require_virtual_key: true
  allow_http_providers: true
  allowed_provider_hosts: [127.0.0.1]
resilience: {circuit_breaker: {failure_threshold: 100}}
failover: {backoff: {initial: 1ms, max: 1ms}}
discovery: {enabled: false}
providers:
  first: {type: %(kind)s, base_url: "%(sim)s/first/v1", api_key: ""}
  second: {type: %(kind)s, base_url: "%(sim)s/second/v1", api_key: sk-second}
  foreign: {type: %(other)s, base_url: "%(sim)s/foreign/v1", api_key: ""}
failover_groups:
  refused: [first/status-503, second/want-key-sk-second]
  reset: [first/reset, second/want-key-sk-second]
  down: [first/status-503, second/status-500]
  busy: [second/busy+retry-after-1]
  tools: [first/status-503, second/tool-call]
  echo: [first/status-503, second/echo]
  slow: [first/status-503, second/frames-500-gap-20ms]
  cut: [first/status-503, second/cut-after-2]
  late: [first/status-503, second/error-frame-503-after-2]
  embed: [first/fail-first-1+status-500, second/fail-first-1+status-500]
  foreign: [foreign/ok]
virtual_keys:
  - {name: client, key: %(key)s}
"""


class Program:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if "listening on http://" not in line:
            raise AssertionError("%s did not start: %r" % (command[0], line))
        self.url = line.split()[-1]

    def stop(self):
        self.process.terminate()
        code = self.process.wait(LIMIT)
        self.process.stdout.close()
        return code


class HotelTestCase(unittest.TestCase):
    """One sidecar for the tests of a class; `kind` is the type of its two providers."""

    kind = "openai"
    other = "anthropic-messages"

    @classmethod
    def setUpClass(cls):
        cls.sim = Program(os.environ["HOTEL_SIM"], "--listen", "127.0.0.1:0")
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hotel-clients-"))
        config = cls.folder / "hotel.yaml"
        config.write_text(CONFIG % {"kind": cls.kind, "other": cls.other, "sim": cls.sim.url, "key": KEY})
        cls.hoteld = Program(os.environ["HOTELD"], "--config", str(config), "--listen", "127.0.0.1:0",
                             "--data-dir", str(cls.folder / "data"))

    @classmethod
    def tearDownClass(cls):
        code = cls.hoteld.stop()
        cls.sim.stop()
        shutil.rmtree(cls.folder)
        assert code == 0, code

    def stats(self):
        with urllib.request.urlopen(self.sim.url + "/stats", timeout=LIMIT) as answer:
            return json.load(answer)

    def reset_sim(self):
        urllib.request.urlopen(self.sim.url + "/reset", data=b"", timeout=LIMIT).close()

    def wait_until_cut(self, before):
        """The upstream of a stream that was left is closed; how soon is tested with the sidecar."""
        end = time.monotonic() + LIMIT
        while self.stats()["streams_cut_by_client"] == before:
            self.assertLess(time.monotonic(), end, "the upstream is still open")
