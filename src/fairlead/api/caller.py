"""Who calls, and what an endpoint needs of them. Every endpoint names its need; one without is not served."""

from typing import Annotated, NamedTuple

from fastapi import Depends, Request

from fairlead.api.problems import Problem
from fairlead.api.service import Service
from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.job_records import JobRecord
from fairlead.core.web.api_keys import ApiKey, Grant
from fairlead.documents.base import Body
from fairlead.errors import JobNotFound, UnknownPool
from fairlead.records.store import Store
from fairlead.runtime.operator import LONGEST_ACTOR, Operator


class Caller(NamedTuple):
    """The owner of a key, and what serves them."""

    service: Service
    key: ApiKey

    @property
    def store(self) -> Store:
        """The store behind the API."""
        return self.service.store

    @property
    def tenant(self) -> str | None:
        """The tenant that the key is bound to."""
        return self.key.tenant

    @property
    def seat(self) -> str:
        """Who waits and watches: all keys of a tenant together, or a key that is bound to none."""
        return f"key {self.key.id}" if self.tenant is None else f"tenant {self.tenant}"

    def operator(self, wanted: Body | None = None) -> Operator:
        """Who acts and why, for the audit; the reason is that of the request's body."""
        reason = getattr(wanted, "reason", None)
        name = "".join(letter if letter.isprintable() else "?" for letter in self.key.name)
        return Operator(f"key {self.key.id} ({name})"[:LONGEST_ACTOR], reason)

    def tenant_for(self, wanted: str | None) -> str | None:
        """The tenant that a request is about; a key that is bound to another is refused."""
        if self.tenant is None or wanted is None or wanted == self.tenant:
            return self.tenant or wanted
        raise Problem(403, "TENANT_FORBIDDEN", f"this key is bound to the tenant {self.tenant}")

    async def require_pool(self, name: str | None) -> None:
        """UnknownPool for a tenant's key that names a pool which nobody has declared and no worker serves."""
        if name is not None and self.tenant is not None and not await self.service.types.knows_pool(name):
            raise UnknownPool(
                f"there is no pool {name!r}: no type declares it, no operator has set it up and no worker serves it; "
                "leave the pool out for that of the type"
            )

    def owns(self, job: JobRecord) -> bool:
        """Whether a job may be seen and touched."""
        return self.tenant is None or job.tenant == self.tenant

    async def job(self, job_id: str) -> JobRecord:
        """A job of the caller's; another tenant's is as absent as one that never was."""
        record = await self.store.reader.read(job_id) if is_id(job_id) else None
        if record is None or not self.owns(record):
            raise JobNotFound("there is no such job; it may have been removed after its retention time")
        return record


class Needs:
    """The dependency that finds the caller and refuses one whose key does not suffice."""

    def __init__(self, grant: Grant | None, everywhere: bool = False) -> None:
        self.grant = grant
        self.everywhere = everywhere

    async def __call__(self, request: Request) -> Caller:
        """The caller."""
        caller: Caller = request.scope["fairlead.caller"]
        if self.grant is not None and not caller.key.allows(self.grant):
            raise Problem(403, "SCOPE_MISSING", f"this key has not the scope {self.grant}")
        if self.everywhere and caller.tenant is not None:
            raise Problem(403, "TENANT_FORBIDDEN", "this concerns all tenants, and this key is bound to one")
        return caller


Anyone = Annotated[Caller, Depends(Needs(None))]
Submitter = Annotated[Caller, Depends(Needs(Grant.ENQUEUE))]
Reader = Annotated[Caller, Depends(Needs(Grant.READ))]
Overseer = Annotated[Caller, Depends(Needs(Grant.READ, everywhere=True))]
Actor = Annotated[Caller, Depends(Needs(Grant.OPERATE))]
Chief = Annotated[Caller, Depends(Needs(Grant.OPERATE, everywhere=True))]
Admin = Annotated[Caller, Depends(Needs(Grant.ADMIN, everywhere=True))]
