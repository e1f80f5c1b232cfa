"""Statements from files: one statement a file, named like the verb that runs it, with `:name` parameters."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")


def queries(folder: Path, style: Callable[[str], str]) -> Callable[[str], str]:
    """A function from a statement's name to its text in the driver's parameter style, each read once."""

    @cache
    def query(name: str) -> str:
        return style((folder / f"{name}.sql").read_text(encoding="utf-8").strip())

    return query


def pyformat(statement: str) -> str:
    """The parameter style of psycopg: `%(name)s`."""
    return _PARAMETER.sub(r"%(\1)s", statement.replace("%", "%%"))


def named(statement: str) -> str:
    """The parameter style of SQLite, which is ours."""
    return statement
