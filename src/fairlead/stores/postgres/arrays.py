"""Many values as one parameter, in the forms that cost both sides least."""

import struct
from collections.abc import Sequence

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

TEXT, TEXTS = 25, 1009  # PostgreSQL's numbers of these types
HEAD = struct.Struct("!iiIii")  # dimensions, whether there are nulls, the type, how many, and what the first is called
SIZE = struct.Struct("!i")
NULL = SIZE.pack(-1)


class Texts:
    """Texts with anything in them, or nulls, as an array in binary: nothing is escaped and nothing is parsed."""

    __slots__ = ("texts",)

    def __init__(self, texts: Sequence[str | None]) -> None:
        self.texts = texts


class _TextsDumper(Dumper):
    oid = TEXTS
    format = Format.BINARY

    def dump(self, obj: Texts) -> bytes:
        parts = [HEAD.pack(1, 1, TEXT, len(obj.texts), 1)]
        for text in obj.texts:
            if text is None:
                parts.append(NULL)
            else:
                content = text.encode()
                parts += (SIZE.pack(len(content)), content)
        return b"".join(parts)


def plain_array(values: Sequence[str]) -> str:
    """Values without special characters as PostgreSQL reads an array."""
    return f"{{{','.join(values)}}}"


psycopg.adapters.register_dumper(Texts, _TextsDumper)
