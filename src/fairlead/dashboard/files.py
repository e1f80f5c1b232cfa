"""The built files of the page; without them, a plain page that says how to build them."""

import gzip
import mimetypes
from functools import cache
from pathlib import Path
from typing import NamedTuple

STATIC = Path(__file__).parent / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
PLAIN = b"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Fairlead</title></head>
<body>
<h1>Fairlead</h1>
<p>The dashboard was not built, because Node.js was not there. Install it and run <code>make dashboard</code>.</p>
<p>What it shows is in the HTTP API under <code>/v1</code> too, and in <code>fairlead --help</code>.</p>
</body>
</html>
"""


class File(NamedTuple):
    """What is sent for a path."""

    body: bytes
    media_type: str
    is_lasting: bool  # its name changes with its content
    packed: bytes | None = None  # the body in gzip, where that is smaller


@cache
def files() -> dict[str, File]:
    """All files by their path below /dashboard/."""
    found = {}
    for path in STATIC.rglob("*") if STATIC.is_dir() else ():
        if path.is_file():
            name = path.relative_to(STATIC).as_posix()
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            body = path.read_bytes()
            found[name] = File(body, kind, name.startswith("assets/"), _packed(body))
    return found


def _packed(body: bytes) -> bytes | None:
    packed = gzip.compress(body, 9, mtime=0)
    return packed if len(packed) < len(body) else None


def file_for(path: str) -> File:
    """The file at a path; paths that the page itself understands get the page."""
    found = files()
    return found.get(path) or found.get("index.html") or File(PLAIN, "text/html", False)


def is_built() -> bool:
    """Whether there is more than the plain page."""
    return "index.html" in files()
