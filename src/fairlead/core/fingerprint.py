"""The fingerprint of an error: what failures of one cause have in common, as a short text.

It is made of the error's type, its message without what differs from run to run, and the place in the user's code
that raised it: file and function, but no line number, so that an edit above it does not make a new group.
"""

import re
from hashlib import sha256

LENGTH = 12
LONGEST_MESSAGE = 300
LONGEST_READ = 2_000

# In this order: a text in quotes may hold a path, a path may hold a number. Each begins where no word is under way,
# so that no text is read more than a few times.
_PATTERNS = {
    "text": r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`",
    "url": r"(?<!\w)[a-zA-Z][a-zA-Z0-9+.-]{0,20}://\S+",
    "email": r"(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+",
    "time": r"(?<!\d)\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?)?"
    r"|(?<!\d)\d{1,2}:\d\d:\d\d(?:[.,]\d+)?",
    "uuid": r"(?<![\w-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\w-])",
    "path": r"(?<![\w.@~%+:-])(?:[A-Za-z]:)?[\w.@~%+-]*(?:[\\/][\w.@~%+-]+)+[\\/]?",
    "number": r"(?<!\w)0[xX][0-9a-fA-F]+(?!\w)"
    r"|(?<!\w)(?=[a-fA-F]*\d)[0-9a-fA-F]{6,}(?!\w)"
    r"|(?:(?<!\w)[+-])?\d+(?:[.,_]\d+)*(?:[eE][+-]?\d+(?!\w))?",
}
_VARIABLE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS.items()))


def fingerprint(error_type: str, message: str = "", frame: str | None = None) -> str:
    """The fingerprint of an error that was raised in `frame`, a file and a function of the user's code."""
    source = "\x00".join((error_type, normalise(message), frame or ""))
    return sha256(source.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH]


def normalise(message: str) -> str:
    """The message with a placeholder for each number, id, quoted text, address, path and time; bounded."""
    replaced = _VARIABLE.sub(lambda match: f"<{match.lastgroup}>", message[:LONGEST_READ])
    return " ".join(replaced.split())[:LONGEST_MESSAGE]
