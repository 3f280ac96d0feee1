#!/usr/bin/env python3
"""Public headers compile alone, in every given standard, and include only what they may.

check_headers.py --root DIR --compiler CXX [--flag F ...] --std c++17 --std c++20
check_headers.py --self-test --compiler CXX   (proves that each rule can fail)
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"][^>"]+[>"])', re.MULTILINE)
ALLOWED = re.compile(r'^(<[a-z0-9_]+>|"absl/status/(status|statusor)\.h"|"hotel/[a-z0-9_/]+\.h")$')


def bad_includes(header, include_dir):
    text = header.read_text(encoding="utf-8")
    name = header.relative_to(include_dir)
    problems = [f"{name}: includes {what}" for what in INCLUDE.findall(text)
                if not ALLOWED.match(what)]
    guard = re.sub(r"[/.]", "_", str(name)).upper() + "_"
    if f"#ifndef {guard}" not in text:
        problems.append(f"{name}: its include guard is not {guard}")
    return problems


def compile_errors(header, include_dir, compiler, flags, std):
    name = header.relative_to(include_dir)
    source = f'#include "{name}"\n#include "{name}"\n'
    command = [compiler, *flags, f"-std={std}", "-I", str(include_dir), "-fsyntax-only", "-Wall",
               "-Wextra", "-Wpedantic", "-Werror", "-x", "c++", "-"]
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    return [f"{name} ({std}): {result.stderr.strip()}"] if result.returncode != 0 else []


def check(root, compiler, flags, standards):
    include_dir = root / "include"
    headers = sorted(include_dir.rglob("*.h"))
    if not headers:
        return [f"no headers under {include_dir}"]
    problems = [p for header in headers for p in bad_includes(header, include_dir)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(compile_errors, header, include_dir, compiler, flags, std)
                for header in headers for std in standards]
        for job in jobs:
            problems += job.result()
    return problems


def self_test(compiler):
    cases = {
        "third-party include": "#include <curl/curl.h>\n",
        "internal include": '#include "libhotel/base/mutex.h"\n',
        "not self-contained": "inline std::string Broken();\n",
        "C++20 in C++17": "template <typename T> concept C = true;\n",
    }
    failures = []
    for what, text in cases.items():
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "include/hotel").mkdir(parents=True)
            (root / "include/hotel/x.h").write_text(
                f"#ifndef HOTEL_X_H_\n#define HOTEL_X_H_\n{text}#endif\n")
            if not check(root, compiler, [], ["c++17"]):
                failures.append(f"self-test: not noticed: {what}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--std", action="append", default=[])
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    problems = (self_test(args.compiler) if args.self_test
                else check(args.root, args.compiler, args.flag, args.std))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
