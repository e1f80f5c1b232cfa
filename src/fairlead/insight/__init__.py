"""Answers to questions about jobs and the system: why a job waits, how the system is, what is set. Changes nothing."""
