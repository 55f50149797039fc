"""Was the mark met: pass marks and claims, lock, metrics computed from records, judge, verdicts. Runs nothing.

May import `records`, `timing` and `devices`; never torch.
"""
