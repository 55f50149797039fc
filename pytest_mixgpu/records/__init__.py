"""What was observed: the plan that was in force, run records, their store and ledger. Knows no threshold.

May import `devices` and `timing`; never torch.
"""
