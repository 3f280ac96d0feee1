"""The measurements, and what is asked of their figures."""

import dataclasses
from typing import Optional

FAST = "frames-20-gap-50ms-size-16"      # 20 frames a second, one second
SLOW = "frames-20-gap-200ms-size-16"     # 5 frames a second, four seconds
BRISK = "frames-5-gap-200ms-size-16"     # 5 frames a second, one second
LONG = "frames-150-gap-200ms-size-16"    # 5 frames a second, thirty seconds
BEHAVIOURS = ["ok", FAST, SLOW, BRISK, LONG]

# What judges a stream while it runs, switched off: no first-output probe, no stall watchdog.
UNGUARDED = ("timeouts: {ttft_timeout: 0s, stream_stall_timeout: 0s}",)

# A provider of which five answers in a hundred begin a second late, and one that is always prompt.
SOMETIMES_SLOW = "frames-5-gap-10ms-delay-first-1s-fail-5pct"
PROMPT = "frames-5-gap-10ms-delay-first-20ms"
HEDGE_MS = 200
HEDGED = (f"hedging: {{enabled: true, delay: {HEDGE_MS}ms}}",)


@dataclasses.dataclass
class Row:
    """One line of the table."""

    what: str
    unit: str
    hoteld: Optional[float]
    nginx: Optional[float] = None
    goal: str = ""
    good: Optional[bool] = None

    @property
    def ratio(self):
        if self.hoteld is None or not self.nginx or self.nginx < 0:
            return None
        return self.hoteld / self.nginx


def at_most_times(row, factor):
    row.goal = f"at most {factor:g} x nginx"
    row.good = row.ratio is not None and row.ratio <= factor
    return row


def at_most(row, limit, goal):
    row.goal = goal
    row.good = row.hoteld is not None and row.hoteld <= limit
    return row


def none_failed(what, runs):
    nginx = runs.failures("nginx") if runs.has("nginx") else None
    return at_most(Row(what + ", failed", "", runs.failures("hoteld"), nginx), 0, "none")


