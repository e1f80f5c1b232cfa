select tenant, waiting, :now - at from backlog where tenant = :tenant
