"""What takes minutes; `make torture` runs it, `make test` does not."""
