"""The table of a run: for the terminal, and for the page of the documentation."""

import datetime
import os
import pathlib
import platform
import re
import subprocess

BEGIN = "<!-- figures: written by scripts/bench --write-docs -->"
END = "<!-- end of figures -->"
QUIET = 1.0


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    memory = re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())
    release = re.search(r'PRETTY_NAME="([^"]+)"', pathlib.Path("/etc/os-release").read_text())
    return {"cpu": model.group(1) if model else platform.machine(), "cores": os.cpu_count(),
            "memory_gib": round(int(memory.group(1)) / 2**20, 1),
            "system": release.group(1) if release else "Linux", "kernel": platform.release()}


def revision(root, build):
    """The commit that was built; a build folder elsewhere may hold any."""
    if build != root / "build":
        return f"unknown (built in {build})"
    done = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def number(value, unit):
    if value is None:
        return "-"
    if unit in ("1/s", "") or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cells(row):
    result = "" if row.good is None else "pass" if row.good else "FAIL"
    ratio = "" if row.ratio is None or row.unit == "" else f"{row.ratio:.2f}"
    return [row.what, row.unit, number(row.hoteld, row.unit),
            number(row.nginx, row.unit) if row.nginx is not None else "", ratio, row.goal, result]


HEAD = ["measurement", "unit", "hoteld", "nginx", "ratio", "goal", "result"]


def text_table(rows):
    lines = [HEAD] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    lines.insert(1, ["-" * width for width in widths])
    right = {2, 3, 4}
    return "\n".join("  ".join(cell.rjust(widths[i]) if i in right else cell.ljust(widths[i])
                               for i, cell in enumerate(line)).rstrip() for line in lines)


def markdown_table(rows):
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|--:|--:|--:|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(cells(row)) + " |" for row in rows])


def doubts(info):
    """Why these figures are not final; empty when they are."""
    found = []
    if info["load_before"] > QUIET:
        found.append(f"the machine was busy (load average {info['load_before']:.1f} at the start)")
    if info["quick"]:
        found.append("the run was a quick one (one short turn each)")
    return found


def heading(info):
    versions = ", ".join(info["versions"].values())
    return (f"{info['date']}, revision {info['revision']}: {info['machine']['cores']} cores "
            f"({info['machine']['cpu']}), {info['machine']['memory_gib']} GiB, "
            f"{info['machine']['system']}, Linux {info['machine']['kernel']}; {versions}.")


def write_page(page, info, rows):
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    parts = [heading(info)]
    if doubts(info):
        parts.append("**Not final**: " + " and ".join(doubts(info)) + ".")
    parts.append(markdown_table(rows))
    page.write_text(before + BEGIN + "\n" + "\n\n".join(parts) + "\n" + END + after, encoding="utf-8")


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
