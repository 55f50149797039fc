"""Other formats for the facts of a report: one file a format, `registry` names them all.

Each takes one `Material` and writes below the report folder of its suite. None of them judges, and none may hide a
verdict: what cannot be written raises an `OSError`, and the caller says so beside the verdict.
"""
