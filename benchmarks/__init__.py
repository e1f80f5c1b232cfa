"""A developer's benchmarks: studies of Fairlead itself, run from a checkout with `python -m benchmarks`."""
