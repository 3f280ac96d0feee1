"""Runs the Python tests of a folder in an environment of their own, made in a build folder.

Without the venv module or without a package registry the test cannot run: exit status 77, which CTest
shows as skipped, except where CI is set, where that is a failure.
"""

import pathlib
import shutil
import subprocess
import sys

from missing import missing


def install(source, build):
    """Makes the environment and puts the pinned packages into it; nothing to do when they are there."""
    pinned = (source / "requirements.txt").read_bytes()
    stamp = build / "installed.txt"
    if stamp.exists() and stamp.read_bytes() == pinned:
        return None
    shutil.rmtree(build / "venv", ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", build / "venv"],
        [build / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:",
         "-r", source / "requirements.txt"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return done.stdout + done.stderr
    stamp.write_bytes(pinned)
    return None


def main():
    source, build = (pathlib.Path(argument).absolute() for argument in sys.argv[1:])
    build.mkdir(parents=True, exist_ok=True)
    failure = install(source, build)
    if failure is not None:
        return missing(f"the packages could not be installed (apt-get install python3-venv):\n{failure}")
    return subprocess.run(
        [build / "venv/bin/python", "-B", "-m", "unittest", "discover", "-v", "-s", source, "-t", source],
        check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
