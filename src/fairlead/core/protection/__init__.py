"""What keeps work from starting or being accepted: limits, breakers, budgets, quarantine, backpressure, pauses."""
