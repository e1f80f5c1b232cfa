"""Named SQL statements from files, one file for each feature, with `:name` parameters.

A statement begins with a line `-- name: claim`. What stands in `stores/sql/` serves both databases: it is written for
PostgreSQL, and SQLite gets it in its own words by the replacements below. A statement that needs more than that stands
in `stores/postgres/sql/` or `stores/sqlite/sql/`, which come before the shared ones.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

SHARED = Path(__file__).parent / "sql"

Style = Callable[[str], str]

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
_ROWS = re.compile(r"json_to_recordset\(:(\w+)::json\)\s+as (\w+)\(([^)]*)\)")
_ANY = "= any(array("
_TO_SQLITE = [
    (re.compile(r"json_array_elements_text\((:\w+)::json\)"), r"value from json_each(\1)"),
    (re.compile(r"::[a-z0-9]+"), ""),  # casts
    (re.compile(r"date_trunc\('(\w+)', now\(\)\)"), r"floor(now() / interval '1 \1') * interval '1 \1'"),
    (re.compile(r"\bnow\(\)"), ":now"),
    (re.compile(r"interval '1 second'"), "1"),  # instants are seconds since 1970
    (re.compile(r"interval '1 minute'"), "60"),
    (re.compile(r"interval '1 hour'"), "3600"),
    (re.compile(r"interval '1 day'"), "86400"),
    (re.compile(r"\bto_timestamp\("), "("),
    (re.compile(r"\bdate_part\('epoch', "), "("),
    (re.compile(r"\bgreatest\("), "max("),
    (re.compile(r"\bleast\("), "min("),
    (re.compile(r"\bstrpos\("), "instr("),
    (re.compile(r"(?<=\bselect)(?=\s+from\b)"), " 1"),
    (re.compile(r"\bas materialized \("), "as ("),
    (re.compile(r"\s+for (update|share)( of \w+)?( skip locked)?"), ""),  # one transaction writes at a time
]


class Statements:
    """The statements of a database by name, in its driver's parameter style, each made ready once."""

    def __init__(self, own: Path, style: Style, shared: Style = str) -> None:
        self._texts = {name: shared(text) for name, text in read_statements(SHARED).items()} | read_statements(own)
        self._style = cache(style)

    def __call__(self, name: str) -> str:
        """The text of a statement."""
        return self._style(self._texts[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def read_statements(folder: Path) -> dict[str, str]:
    """All statements of a folder's files by name; a name may come once."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.sql")):
        _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{path} has a second statement {name}")
            found[name] = text.strip()
    return found


def pyformat(statement: str) -> str:
    """The parameter style of psycopg: `%(name)s`."""
    return _PARAMETER.sub(r"%(\1)s", statement.replace("%", "%%"))


def for_sqlite(statement: str) -> str:
    """A shared statement in SQLite's words."""
    statement = _ROWS.sub(_json_rows, _lists(statement))
    for pattern, replacement in _TO_SQLITE:
        statement = pattern.sub(replacement, statement)
    return statement


def _json_rows(found: re.Match[str]) -> str:
    """Rows of JSON as a table with these columns."""
    parameter, alias, columns = found.groups()
    names = [column.split()[0] for column in columns.split(",")]
    values = ", ".join(f"json_extract(value, '$.{name}') as {name}" for name in names)
    return f"(select {values} from json_each(:{parameter})) as {alias}"


def _lists(statement: str) -> str:
    """`= any(array(...))`, which PostgreSQL plans better, as `in (...)`."""
    while (start := statement.find(_ANY)) >= 0:
        depth, at = 2, start + len(_ANY)
        while depth:
            depth += {"(": 1, ")": -1}.get(statement[at], 0)
            at += 1
        statement = f"{statement[:start]}in ({statement[start + len(_ANY) : at - 2]}){statement[at:]}"
    return statement
