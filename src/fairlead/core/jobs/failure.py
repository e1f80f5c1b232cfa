"""Failure classes, the retry policy of each, and error fingerprints.

Attempts are counted over all reasons together. A failure is retried while the job has had fewer attempts than the
policy of that failure's class allows; a lost worker uses up no attempt and is counted separately.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

from fairlead.core.jobs.retry import CUSTOM, DEFAULT_DELAYS, Retry
from fairlead.errors import ConfigError

LENGTH = 12
LONGEST_MESSAGE = 300
LONGEST_READ = 2_000

# The order matters: quoted text may contain a path, a path may contain a number. No pattern starts inside a word, so
# that matching takes linear time.
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
    """Return the fingerprint of an error raised in `frame`, a file and a function of the user's code."""
    source = "\x00".join((error_type, normalise(message), frame or ""))
    return sha256(source.encode("utf-8", "backslashreplace")).hexdigest()[:LENGTH]


def normalise(message: str) -> str:
    """Return the message with placeholders for numbers, ids, quoted text, addresses, paths and times; shortened."""
    replaced = _VARIABLE.sub(lambda match: f"<{match.lastgroup}>", message[:LONGEST_READ])
    return " ".join(replaced.split())[:LONGEST_MESSAGE]


CRASH_LIMIT = 3
TIMEOUT_ATTEMPTS = 3
RESOURCE_ATTEMPTS = 2
POISON_ATTEMPTS = 2


class FailureClass(StrEnum):
    """Why a run failed."""

    APPLICATION = "application"  # the handler raised an error of its own
    TIMEOUT = "timeout"  # it ran for longer than its timeout
    DEPENDENCY = "dependency"  # a dependency was unavailable, or asked for fewer requests
    CRASH = "crash"  # the worker that ran it was lost
    RESOURCE = "resource"  # it used more memory or other resources than allowed
    PERMANENT = "permanent"  # trying again cannot help
    POISON = "poison"  # it ran on several workers that were lost

    __hash__ = str.__hash__

    @classmethod
    def parse(cls, value: "FailureClass | str") -> "FailureClass":
        """Return the class with this name; ConfigError if there is none."""
        try:
            return cls(value)
        except ValueError:
            raise ConfigError(f"{value!r} is not a failure class; it must be one of {', '.join(cls)}") from None


class RetryDenial(StrEnum):
    """Why a retry that the job's own policy allows was denied."""

    BUDGET = "budget"  # its tenant's retries were used up
    QUARANTINE = "quarantine"  # its type is in quarantine

    __hash__ = str.__hash__


CHANGEABLE = frozenset(FailureClass) - {FailureClass.APPLICATION, FailureClass.PERMANENT}
DEPENDENCY_BACKOFF = {"backoff": "exponential", "first": 2.0, "factor": 4.0, "cap": 1800.0, "jitter": "full"}
NEVER = Retry(attempts=1)
AT_ONCE = Retry(attempts=CRASH_LIMIT, backoff="fixed", first=0)


@dataclass(frozen=True, slots=True)
class Policies:
    """The retry policies of a job type: one for application errors, and those declared for other failure classes."""

    application: Retry = field(default_factory=Retry)
    declared: Mapping[FailureClass, Retry] = field(default_factory=dict)

    def of(self, failure: FailureClass) -> Retry:
        """Return the policy for a failure class, declared or derived from the policy for application errors."""
        return self.declared.get(failure) or _default(failure, self.application)

    def but(self, application: Retry) -> "Policies":
        """Return a copy with another policy for application errors; a custom backoff keeps this one's function."""
        if application.backoff == CUSTOM:
            application = replace(self.application, attempts=application.attempts, max_age=application.max_age)
        return replace(self, application=application)


def policies(application: Retry, declared: Mapping[FailureClass | str, Retry] | None) -> Policies:
    """Return valid policies; ConfigError for a class whose policy cannot be declared."""
    parsed = {FailureClass.parse(name): policy for name, policy in (declared or {}).items()}
    for name, policy in parsed.items():
        if name not in CHANGEABLE:
            raise ConfigError(f"there is no policy to declare for {name} failures: {_FIXED[name]}")
        if not isinstance(policy, Retry):
            raise ConfigError(f"the policy for {name} failures is {policy!r:.100}; it must be a fairlead.Retry")
    if FailureClass.CRASH in parsed:  # the job runs again at once, so only the number of attempts can be chosen
        parsed[FailureClass.CRASH] = replace(AT_ONCE, attempts=parsed[FailureClass.CRASH].attempts)
    return Policies(application, parsed)


def policy_for(policy: Retry | Policies, failure: FailureClass) -> Retry:
    """Return the policy for a failure class; a plain Retry is the policy for application errors."""
    return policy.of(failure) if isinstance(policy, Policies) else _default(failure, policy)


def _default(failure: FailureClass, application: Retry) -> Retry:
    match failure:
        case FailureClass.TIMEOUT:
            return _at_most(application, TIMEOUT_ATTEMPTS)
        case FailureClass.RESOURCE:
            return _at_most(application, RESOURCE_ATTEMPTS)
        case FailureClass.POISON:
            return _at_most(application, POISON_ATTEMPTS)
        case FailureClass.DEPENDENCY:
            return _for_dependencies(application)
        case FailureClass.PERMANENT:
            return NEVER
        case FailureClass.CRASH:
            return AT_ONCE
    return application


