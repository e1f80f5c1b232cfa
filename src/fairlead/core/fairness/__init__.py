"""Whose job comes next: shares, virtual time, estimates of run time, entitlement. Nothing about single jobs' ends."""
