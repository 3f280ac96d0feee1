"""The whole path: hoteld and nginx in front of the same upstream, in turns. See docs/benchmarks.md.

Called by scripts/bench, which builds and installs what is needed.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import time

import measure
import plan
import report
import systems

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = {"whole": "whole_answers", "streams": "streams", "curve": "curve", "long": "long_streams",
         "idle": "idle", "guards": "guards", "hedging": "hedging", "soak": "soak"}


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measures hoteld against nginx.")
    parser.add_argument("--quick", action="store_true", help="half a minute, for a first look")
    parser.add_argument("--soak", action="store_true", help="only the soak: 1000 streams for 60 s")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part, repeatable")
    parser.add_argument("--rival", metavar="FOLDER", help="where the Node gateway is installed")
    parser.add_argument("--write-docs", action="store_true", help="put the table into the documentation")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the build")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the results")
    options = parser.parse_args()
    if options.write_docs and (options.only or options.soak):
        parser.error("--write-docs wants the whole run, or --quick")
    # What is started runs in a folder of its own.
    options.bin = options.bin.resolve()
    return options


def chosen_parts(options):
    if options.soak:
        return ["soak"]
    if options.only:
        return [part for part in PARTS if part in options.only]
    # The soak alone takes longer than a quick run may.
    return [part for part in PARTS if not (options.quick and part == "soak")]


def main():
    options = arguments()
    programs = {name: options.bin / path for name, path in (
        ("hoteld", "server/hoteld"), ("hotel-sim", "server/hotel-sim"),
        ("hotel-load", "benchmarks/load/hotel-load"))}
    missing = [str(path) for path in programs.values() if not os.access(path, os.X_OK)]
    if systems.Nginx.binary() is None:
        missing.append("nginx")
    if missing:
        sys.exit("bench: missing: " + ", ".join(missing))
    limit = systems.raise_file_limit()
    if limit < 12000:
        print(f"bench: only {limit} descriptors a process: the runs with thousands of connections will "
              "fail (ulimit -n)", flush=True)
    load_before = os.getloadavg()[0]
    if load_before > report.QUIET:
        print(f"bench: WARNING: load average {load_before:.1f}: these figures are not final", flush=True)

    began = time.monotonic()
    sim = systems.Sim(str(programs["hotel-sim"])).start()
    try:
        hoteld = str(programs["hoteld"])
        every = {"direct": systems.Direct(sim), "nginx": systems.Nginx(sim),
                 "hoteld": systems.Hoteld(hoteld, sim, plan.BEHAVIOURS),
                 "hoteld+key": systems.Hoteld(hoteld, sim, plan.BEHAVIOURS, True, "hoteld+key"),
                 "unguarded": systems.Hoteld(hoteld, sim, plan.BEHAVIOURS, name="unguarded",
                                             extra=plan.UNGUARDED),
                 "logged": systems.Hoteld(hoteld, sim, plan.BEHAVIOURS, name="logged", stored=True),
                 "limited": systems.Hoteld(hoteld, sim, plan.BEHAVIOURS, name="limited", stored=True,
                                           limited=True),
                 "unhedged": systems.Hoteld(hoteld, sim, ["ok", plan.SOMETIMES_SLOW], name="unhedged",
                                            second=plan.PROMPT),
                 "hedged": systems.Hoteld(hoteld, sim, ["ok", plan.SOMETIMES_SLOW], name="hedged",
                                          extra=plan.HEDGED, second=plan.PROMPT),
                 "portkey": systems.Portkey(options.rival, sim) if options.rival else None}
        bench = measure.Bench(str(programs["hotel-load"]), lambda line: print(line, flush=True))
        the_plan = plan.Plan(bench, every, options.quick)
        for part in chosen_parts(options):
            getattr(the_plan, PARTS[part])()
    finally:
        sim.stop()

    info = {"date": report.today(), "revision": report.revision(ROOT, options.bin), "quick": options.quick,
            "load_before": load_before, "machine": report.machine(),
            "versions": {name: every[name].version() for name in ("hoteld", "nginx", "portkey")
                         if every[name] is not None},
            "seconds": round(time.monotonic() - began)}
    options.out.mkdir(parents=True, exist_ok=True)
    results = {**info, "rows": [dataclasses.asdict(row) for row in the_plan.rows],
               "runs": {name: runs.by_system for name, runs in bench.all.items()}}
    file = options.out / time.strftime("%Y%m%d-%H%M%S.json", time.gmtime())
    file.write_text(json.dumps(results, indent=1) + "\n")
    print("\n" + report.heading(info))
    print("\n" + report.text_table(the_plan.rows) + "\n")
    goals = [row.good for row in the_plan.rows if row.good is not None]
    print(f"bench: {goals.count(True)} goals met, {goals.count(False)} missed")
    for doubt in report.doubts(info):
        print(f"bench: NOT FINAL: {doubt}")
    if options.write_docs:
        report.write_page(ROOT / "docs/benchmarks.md", info, the_plan.rows)
    print(f"bench: {info['seconds']} s, everything is in {file}")


if __name__ == "__main__":
    main()
