"""The pages of the documentation against the programs they describe."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["HOTEL_ROOT"])
HOTELD = os.environ["HOTELD"]
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
                self.assertEqual(check(file.name, **keys), (0, ""))

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
                self.assertEqual(check(path)[0], 2)

    def test_the_program_in_the_readme_is_the_example(self):
        example = (ROOT / "examples/minimal/main.cc").read_text(encoding="utf-8")
        code = example[example.index("#include"):]
        self.assertIn(code.strip(), [block.strip() for block in blocks(ROOT / "README.md", "cpp")])

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


if __name__ == "__main__":
    unittest.main()
