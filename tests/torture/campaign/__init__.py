"""Mixed faults at random for as long as is wanted, and a check of the whole history: `make torture MINUTES=60`."""
