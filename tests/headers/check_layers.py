#!/usr/bin/env python3
"""The folders of libhotel form layers, and two of them are pure.

check_layers.py --root DIR     checks the tree
check_layers.py --self-test    proves that each rule can fail
"""

import argparse
import pathlib
import re
import sys
import tempfile

# A folder may include the folders before it and itself.
LAYERS = ["base", "settings", "wire", "decide", "guard", "store", "net", "route", "observe"]
# These see the public headers and themselves only.
PUBLIC_ONLY = ["testing"]
PURE = ["wire", "decide"]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')

# What reads a clock, takes a lock, starts a thread, does I/O or logs.
IMPURE_INCLUDE = re.compile(
    r"^(mutex|shared_mutex|thread|future|condition_variable|stop_token|semaphore|latch|barrier|"
    r"atomic|iostream|fstream|cstdio|stdio\.h|filesystem|ctime|time\.h|unistd\.h|fcntl\.h|"
    r"(sys|arpa|netinet|netdb|curl|openssl|spdlog|absl/synchronization|absl/time)[/.].*|"
    r"sqlite3\.h|argon2\.h|httplib\.h|yaml-cpp/.*|hotel/(clock|loop|hotel|defaults)\.h|"
    r"libhotel/base/mutex\.h)$")
IMPURE_CODE = re.compile(r"(::now\s*\(|\brandom_device\b|\bgetenv\s*\(|\bstd::c(out|err|log)\b)")


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cc"))


def layer_problems(path, folder, text):
    allowed = {folder}
    if folder in LAYERS:
        allowed |= set(LAYERS[: LAYERS.index(folder)])
    for target in INCLUDE.findall(text):
        parts = target.split("/")
        if parts[0] in ("server", "tests", "examples", "benchmarks", "bindings"):
            yield f"{path}: includes {target}, which lies above the library"
        elif parts[0] == "libhotel" and parts[1] not in allowed:
            yield f"{path}: {folder}/ may not include {parts[1]}/ ({target})"


def purity_problems(path, text):
    for target in INCLUDE.findall(text):
        if IMPURE_INCLUDE.match(target):
            yield f"{path}: pure code includes {target}"
    code = STRING.sub('""', COMMENT.sub("", text))
    for hit in IMPURE_CODE.finditer(code):
        yield f"{path}: pure code uses {hit.group(0)}"


def check(root):
    problems = []
    library = root / "libhotel"
    for folder in sorted(p for p in library.iterdir() if p.is_dir()):
        if folder.name not in LAYERS + PUBLIC_ONLY:
            problems.append(f"libhotel/{folder.name}: no layer is given to this folder")
            continue
        for path in sources(folder):
            text = path.read_text(encoding="utf-8")
            name = path.relative_to(root)
            problems += layer_problems(name, folder.name, text)
            if folder.name in PURE:
                problems += purity_problems(name, text)
    examples = root / "examples"
    for path in sources(examples) if examples.is_dir() else []:
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            if target.startswith("libhotel/"):
                problems.append(f"{path.relative_to(root)}: an example includes {target}")
    return problems


def self_test():
    cases = {
        "libhotel/base/x.cc": '#include "libhotel/wire/sse.h"\n',
        "libhotel/wire/x.cc": '#include "libhotel/decide/verdict.h"\n',
        "libhotel/net/x.cc": '#include "server/front.h"\n',
        "libhotel/testing/x.cc": '#include "libhotel/base/strings.h"\n',
        "libhotel/other/x.cc": "\n",
        "libhotel/decide/x.h": "#include <mutex>\n",
        "libhotel/decide/y.cc": "auto n = std::chrono::steady_clock::now();\n",
        "libhotel/wire/z.cc": "#include <curl/curl.h>\n",
        "examples/e/main.cc": '#include "libhotel/wire/sse.h"\n',
    }
    innocent = {
        "libhotel/decide/ok.cc": '// never calls clock::now()\n#include "libhotel/wire/sse.h"\n'
                                 '#include "libhotel/decide/verdict.h"\n#include <chrono>\n'
                                 'const char* s = "::now(";\n',
        "libhotel/route/ok.cc": '#include "libhotel/net/exchange.h"\n#include <mutex>\n',
    }
    problems = []
    for name, text in {**cases, **innocent}.items():
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True)
            (pathlib.Path(directory) / "libhotel").mkdir(exist_ok=True)
            path.write_text(text)
            found = bool(check(pathlib.Path(directory)))
            if found != (name in cases):
                problems.append(f"self-test: {name}: {'false alarm' if found else 'not noticed'}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    problems = self_test() if args.self_test else check(args.root)
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
