"""The pages of the documentation against the programs they describe."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["HOTEL_ROOT"])
HOTELD = os.environ["HOTELD"]
NO_KEYS = "%s:0: virtual_keys: no virtual_keys are configured: every request under /v1 will be answered 401 until one is made with hotelctl keys (warning)\n"
PAGES = [ROOT / "README.md", ROOT / "libhotel/README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def check(path, **environment):
    done = subprocess.run([HOTELD, "--check", "--config", path], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], **environment}, timeout=30, check=False)
    return done.returncode, done.stderr


class Docs(unittest.TestCase):
    def test_configurations_load(self):
        found = [(page, text) for page in PAGES for text in blocks(page, "yaml")]
        self.assertGreaterEqual(len(found), 2)
        for page, text in found:
            keys = {name: "vk-0123456789abcdef" for name in re.findall(r"\$\{(\w+)\}", text)}
            with self.subTest(page=page.name), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                warning = NO_KEYS % file.name if "virtual_key" not in text else ""
                self.assertEqual(check(file.name, **keys), (0, warning))

    def test_the_demo_loads(self):
        self.assertEqual(check(ROOT / "server/demo.yaml"), (0, ""))

    def test_the_examples_load_with_the_variables_they_name_and_not_without(self):
        found = sorted((ROOT / "examples").glob("*.yaml"))
        self.assertTrue(found)
        for path in found:
            with self.subTest(example=path.name):
                text = path.read_text(encoding="utf-8")
                names = re.findall(r"([A-Z_]+)=\.\.\.", text)
                self.assertEqual(check(path, **{name: "vk-0123456789abcdef" for name in names}), (0, ""))
                self.assertEqual(check(path)[0], 2 if names else 0)

    def test_the_program_in_the_readme_is_the_example(self):
        example = (ROOT / "examples/minimal/main.cc").read_text(encoding="utf-8")
        code = example[example.index("#include"):]
        self.assertIn(code.strip(), [block.strip() for block in blocks(ROOT / "README.md", "cpp")])

    def test_the_code_of_the_library_page_is_from_the_example(self):
        example = (ROOT / "examples/stream/main.cc").read_text(encoding="utf-8")
        found = blocks(ROOT / "docs/library.md", "cpp")
        self.assertTrue(found)
        for block in found:
            self.assertIn(block, example)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
        for page in (ROOT / "docs").glob("*.md"):
            if page.name != "index.md":
                self.assertIn(f"]({page.name})", index)


class Dashboard(unittest.TestCase):
    """examples/grafana-dashboard.json against the list of metrics."""

    def setUp(self):
        text = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(hotel_\w+)` \| (\w+) \| ([^|]+) \|", text, re.MULTILINE)
        self.assertGreater(len(rows), 10)
        self.types = {name: kind for name, kind, _ in rows}
        self.labels = {name: set(labels.replace("-", "").replace(",", " ").split()) for name, _, labels in rows}
        self.board = json.loads((ROOT / "examples/grafana-dashboard.json").read_text(encoding="utf-8"))
        self.targets = [target for panel in self.board["panels"] for target in panel.get("targets", [])]
        self.assertGreater(len(self.targets), 20)

    def metric(self, series):
        """The metric behind a name in a query."""
        for suffix in ("_bucket", "_sum", "_count"):
            name = series.removesuffix(suffix)
            if name != series and self.types.get(name) == "histogram":
                return name
        self.assertIn(series, self.types)
        self.assertNotEqual(self.types[series], "histogram", "a histogram has no series of its own name")
        return series

    def test_it_asks_for_metrics_and_labels_that_exist(self):
        for target in self.targets:
            query = target["expr"]
            with self.subTest(query=query):
                found = re.findall(r"(hotel_\w+)(?:\{([^}]*)\})?", query)
                self.assertTrue(found)
                common = None
                for series, matchers in found:
                    labels = self.labels[self.metric(series)] | ({"le"} if series.endswith("_bucket") else set())
                    self.assertLessEqual(set(re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers)), labels)
                    common = labels if common is None else common & labels
                grouped = {name for by in re.findall(r"by \(([^)]*)\)", query) for name in re.findall(r"\w+", by)}
                self.assertLessEqual(grouped, common)
                self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), grouped)
                for series in re.findall(r"(?:rate|increase)\((\w+)", query):
                    self.assertNotEqual(self.types[self.metric(series)], "gauge", "a gauge has no rate")

    def test_it_shows_every_metric(self):
        shown = {self.metric(name) for target in self.targets for name in re.findall(r"hotel_\w+", target["expr"])}
        self.assertEqual(shown, set(self.types))

    def test_its_variables_are_labels(self):
        variables = self.board["templating"]["list"]
        for variable in variables:
            match = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"])
            if match:
                self.assertIn(match[2], self.labels[match[1]])
        names = {variable["name"] for variable in variables} | {"__rate_interval"}
        self.assertLessEqual(set(re.findall(r"\$\{?(\w+)", json.dumps(self.targets))), names)

    def test_its_panels_have_room_and_numbers_of_their_own(self):
        panels = self.board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        taken = set()
        for panel in panels:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells


if __name__ == "__main__":
    unittest.main()
