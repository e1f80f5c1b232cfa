"""The migrations that there are, the same for every store."""

from pathlib import Path

import fairlead.stores

FOLDER = Path(fairlead.stores.__file__).parent / "sqlite" / "migrations"
ALL = sorted(path.stem for path in FOLDER.glob("*.sql"))
