"""Runs the Node tests of a folder against packages installed into a build folder.

Without Node 18 or without a package registry the test cannot run: exit status 77, which CTest shows as
skipped, except where CI is set, where that is a failure.
"""

import pathlib
import shutil
import subprocess
import sys

from missing import missing

OLDEST_NODE = 18


def install(source, build):
    """Puts the locked packages into `build`; nothing to do when they are there."""
    lock = (source / "package-lock.json").read_bytes()
    stamp = build / "installed.json"
    if stamp.exists() and stamp.read_bytes() == lock:
        return None
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, build / name)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=build,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stdout + done.stderr
    stamp.write_bytes(lock)
    return None


def main():
    source, build = (pathlib.Path(argument) for argument in sys.argv[1:])
    if not shutil.which("node") or not shutil.which("npm"):
        return missing("node or npm is not installed (apt-get install nodejs npm)")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().lstrip("v").split(".")[0]) < OLDEST_NODE:
        return missing(f"node {version.strip()} is older than {OLDEST_NODE}")
    build.mkdir(parents=True, exist_ok=True)
    failure = install(source, build)
    if failure is not None:
        return missing(f"npm ci failed:\n{failure}")
    # Modules are looked up from where the importing file is.
    shared = source.parent.glob("*.mjs")
    tests = [str(shutil.copy(test, build)) for test in sorted([*source.glob("*.mjs"), *shared])]
    return subprocess.run(["node", "--test", *(t for t in tests if t.endswith(".test.mjs"))],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
