"""Everything stored beside the hot path of jobs: one class for each feature, written once over ports.Database.

What differs between databases (enqueue, claim, settle, wake) is in stores; decisions are in core.
"""
