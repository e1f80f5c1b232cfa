"""Stand-ins for parts of a store, where a test has to hold one back, break it or count its calls."""

from types import SimpleNamespace
from typing import Any, cast

from fairlead.records.store import Store


def store_of(**parts: Any) -> Store:
    """A store that has only these parts, such as `jobs` or `shares`."""
    return cast(Store, SimpleNamespace(**parts))
