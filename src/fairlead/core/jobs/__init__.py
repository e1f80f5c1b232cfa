"""One job: its states, settlement, retries, expiry, cancelling, dead letters and ids.

Which job comes next is in core.fairness; what keeps jobs from starting is in core.protection.
"""
