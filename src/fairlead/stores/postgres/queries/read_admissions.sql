select tenant, code, jobs from admission order by tenant, code
