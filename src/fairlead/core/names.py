"""Names that users choose for types, pools and tenants; each fits into one part of a URL's path."""

import re

from fairlead.errors import ConfigError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,199}")


def check_name(kind: str, name: str) -> str:
    """Return the name if it is valid, else ConfigError."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r} cannot be the name of a {kind}: use 1 to 200 letters, digits and _ . : @ -, "
            "beginning with a letter, digit or _"
        )
    return name
