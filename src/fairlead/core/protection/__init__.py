"""What keeps jobs from being accepted or started: limits, breakers, retry budgets, quarantine, backpressure, pauses.

The order in which allowed jobs start is in core.fairness.
"""
