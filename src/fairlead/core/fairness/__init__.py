"""Which job comes next: fair queueing by virtual time, entitlement, estimates. How a job ends is in core.jobs."""
