"""What a job is and what becomes of it: states, settlement, retries, expiry, dead letters. No fairness between jobs."""
