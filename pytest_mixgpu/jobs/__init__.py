"""The job under test: workloads, rounds, exchange, and the conduct of one run from lease to outcome.

May import `launch`, `devices`, `timing` and `records`. Judges nothing.
"""
