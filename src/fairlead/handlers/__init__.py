"""Job types as code: a function, its arguments and its policies; what both the client and the worker need."""
