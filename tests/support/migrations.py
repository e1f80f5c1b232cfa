"""The migrations that there are, the same for every store, and those of an earlier version."""

import shutil
from pathlib import Path

import fairlead.stores

FOLDER = Path(fairlead.stores.__file__).parent / "sqlite" / "migrations"
ALL = sorted(path.stem for path in FOLDER.glob("*.sql"))


def later_than(version: int) -> list[str]:
    """Those that a database of that version lacks."""
    return [name for name in ALL if int(name[:4]) > version]


def older_migrations(scripts: Path, version: int, folder: Path) -> Path:
    """A copy of a store's scripts, up to that version."""
    older = folder / "migrations"
    shutil.copytree(scripts, older)
    for name in later_than(version):
        (older / f"{name}.sql").unlink()
    return older
