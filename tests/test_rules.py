"""Rules of the house that no other tool checks: sizes, imports, where SQL lives, what no file may contain."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "fairlead"
LONGEST_FILE = 400

STATEMENT = re.compile(r"\s*(select|insert\s+into|update\s+\w+\s+set|delete\s+from)\b", re.IGNORECASE)
# Commands to a session (PRAGMA, BEGIN, COMMIT, LISTEN, NOTIFY) are no statements about data and may stand in
# code; of the others only these may.
ALLOWED_STATEMENTS = frozenset({"select 1"})

# Libraries that only calculate: no input or output, no clock, no global state.
PURE_LIBRARIES = frozenset({"cronsim"})

UNSAFE_MODULES = frozenset({"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "yaml"})
UNSAFE_CALLS = frozenset({"eval", "exec"})

# Joined from pieces, so that this file does not contain what it looks for.
REGISTRY_HOSTS = tuple(
    ".".join(pieces)
    for pieces in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("crates", "io"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
    ]
)
NOT_OURS = frozenset({".git", ".venv", "__pycache__", "build", "dist", "node_modules"})
CACHES = re.compile(r"\.\w+_cache|\.hypothesis")


def python_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def syntax_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def place(path: Path, node: ast.AST | None = None) -> str:
    line = f":{node.lineno}" if isinstance(node, ast.expr | ast.stmt) else ""
    return f"{path.relative_to(ROOT)}{line}"


def imported_modules(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Each import with its absolute name; `from a import b` counts as a.b, for b may be a module."""
    package = ("fairlead", *path.relative_to(SOURCE).parent.parts)
    for node in ast.walk(syntax_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node, f"{module}.{alias.name}") for alias in node.names)


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_files_are_short_enough_to_read() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert [f"{place(path)}: {n} lines" for path, n in lengths.items() if n > LONGEST_FILE] == []


def test_core_uses_only_the_standard_library_and_pure_ones() -> None:
    offences = [
        f"{place(path, node)} imports {module}"
        for path in sorted((SOURCE / "core").rglob("*.py"))
        for node, module in imported_modules(path)
        if module.partition(".")[0] not in sys.stdlib_module_names | PURE_LIBRARIES
        and not is_within(module, "fairlead.core")
        and not is_within(module, "fairlead.errors")
    ]
    assert offences == []


def test_nothing_runs_code_from_data() -> None:
    offences = [
        f"{place(path, node)} imports {module}"
        for path in python_files()
        for node, module in imported_modules(path)
        if module.partition(".")[0] in UNSAFE_MODULES
    ]
    offences += [
        f"{place(path, node)} calls {node.func.id}"
        for path in python_files()
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS
    ]
    assert offences == []


def texts_in_code(module: ast.Module) -> Iterator[ast.Constant]:
    """The string literals of a file, without docstrings and without the later pieces of f-strings."""
    passed_over: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed_over.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            passed_over.update(node.values[1:])
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in passed_over:
            yield node


def test_statements_live_in_sql_files() -> None:
    offences = [
        f"{place(path, text)}: {str(text.value)[:60]!r}"
        for path in python_files()
        if "migrations" not in path.parts
        for text in texts_in_code(syntax_of(path))
        if STATEMENT.match(str(text.value)) and str(text.value).strip().lower() not in ALLOWED_STATEMENTS
    ]
    assert offences == []


NAMED_STATEMENT = re.compile(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", re.MULTILINE | re.DOTALL)


def count_statements(script: str) -> int:
    """Statements of a script; a semicolon in a comment or in a quoted text separates nothing."""
    quoted_or_comment = r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|(\$\w*\$).*?\1"
    bare = re.sub(quoted_or_comment, " ", script, flags=re.DOTALL)
    return sum(1 for piece in bare.split(";") if piece.strip())


def test_a_name_has_one_statement() -> None:
    counts = {
        f"{place(path)} {name}": count_statements(text)
        for path in sorted(SOURCE.rglob("*.sql"))
        if path.parent.name == "sql"
        for name, text in NAMED_STATEMENT.findall(path.read_text(encoding="utf-8"))
    }
    assert len(counts) > 200
    assert [f"{name}: {count} statements" for name, count in counts.items() if count != 1] == []


def test_statements_are_counted_without_comments_and_quotes() -> None:
    assert count_statements("-- first; second\nselect ';' from job; /* ; */\n") == 1
    assert count_statements("select $$ a; b $$") == 1
    assert count_statements("select 1; select 2") == 2
    assert count_statements("-- nothing;\n") == 0


def is_ours(path: Path) -> bool:
    return not any(part in NOT_OURS or CACHES.fullmatch(part) for part in path.parts)


def files_of_the_project() -> list[Path]:
    """What git tracks or would track; a copy without git is walked instead."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = [ROOT / name for name in listing.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if is_ours(path.relative_to(ROOT))]
    return [path for path in found if path.is_file()]


def test_no_file_names_a_registry_or_this_checkout() -> None:
    # A checkout in a folder such as /src is no telling path: its name stands in many innocent texts.
    checkout = [rf"(?<![\w./-]){re.escape(str(ROOT))}(?![\w-])"] if len(ROOT.parts) > 2 else []
    forbidden = re.compile("|".join([*(rf"\b{re.escape(host)}\b" for host in REGISTRY_HOSTS), *checkout]))
    offences = [
        f"{place(path)}: {match.group()}"
        for path in files_of_the_project()
        if (match := forbidden.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert offences == []