class Plan:
    def __init__(self, bench, systems, quick):
        self.bench = bench
        self.direct, self.nginx, self.hoteld, self.keyed, self.portkey = (
            systems[name] for name in ("direct", "nginx", "hoteld", "hoteld+key", "portkey"))
        self.unguarded, self.hedged, self.unhedged, self.logged, self.limited = (
            systems[name] for name in ("unguarded", "hedged", "unhedged", "logged", "limited"))
        self.quick = quick
        self.repeats = 1 if quick else 3
        self.rows = []

    def run(self, name, systems, behaviour, *arguments, **keywords):
        chosen = [system for system in systems if system is not None]
        return self.bench.run(name, chosen, self.repeats, behaviour, *arguments, **keywords)

    def pair(self, runs, path, what, unit):
        return Row(what, unit, runs.median("hoteld", path), runs.median("nginx", path))

    def whole_answers(self):
        """Answers in one piece, over a ladder of connections."""
        rungs = (1, 8, 128) if self.quick else (1, 8, 32, 128, 512)
        failed_hoteld = failed_nginx = 0
        for rung in rungs:
            systems = [self.direct, self.nginx, self.hoteld]
            if rung == 8:
                systems.append(self.keyed)
            if rung in (1, 8):
                systems.append(self.portkey)
            runs = self.run(f"whole, {rung}", systems, "ok", "-c", rung,
                            "-t", 0.7 if self.quick else 3)
            failed_hoteld += runs.failures("hoteld")
            failed_nginx += runs.failures("nginx")
            name = f"Whole answers, {rung} connection{'s' if rung > 1 else ''}"
            if rung == 1:
                self.added_latency(runs, name)
            row = self.pair(runs, "cpu_us_per_request", name + ", CPU", "us/request")
            self.rows.append(at_most_times(row, 4) if rung == 8 else row)
            if rung == 8:
                self.others(runs, name)
            self.rows.append(self.pair(runs, "rate", name + ", throughput", "1/s"))
        row = Row("Whole answers, all rungs, failed", "", failed_hoteld, failed_nginx)
        self.rows.append(at_most(row, 0, "none"))

    def added_latency(self, runs, name):
        for share in ("p50", "p99"):
            direct = runs.median("direct", "whole_ms." + share) or 0
            added = {system: (runs.median(system, "whole_ms." + share) or 0) - direct
                     for system in ("hoteld", "nginx")}
            row = Row(f"{name}, added latency, {share}", "us", added["hoteld"] * 1000,
                      added["nginx"] * 1000)
            self.rows.append(at_most_times(row, 4) if share == "p50" else row)

    def others(self, runs, name):
        row = Row(name + ", CPU with a virtual key", "us/request",
                  runs.median("hoteld+key", "cpu_us_per_request"),
                  runs.median("nginx", "cpu_us_per_request"))
        self.rows.append(at_most_times(row, 4))
        if self.portkey is not None:
            portkey = runs.median("portkey", "cpu_us_per_request")
            row = Row(name + f", CPU (Portkey {portkey:.0f} us)", "us/request",
                      runs.median("hoteld", "cpu_us_per_request"))
            self.rows.append(at_most(row, portkey / 30, "at most 1/30 of Portkey"))

    def streams(self):
        """Streams of 20 frames, 50 ms apart: one second each, again and again."""
        for count, rounds in ((100, 1), (1000, 1)) if self.quick else ((100, 15), (1000, 4)):
            runs = self.run(f"streams 20/s, {count}", [self.nginx, self.hoteld], FAST, "-c", count,
                            "-n", count * rounds, "--ramp", 950, stream=20)
            name = f"{count} streams of 20 frames a second"
            row = self.pair(runs, "cpu_us_per_request", name + ", CPU", "us/stream")
            self.rows.append(at_most_times(row, 2) if count == 1000 else row)
            self.rows.append(self.pair(runs, "cpu_us_per_frame", name + ", CPU", "us/frame"))
            if count == 1000:
                row = self.pair(runs, "first_frame_ms.p99", name + ", first frame, p99", "ms")
                self.rows.append(
                    at_most(row, (row.nginx or 0) + 10, "at most 10 ms over nginx"))
            self.rows.append(none_failed(name, runs))

    def curve(self):
        """What a stream costs, from few to many: 20 frames, 200 ms apart."""
        behaviour, frames = (BRISK, 5) if self.quick else (SLOW, 20)
        cost = {"hoteld": {}, "nginx": {}}
        for count in (100, 4000) if self.quick else (100, 1000, 4000):
            rounds = max(1, 400 // count) if not self.quick else 1
            runs = self.run(f"streams 5/s, {count}", [self.nginx, self.hoteld], behaviour,
                            "-c", count, "-n", count * rounds, "--ramp", 1000, stream=frames)
            name = f"{count} streams of 5 frames a second"
            row = self.pair(runs, "cpu_us_per_request", name + f" ({frames} frames), CPU", "us/stream")
            cost["hoteld"][count], cost["nginx"][count] = row.hoteld, row.nginx
            self.rows += [row, none_failed(name, runs)]
        row = Row("Cost of a stream at 4000 against 100", "x",
                  *(cost[system][4000] / cost[system][100] for system in ("hoteld", "nginx")))
        self.rows.append(at_most(row, 1.5, "at most 1.5 x"))

    def long_streams(self):
        """4,000 streams at once, for half a minute."""
        behaviour, frames = (BRISK, 5) if self.quick else (LONG, 150)
        runs = self.run("4000 long streams", [self.nginx, self.hoteld], behaviour, "-c", 4000,
                        "-n", 4000, "--ramp", 1000, "--timeout", 120, stream=frames)
        name = f"4000 streams for {1 if self.quick else 30} s"
        row = Row(name + ", memory", "KiB/stream", runs.rss_per_connection("hoteld"),
                  runs.rss_per_connection("nginx"))
        self.rows += [
            none_failed(name, runs), at_most(row, 25, "at most 25 KiB"),
            self.pair(runs, "cpu_us_per_frame", name + ", CPU", "us/frame"),
            self.pair(runs, "first_frame_ms.p99", name + ", first frame, p99", "ms"),
            self.pair(runs, "gap_ms.p99", name + ", gap between frames, p99", "ms")]

    def idle(self):
        """Connections that have had an answer and wait."""
        runs = self.run("5000 idle", [self.nginx, self.hoteld], "ok", "--idle", 5000,
                        "-t", 2 if self.quick else 15)
        row = Row("5000 idle connections, CPU", "% of a core", runs.median("hoteld", "cpu_share") * 100,
                  runs.median("nginx", "cpu_share") * 100)
        self.rows += [at_most(row, 0.99, "under 1 %"),
                      none_failed("5000 idle connections", runs)]

    def guards(self):
        """What the probe and the watchdog add to a stream and to a request, in the best of five
        turns: two turns of the same system can differ by more than what is asked here."""
        for what, behaviour, arguments, stream, path in (
                ("a frame", FAST, ("-c", 1000, "-n", 1000 if self.quick else 4000, "--ramp", 950), 20,
                 "cpu_us_per_frame"),
                ("a request", "ok", ("-c", 8, "-t", 0.7 if self.quick else 3), None,
                 "cpu_us_per_request")):
            systems = [self.unguarded, self.hoteld] + ([] if stream else [self.logged, self.limited])
            runs = self.bench.run(f"guards, {what}", systems, 1 if self.quick else 5, behaviour,
                                  *arguments, stream=stream)
            with_all, without = runs.best("hoteld", path), runs.best("unguarded", path)
            row = Row(f"Probe and watchdog, CPU of {what} against none ({without:.1f} us)", "x",
                      with_all / without)
            self.rows += [at_most(row, 1.15, "at most 1.15 x"),
                          none_failed(f"Probe and watchdog, {what}", runs)]
        for system, what in (("logged", "Request log in the database"),
                             ("limited", "Request log, a key with limits, prices")):
            row = Row(f"{what}, CPU of a request against none ({with_all:.1f} us)", "x",
                      runs.best(system, path) / with_all)
            self.rows.append(at_most(row, 1.25, "at most 1.25 x"))

    def hedging(self):
        """First frames of a provider that is slow at times, alone and in a race."""
        runs = self.run("hedging", [self.unhedged, self.hedged], SOMETIMES_SLOW, "-c", 20,
                        "-n", 300 if self.quick else 1000, stream=5)
        # The delay, the second provider's own first frame, and what a race of two may cost.
        limit = HEDGE_MS + 20 + 80
        alone = runs.median("unhedged", "first_frame_ms.p99")
        row = Row(f"Hedging after {HEDGE_MS} ms, 5 % of answers 1 s late, first frame, p99"
                  f" (without {alone:.0f} ms)", "ms", runs.median("hedged", "first_frame_ms.p99"))
        self.rows += [at_most(row, limit, f"at most {limit} ms"),
                      at_most(Row("Hedging, failed", "", runs.failures("hedged")), 0, "none")]

    def soak(self):
        """A thousand streams for a minute; the memory of its second half is that of the first."""
        runs = self.bench.run("soak, 1000 streams", [self.hoteld], 1, FAST, "-c", 1000, "-t", 60,
                              "--ramp", 950, stream=20)
        result = runs.by_system["hoteld"][0]
        row = Row("Soak, 1000 streams for 60 s, memory after 30 s", "x",
                  result["rss_kib_peak"] / max(1, result["rss_kib_peak_first_half"]))
        self.rows += [none_failed("Soak, 1000 streams for 60 s", runs),
                      at_most(row, 1.05, "at most 1.05 x")]