def _at_most(policy: Retry, attempts: int) -> Retry:
    return policy if policy.attempts <= attempts else replace(policy, attempts=attempts)


def _for_dependencies(application: Retry) -> Retry:
    """Return an exponential policy, unless the type declares its own backoff."""
    if application.kind != "list" or application.delays != DEFAULT_DELAYS:
        return application
    return Retry(application.attempts, max_age=application.max_age, **DEPENDENCY_BACKOFF)  # type: ignore[arg-type]


_FIXED = {
    FailureClass.APPLICATION: "that is the type's `retry`",
    FailureClass.PERMANENT: "they are never retried",
}


# Exceptions by name, so that no library has to be imported; None means: classify by HTTP status.
_DEPENDENCIES = {
    "builtins": "ConnectionError TimeoutError",
    "errno": "ENETDOWN ENETUNREACH ENETRESET EHOSTDOWN EHOSTUNREACH",
    "socket": "gaierror herror",
    "ssl": "SSLError",
    "http.client": "IncompleteRead",
    "urllib.error": "URLError ContentTooShortError",
    "httpx": "TimeoutException NetworkError RemoteProtocolError ProxyError",
    "httpx2": "TimeoutException NetworkError RemoteProtocolError ProxyError",
    "requests.exceptions": "ConnectionError Timeout ChunkedEncodingError",
    "aiohttp.client_exceptions": "ClientConnectionError ServerTimeoutError ClientPayloadError",
    "urllib3.exceptions": "TimeoutError PoolError ProtocolError NewConnectionError ProxyError SSLError",
    "smtplib": "SMTPServerDisconnected SMTPConnectError",
    "sqlalchemy.exc": "OperationalError InterfaceError DisconnectionError TimeoutError",
    "django.db.utils": "OperationalError InterfaceError",
    "peewee": "OperationalError InterfaceError",
    "pymysql.err": "OperationalError InterfaceError",
    "MySQLdb": "OperationalError InterfaceError",
    "asyncpg.exceptions": "PostgresConnectionError InterfaceError CannotConnectNowError TooManyConnectionsError",
    "asyncpg.exceptions._base": "InterfaceError",
    "pymongo.errors": "ConnectionFailure AutoReconnect ServerSelectionTimeoutError",
    "elastic_transport": "ConnectionError ConnectionTimeout",
    "elasticsearch.exceptions": "ConnectionError ConnectionTimeout",
    "kombu.exceptions": "OperationalError",
    "amqp.exceptions": "ConnectionError RecoverableConnectionError",
    "paramiko.ssh_exception": "NoValidConnectionsError",
    "grpc": "FutureTimeoutError",
    "psycopg": "OperationalError InterfaceError",
    "psycopg2": "OperationalError InterfaceError",
    "redis.exceptions": "ConnectionError TimeoutError BusyLoadingError ClusterDownError TryAgainError ReadOnlyError",
    "botocore.exceptions": "ConnectionError HTTPClientError EndpointConnectionError ConnectTimeoutError "
    "ReadTimeoutError",
    "fairlead.errors": "StoreUnavailable CallbackFailed",
}
KNOWN: dict[str, FailureClass | None] = {
    **{
        f"{module}.{name}": FailureClass.DEPENDENCY for module, names in _DEPENDENCIES.items() for name in names.split()
    },
    "urllib.error.HTTPError": None,
    "ssl.SSLCertVerificationError": FailureClass.APPLICATION,
    "redis.exceptions.AuthenticationError": FailureClass.APPLICATION,
    "redis.exceptions.AuthorizationError": FailureClass.PERMANENT,
    "redis.exceptions.NoPermissionError": FailureClass.PERMANENT,
    "builtins.PermissionError": FailureClass.PERMANENT,
    "builtins.MemoryError": FailureClass.RESOURCE,
    "fairlead.errors.PayloadError": FailureClass.PERMANENT,
}
# Statuses that ask for a later attempt.
BUSY_STATUSES = frozenset({408, 425, 429})
# Statuses for which the same request gets the same answer. Others may be temporary: a token is renewed (401), a
# resource is created (404), a conflict ends (409), and many services answer 400 to everything.
FINAL_STATUSES = frozenset({403, 405, 410, 413, 414, 415, 422, 451})


def classify(
    names: Sequence[str], status: int | None = None, tables: Sequence[Mapping[str, FailureClass]] = ()
) -> FailureClass:
    """Return the failure class of an exception from the names of its type and bases, nearest first, and HTTP status.

    A match in the user's tables wins over Fairlead's own table, even if it is on a more distant base.
    """
    for table in tables:
        for name in names:
            if name in table:
                return table[name]
    known = next((KNOWN[name] for name in names if name in KNOWN), None)
    return known or _by_status(status)


def combined(classes: Iterable[FailureClass]) -> FailureClass:
    """The class of a group of failures: what all of them are, else an application error."""
    found = set(classes)
    return found.pop() if len(found) == 1 else FailureClass.APPLICATION


def _by_status(status: int | None) -> FailureClass:
    if status in BUSY_STATUSES or (status is not None and 500 <= status <= 599):
        return FailureClass.DEPENDENCY
    return FailureClass.PERMANENT if status in FINAL_STATUSES else FailureClass.APPLICATION
