"""The two readers of the API's description: applications need a dozen operations, operators the others."""

APPLICATIONS = "applications"
OPERATORS = "operators"

DESCRIBED = [
    {"name": APPLICATIONS, "description": "Submit jobs, follow them, read their results."},
    {"name": OPERATORS, "description": "Look after queues, workers, dead letters, schedules, settings and keys."},
]
