"""The simulator: runs the decisions of core in virtual time. No store, no handlers, no clock."""
