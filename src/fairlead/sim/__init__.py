"""The simulator: the real decisions of core, in virtual time."""
