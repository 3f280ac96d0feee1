"""One measurement: hotel-load against one system, and medians over repeated ones."""

import json
import statistics
import subprocess
import time


class Failed(Exception):
    pass


def body(system, behaviour, stream):
    return json.dumps({"model": system.model(behaviour), "stream": stream,
                       "messages": [{"role": "user", "content": "How are you today?"}]})


def load(binary, system, behaviour, *arguments, stream=None):
    """Runs hotel-load and returns what it printed."""
    command = [binary, "--url", system.url, "--body", body(system, behaviour, stream is not None)]
    for header in system.headers:
        command += ["-H", header]
    if stream is not None:
        command += ["--stream", str(stream)]
    for pid in system.pids():
        command += ["--pid", str(pid)]
    done = subprocess.run(command + [str(a) for a in arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    result = json.loads(done.stdout)
    if not result["processes_alive"]:
        raise Failed(f"{system.name} died under load")
    return result


def warm_up(binary, system):
    """Asks until everything is answered well: a port that is open need not mean ready."""
    end = time.monotonic() + 20
    while True:
        result = load(binary, system, "ok", "-n", 50)
        if result["failed"] == 0:
            break
        if time.monotonic() > end:
            raise Failed(f"{system.name} does not answer: {result}")
        time.sleep(0.05)
    if system.warm_seconds:
        load(binary, system, "ok", "-c", 8, "-t", system.warm_seconds)


def at(result, path):
    """at(result, "whole_ms.p50"); None where there is no such figure."""
    for part in path.split("."):
        if result is None:
            return None
        result = result[part]
    return result


class Runs:
    """The repeated results of one measurement, by system."""

    def __init__(self):
        self.by_system = {}

    def add(self, system, result):
        self.by_system.setdefault(system, []).append(result)

    def has(self, system):
        return system in self.by_system

    def median(self, system, path):
        values = [at(result, path) for result in self.by_system.get(system, [])]
        values = [value for value in values if value is not None]
        return statistics.median(values) if values else None

    def best(self, system, path):
        """The least of a cost: what disturbs a turn only adds to it."""
        values = [at(result, path) for result in self.by_system.get(system, [])]
        return min((value for value in values if value is not None), default=None)

    def total(self, system, path):
        return sum(at(result, path) for result in self.by_system.get(system, []))

    def rss_per_connection(self, system):
        """KiB that one connection more takes, in the median."""
        values = [(r["rss_kib_peak"] - r["rss_kib_before"]) / r["connections"]
                  for r in self.by_system.get(system, [])]
        return statistics.median(values) if values else None

    def failures(self, system):
        """Requests that failed and idle connections that were dropped, over all repeats."""
        return self.total(system, "failed") + self.total(system, "dropped")


class Bench:
    """Starts every system afresh for every repeat and takes turns between them."""

    def __init__(self, hotel_load, log):
        self.hotel_load = hotel_load
        self.log = log
        self.all = {}

    def run(self, name, systems, repeats, behaviour, *arguments, stream=None):
        runs = self.all[name] = Runs()
        for repeat in range(repeats):
            # Back and forth, so that a machine that gets slower or faster favours nobody.
            for system in systems if repeat % 2 == 0 else reversed(systems):
                try:
                    system.start()
                    warm_up(self.hotel_load, system)
                    result = load(self.hotel_load, system, behaviour, *arguments, stream=stream)
                finally:
                    system.stop()
                runs.add(system.name, result)
                self.log(f"  {name:<28} {system.name:<12} {repeat + 1}/{repeats}: "
                         f"{result['rate']:9.1f}/s {result['cpu_us_per_request']:8.1f} us CPU "
                         f"{result['succeeded']} good {result['failed']} failed "
                         f"{result['faults'] or ''} {result['first_refusal']}")
        return runs
