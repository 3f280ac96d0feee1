#!/usr/bin/env python3
"""Builds and runs one example with nothing but the installed pkg-config file, as C++17 and C++20."""

import argparse
import os
import pathlib
import shlex
import subprocess


def main():
    parser = argparse.ArgumentParser()
    for name in ("prefix", "libdir", "compiler", "source", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--flags", default="")
    args = parser.parse_args()
    libdir = pathlib.Path(args.prefix) / args.libdir
    env = dict(os.environ, PKG_CONFIG_PATH=str(libdir / "pkgconfig"), LD_LIBRARY_PATH=str(libdir))
    mode = ["--static"] if (libdir / "libhotel.a").exists() else []

    def pkg_config(*what):
        return shlex.split(subprocess.check_output(
            ["pkg-config", *mode, *what, "hotel"], env=env, text=True))

    pathlib.Path(args.work).mkdir(parents=True, exist_ok=True)
    for std in ("c++17", "c++20"):
        program = f"{args.work}/{std}"
        subprocess.run([args.compiler, f"-std={std}", *shlex.split(args.flags),
                        *pkg_config("--cflags"), args.source, "-o", program,
                        *pkg_config("--libs")], check=True)
        subprocess.run([program], env=env, check=True, timeout=60)


if __name__ == "__main__":
    main()
