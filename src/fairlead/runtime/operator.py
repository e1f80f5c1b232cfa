"""Who acts and why, for the audit."""

import getpass
import os
import socket
from dataclasses import dataclass
from typing import Any

from fairlead.core.insight.audit import AuditNote
from fairlead.errors import ConfigError

LONGEST_ACTOR = 200
LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Operator:
    """Who acts, and why."""

    actor: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if not self.actor.strip() or not self.actor.isprintable() or len(self.actor) > LONGEST_ACTOR:
            raise ConfigError(f"the actor has 1 to {LONGEST_ACTOR} characters that can be printed")
        if self.reason is not None and len(self.reason) > LONGEST_REASON:
            raise ConfigError(f"the reason has at most {LONGEST_REASON} characters")

    def note(self, action: str, target: str, **details: Any) -> AuditNote:
        """The note about an action, for the store to complete."""
        return AuditNote(self.actor, action, target, {"reason": self.reason, **details})


def whoami() -> str:
    """The user of this process and the machine it runs on."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
