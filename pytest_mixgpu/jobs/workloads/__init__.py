"""What is trained: recipes (data), sources of samples, models, optimizers, and the one evaluator.

A recipe comes in, an open workload goes out. Imports no torch and no numpy at module level; knows nothing of rounds.
"""
