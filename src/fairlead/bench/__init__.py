"""`fairlead bench`: drain, enqueue, latency and http, which users ask of a machine. Studies are in benchmarks/."""
