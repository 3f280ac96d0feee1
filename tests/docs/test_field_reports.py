"""tests/field_reports.md: every report of the areas that are built has a test that carries its id.

The table is written from the names of the tests: HOTEL_UPDATE_DOCS=1 writes it anew.
"""

import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ["HOTEL_ROOT"])
PAGE = ROOT / "tests/field_reports.md"
BEGIN = "<!-- written from the names of the tests -->"
END = "<!-- end -->"
# The reports are numbered oddly; the areas whose features are built.
AREAS = [("failover", 1, 35), ("stream", 37, 81), ("429", 83, 101), ("breaker", 103, 121), ("timeouts", 123, 137),
         ("headers", 139, 153), ("body", 155, 167), ("log", 169, 177), ("security", 179, 183), ("scale", 185, 201)]

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
PYTHON_CASE = re.compile(r'def (test_\w+)\(self[^)]*\):(?:\s*"""(.*?)""")?', re.S)


def test_names():
    """(file, name) of every test."""
    for path in sorted(ROOT.glob("tests/**/*.cc")):
        for match in CASE.finditer(path.read_text(encoding="utf-8")):
            yield path, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])).replace('\\"', '"')
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        for match in PYTHON_CASE.finditer(path.read_text(encoding="utf-8")):
            yield path, " ".join([match[1].replace("_", " "), *(match[2] or "").split("\n")[0].split()])


def carriers():
    """Tests by the ids in their names."""
    found = {}
    for path, name in test_names():
        for number in re.findall(r"\bF(\d{3})\b", name):
            found.setdefault(int(number), []).append((path.relative_to(ROOT / "tests").as_posix(), name))
    return found


def width(path):
    """The sidecar says more than the router in it, and that more than a part on its own."""
    order = ("server/", "clients/", "scenario/", "net/")
    return next((i for i, folder in enumerate(order) if path.startswith(folder)), len(order))


def table():
    found = carriers()
    lines = ["| report | area | test | in |", "|---|---|---|---|"]
    for area, first, last in AREAS:
        for number in range(first, last + 1, 2):
            tests = sorted(found.get(number, []), key=lambda test: width(test[0]))
            if not tests:
                continue
            path, name = tests[0]
            others = sorted({p for p, _ in tests[1:]} - {path})
            files = ", ".join("`%s`" % p for p in [path, *others])
            lines.append("| F%03d | %s | %s | %s |" % (number, area, name.replace("|", "\\|"), files))
    return "\n".join(lines)


class FieldReports(unittest.TestCase):
    def setUp(self):
        self.before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        self.written, self.after = rest.split(END)

    def test_every_report_has_a_test_or_a_reason(self):
        found = carriers()
        reasons = {int(n) for n in re.findall(r"^- F(\d{3}): \S", self.before + self.after, re.MULTILINE)}
        missing = [
            "F%03d" % n for _, first, last in AREAS for n in range(first, last + 1, 2) if n not in found and n not in reasons
        ]
        self.assertEqual(missing, [])

    def test_the_table_is_that_of_the_tests(self):
        if os.environ.get("HOTEL_UPDATE_DOCS") == "1":
            PAGE.write_text(self.before + BEGIN + "\n" + table() + "\n" + END + self.after, encoding="utf-8")
            return
        self.assertEqual(self.written.strip(), table(), "run tests/docs/test_field_reports.py with HOTEL_UPDATE_DOCS=1")


if __name__ == "__main__":
    unittest.main()
