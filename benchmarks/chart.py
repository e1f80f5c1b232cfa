"""Writes the table of current figures and its chart from figures.json into the documentation."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- figures: written by `python -m benchmarks chart` -->", "<!-- end of figures -->"
PAGES = ("docs/performance.md", "benchmarks/README.md")
CHART = "docs/performance.svg"
MISSING = "TO BE MEASURED"

WIDTH, LEFT, BAR, GAP, TOP = 760, 250, 14, 16, 46
COLOURS = {"before": "#9aa5b1", "now": "#2563eb", "peer": "#d97706"}


def write_all(root: Path) -> None:
    """Write the table into every page, and the chart."""
    figures = json.loads((root / "benchmarks/figures.json").read_text(encoding="utf-8"))
    for page in PAGES:
        path = root / page
        path.write_text(with_table(path.read_text(encoding="utf-8"), table(figures)), encoding="utf-8")
    (root / CHART).write_text(chart(figures), encoding="utf-8")


def with_table(page: str, table: str) -> str:
    """The page with another table between its markers."""
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{table}\n{END}", page, flags=re.DOTALL)


def table(figures: dict[str, Any]) -> str:
    """The figures as a Markdown table, with the places that are not measured marked."""
    now = figures["now"]
    lines = [
        f"Machine: {figures['machine']}. {_taken(figures['before'])}; {_taken(now)}.",
        "",
        f"| what | command | {figures['before']['label']} | {now['label']} | best peer |",
        "|---|---|---|---|---|",
    ]
    for row in figures["rows"]:
        own = row["command"].startswith("fairlead")
        command = row["command"] if own else f"python -m benchmarks {row['command']}"
        cells = (row["what"], f"`{command}`", row["before"], row["now"] or MISSING, row["peer"] or "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def chart(figures: dict[str, Any]) -> str:
    """Horizontal bars: jobs a second of the workloads that have numbers."""
    rows = [row for row in figures["rows"] if row["bars"]]
    most = max(value for row in rows for value in row["bars"].values() if value)
    labels = {"before": figures["before"]["label"], "now": figures["now"]["label"], "peer": "best peer"}
    pieces, top = _legend(labels), TOP
    for row in rows:
        found = {name: value for name, value in row["bars"].items() if value}
        middle = top + len(found) * BAR / 2 + 4
        pieces.append(f'<text x="{LEFT - 10}" y="{middle}" text-anchor="end">{escape(_short(row["what"]))}</text>')
        for name, value in found.items():
            length = round((WIDTH - LEFT - 80) * value / most, 1)
            pieces.append(f'<rect x="{LEFT}" y="{top}" width="{length}" height="{BAR - 2}" fill="{COLOURS[name]}"/>')
            pieces.append(f'<text x="{LEFT + length + 6}" y="{top + BAR - 4}" class="value">{value:,}</text>')
            top += BAR
        top += GAP
    style = "text{font:13px sans-serif;fill:#1f2933}.value{font-size:11px;fill:#52606d}"
    body = "\n".join(f"  {piece}" for piece in pieces)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" role="img" '
        f'aria-label="Jobs a second by workload">\n  <style>{style}</style>\n'
        f'  <rect width="{WIDTH}" height="{top}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _legend(labels: dict[str, str]) -> list[str]:
    pieces = ['<text x="16" y="24">Jobs a second on PostgreSQL, 2 cores</text>']
    for number, (name, label) in enumerate(labels.items()):
        left = LEFT + 80 + number * 120
        pieces.append(f'<rect x="{left}" y="14" width="12" height="12" fill="{COLOURS[name]}"/>')
        pieces.append(f'<text x="{left + 18}" y="24">{escape(label)}</text>')
    return pieces


def _short(what: str) -> str:
    return what.partition(", jobs/s")[0].replace("`", "")


def _taken(run: dict[str, Any]) -> str:
    return f"{run['label']}: {run['date'] or MISSING}, load average {run['load'] or MISSING}"
