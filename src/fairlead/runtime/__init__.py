"""What several services need beside the store: hints, controls as last read, breakers, back-off, the clock since boot.

Nothing here belongs to one service alone.
"""
