#!/usr/bin/env python3
"""run_failover.py HOTEL_SIM EXAMPLE: an example of two providers against a simulated one."""

import subprocess
import sys


def main():
    simulator, example = sys.argv[1:]
    with subprocess.Popen([simulator, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          text=True) as sim:
        try:
            line = sim.stdout.readline()
            prefix, _, url = line.strip().partition(" listening on ")
            if prefix != "hotel-sim" or not url:
                sys.exit(f"hotel-sim did not start: {line!r}")
            run = subprocess.run([example, url + "/v1"], capture_output=True, text=True, timeout=60)
            print(run.stdout, run.stderr, sep="")
            if run.returncode != 0 or "status 200, x-hotel-attempts: 2" not in run.stdout:
                sys.exit("the example did not fail over")
            alone = subprocess.run([example], capture_output=True, text=True, timeout=60)
            if alone.returncode != 2:
                sys.exit("no usage without arguments")
        finally:
            sim.terminate()


if __name__ == "__main__":
    main()
