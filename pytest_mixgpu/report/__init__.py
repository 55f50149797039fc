"""What people and CI read: rows from verdicts and records, and one writer a format.

May import `marks`, `records`, `timing`.
"""
