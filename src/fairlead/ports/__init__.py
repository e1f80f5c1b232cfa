"""What the engine asks of the outside world: one protocol a file, each with the essay that defines it."""
