"""How a duration is taken: clocks, warm-up then samples, phases of a round, summaries. A leaf.

Imports no other room.
"""
