"""Real processes that are killed, frozen and cut off."""
