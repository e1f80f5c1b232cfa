"""What people ask about jobs and the system: why a job waits, its timeline, alerts, the audit's hash chain."""
