"""Settings: defaults < fairlead.toml < environment (FAIRLEAD_*) < arguments, validated once, all errors together."""

import logging
import os
import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from fairlead.core.durations import seconds
from fairlead.core.web.egress import PORTS, EgressRules, Network, networks
from fairlead.core.web.proxies import proxy_networks
from fairlead.errors import ConfigError

FILE = "fairlead.toml"
PREFIX = "FAIRLEAD_"
NEARLY = 0.75

# Fairlead's own, its tests', and those that Kubernetes makes for services whose names begin with fairlead.
_OTHERS = re.compile(rf"{PREFIX}(SUPERVISOR_SOCKET|TEST_\w+|(\w+_)?(SERVICE_HOST|SERVICE_PORT\w*|PORT(_\d+_\w+)?))")
_log = logging.getLogger("fairlead")
_warned: set[str] = set()


def _seconds(value: Any) -> float:
    try:
        return seconds(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _several(value: Any) -> Any:
    """Split a comma-separated text, as environment variables have it; keep a list."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        networks(values)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return values


def _proxies(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        proxy_networks(values)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return values


Seconds = Annotated[float, BeforeValidator(_seconds)]
Networks = Annotated[tuple[str, ...], BeforeValidator(_several), AfterValidator(_networks)]
Proxies = Annotated[tuple[str, ...], BeforeValidator(_several), AfterValidator(_proxies)]
Ports = Annotated[tuple[Annotated[int, Field(ge=1, le=65535)], ...], BeforeValidator(_several)]


class Settings(BaseModel):
    """All settings; durations are written like 30s or 5m."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    database_url: str = Field("sqlite:///fairlead.db", min_length=1, repr=False)  # it may hold a password
    listen_url: str | None = Field(
        None, min_length=1, repr=False
    )  # the server's own URL, if database_url is a pooler's
    lease: Seconds = Field(30.0, ge=1, le=3600)
    heartbeat: Seconds = Field(10.0, ge=0.1, le=1200)
    poll: Seconds = Field(2.0, ge=0.05, le=60)
    drain: Seconds = Field(30.0, ge=0, le=86400)
    promote_rate: int = Field(5000, ge=1, le=1_000_000)
    promote_tenant_rate: int = Field(2500, ge=1, le=1_000_000)
    lead: Seconds = Field(10.0, ge=1, le=600)
    retention: Seconds = Field(7 * 86400.0, ge=0)
    ledger_retention: Seconds = Field(35 * 86400.0, ge=3600)
    default_tenant: str = Field("default", min_length=1, max_length=200)
    payload_limit: int = Field(64 * 1024, ge=1024, le=1024 * 1024)
    result_limit: int = Field(64 * 1024, ge=1024, le=1024 * 1024)
    checkpoint_limit: int = Field(64 * 1024, ge=1024, le=1024 * 1024)
    api_body_limit: int = Field(1024 * 1024, ge=1024, le=64 * 1024 * 1024)
    api_followers: int = Field(1_000, ge=1, le=100_000)
    api_rate: float = Field(5_000.0, ge=0.001, le=1_000_000)
    api_trusted_proxies: Proxies = ()

    callback_timeout: Seconds = Field(15.0, ge=1, le=120)
    callback_networks: Networks = ()
    callback_ports: Ports = PORTS
    callback_http: bool = False

    @property
    def egress(self) -> EgressRules:
        """Where callbacks may go."""
        return EgressRules(networks(self.callback_networks), frozenset(self.callback_ports), self.callback_http)

    @property
    def trusted_proxies(self) -> tuple[Network, ...]:
        """Networks of proxies whose X-Forwarded headers are trusted."""
        return proxy_networks(self.api_trusted_proxies)

    @model_validator(mode="after")
    def _heartbeat_fits_lease(self) -> "Settings":
        if self.heartbeat * 2 > self.lease:
            raise ValueError(
                f"heartbeat ({self.heartbeat:g}s) must be at most half of lease ({self.lease:g}s), "
                "so that one missed heartbeat does not lose the lease"
            )
        return self


def load_settings(folder: Path | None = None, **arguments: Any) -> Settings:
    """Load the settings; ConfigError names every invalid value and its source."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, found in (
        (FILE, _from_file((folder or Path()) / FILE)),
        ("the environment", _from_environment()),
        ("the arguments", {name: value for name, value in arguments.items() if value is not None}),
    ):
        values.update(found)
        sources.update(dict.fromkeys(found, source))
    try:
        return Settings(**values)
    except ValidationError as error:
        raise ConfigError(_describe(error, sources)) from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:  # ValueError: not TOML, or not even UTF-8
        raise ConfigError(f"{path} cannot be read ({error}); mend it or remove it") from None


def _from_environment() -> dict[str, Any]:
    names = {f"{PREFIX}{name.upper()}": name for name in Settings.model_fields}
    _check_unknown([key for key in os.environ if key.startswith(PREFIX) and key not in names], names)
    return {names[key]: value for key, value in os.environ.items() if key in names and value != ""}


def _check_unknown(unknown: Iterable[str], names: Iterable[str]) -> None:
    """Refuse variables that are nearly a setting, and warn once of others that are none; both would be ignored."""
    known = [name.removeprefix(PREFIX) for name in names]
    misspelt = []
    for key in sorted(unknown):
        near = get_close_matches(key.removeprefix(PREFIX), known, 1, NEARLY)
        if _OTHERS.fullmatch(key):
            continue
        if near:
            misspelt.append(f"{key} (from the environment): there is no such setting; do you mean {PREFIX}{near[0]}?")
        elif key not in _warned:
            _warned.add(key)
            _log.warning("%s is set in the environment, but there is no such setting; it is ignored", key)
    if misspelt:
        raise ConfigError("settings that cannot work:\n  " + "\n  ".join(misspelt))


def _describe(error: ValidationError, sources: dict[str, str]) -> str:
    lines = []
    for problem in error.errors():
        name = str(problem["loc"][0]) if problem["loc"] else "settings"
        message = problem["msg"].removeprefix("Value error, ")
        lines.append(f"{name} (from {sources.get(name, 'the defaults')}): {message}")
    return "settings that cannot work:\n  " + "\n  ".join(lines)
