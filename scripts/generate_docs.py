"""Writes the pages of docs/ and the types of the dashboard that follow from the code; with --check only compares them.

A page made here is never edited by hand: the code is the source, and a test fails when the two differ.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlead import App
from fairlead.api import create_app
from fairlead.core.jobs.states import FINAL, MEANINGS, MOVES, PLANNED, State

TS_HEAD = "// The documents of the API, written by scripts/generate_docs.py: run `make docs`."
TS_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
Schema = Mapping[str, Any]

ROOT = Path(__file__).resolve().parent.parent


def states_page() -> str:
    """The states of a job: a diagram and the table of legal moves."""
    return "\n".join(
        [
            "# The states of a job",
            "",
            "<!-- Written by scripts/generate_docs.py from src/fairlead/core/jobs/states.py: run `make docs`. -->",
            "",
            "A job changes its state only by these moves; any other is refused.",
            "",
            f"**Not reached yet:** {_listed(PLANNED)}. These states and their moves are reserved for job flows and",
            "message brokers; no job is in one of them today, and the diagram leaves them out.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            *(f"    {line}" for line in _diagram()),
            "```",
            "",
            "| state | a job in it | final | may go to |",
            "|---|---|---|---|",
            *(_row(state) for state in State),
            "",
        ]
    )


def _diagram() -> list[str]:
    reached = [state for state in State if state not in PLANNED]
    first = [f"[*] --> {state}" for state in reached if state in MOVES[State.CREATED]]
    moves = [f"{source} --> {target}" for source in reached for target in _targets(source) if target in reached]
    last = [f"{state} --> [*]" for state in reached if state in FINAL]
    return first + moves + last


def _row(state: State) -> str:
    meaning = MEANINGS[state] + (" (not reached yet)" if state in PLANNED else "")
    final = "yes" if state in FINAL else ""
    return f"| `{state}` | {meaning} | {final} | {_listed(MOVES[state]) or 'nothing'} |"


def _listed(states: frozenset[State]) -> str:
    return ", ".join(f"`{state}`" for state in State if state in states)


def _targets(source: State) -> list[State]:
    # Sets have no order of their own; the order of the enum keeps the page stable.
    return [target for target in State if target in MOVES[source]]


def openapi_page() -> str:
    """The description of the HTTP API."""
    return json.dumps(create_app(App("sqlite:///:memory:")).openapi(), indent=1, sort_keys=True) + "\n"


def interfaces(description: Mapping[str, Any]) -> str:
    """All named schemas as TypeScript interfaces, in order of their names."""
    schemas = description["components"]["schemas"]
    return "\n\n".join([TS_HEAD, *(_declared(name, schemas[name]) for name in sorted(schemas))]) + "\n"


def _declared(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"export type {name} = {_type(schema)};"
    required = schema.get("required", ())
    defaults = [field for field, one in schema["properties"].items() if "default" in one or "const" in one]
    lines = [
        f"  {field}{'' if field in required or field in defaults else '?'}: {_type(one)};"
        for field, one in schema["properties"].items()
    ]
    return "\n".join([f"export interface {name} {{", *lines, "}"])


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " | ".join(dict.fromkeys(map(_type, options)))
    if schema.get("type") == "array":
        item = _type(schema.get("items", {}))
        return f"({item})[]" if " " in item else f"{item}[]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    return TS_TYPES.get(str(schema.get("type")), "unknown")


def types_page() -> str:
    """The documents of the API as the dashboard's code knows them."""
    return interfaces(create_app(App("sqlite:///:memory:")).openapi())


PAGES: dict[str, Callable[[], str]] = {
    "docs/openapi.json": openapi_page,
    "docs/states.md": states_page,
    "dashboard/src/types.ts": types_page,
}


def stale_pages(root: Path = ROOT) -> list[str]:
    """The pages on disk that differ from what the code says now."""
    return [name for name, render in PAGES.items() if _read(root / name) != render()]


def write_pages(root: Path = ROOT) -> list[str]:
    """Write the pages that differ and return their names."""
    stale = stale_pages(root)
    for name in stale:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGES[name](), encoding="utf-8")
    return stale


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the pages; the exit code of the script."""
    parser = argparse.ArgumentParser(description="Write the generated pages of docs/.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a page is out of date")
    if parser.parse_args(arguments).check:
        stale = stale_pages()
        for name in stale:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale else 0
    for name in write_pages():
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
