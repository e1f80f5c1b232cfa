"""The benchmark that users run too: every figure beside the floor that the same machine and store have."""
