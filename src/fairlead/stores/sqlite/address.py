"""What a SQLite URL says, and whether a database can live safely where it points."""

import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from fairlead.errors import ConfigError, StoreRefused

HELP = "write it like sqlite:///jobs.db, sqlite:////var/lib/jobs.db or sqlite:///:memory:"
MEMORY = ":memory:"
MOUNTS = Path("/proc/self/mounts")

# File systems whose locks, or whose shared memory, do not hold between machines: WAL loses data on them.
NETWORKED = frozenset(
    {
        "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.davfs2", "fuse.glusterfs",
        "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb2",
        "smb3", "smbfs", "vboxsf",
    }
)  # fmt: skip


class Address(NamedTuple):
    """A database file by its real path, or one in memory; `synchronous` is FULL or NORMAL."""

    path: str
    synchronous: str = "FULL"

    @property
    def in_memory(self) -> bool:
        """Whether the database lives and dies with its connection."""
        return self.path == MEMORY


def parse(url: str) -> Address:
    """Take a URL apart."""
    scheme, _, rest = url.partition("://")
    location, _, options = rest.partition("?")
    if scheme != "sqlite" or (location and not location.startswith("/")):
        raise ConfigError(f"{url!r} is not a SQLite URL; {HELP}")
    name = location[1:] or MEMORY
    path = name if name == MEMORY else os.path.realpath(name)
    return Address(path, _synchronous(url, options))


def _synchronous(url: str, options: str) -> str:
    """FULL, unless the URL says `?synchronous=normal`, which may lose the last commits on power loss."""
    given = dict(parse_qsl(options, keep_blank_values=True))
    value = given.pop("synchronous", "full").upper()
    if given or value not in ("FULL", "NORMAL"):
        raise ConfigError(
            f"{url!r} has an option that SQLite URLs do not know; the only one is synchronous=full or "
            "synchronous=normal (normal may lose the last commits on power loss)"
        )
    return value


def require_local(path: str) -> None:
    """Raise StoreRefused if the file is on a network file system."""
    kind = _file_system(path)
    if kind in NETWORKED:
        raise StoreRefused(
            f"{path} is on a network file system ({kind}), where SQLite's locks do not hold and data gets lost; "
            "put the file on a local disk, or use PostgreSQL"
        )


def _file_system(path: str) -> str | None:
    """The kind of the file system that holds a path, where the kernel tells."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    best, kind = "", None
    for fields in (line.split(" ") for line in lines):
        mount = _unescape(fields[1])
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, fields[2]
    return kind


def _unescape(mount: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        mount = mount.replace(code, character)
    return mount
