"""Answers for people: why a job waits, its timeline, wait times, alerts, the audit. Nothing here changes a job."""
