"""What an honest record may be off by, all in one place. Measured, then widened: a faked gain within these is small."""

ROUNDING_S = 1e-6
"""What sums of durations may differ by because of rounding."""
CLOCK_RATE = 1e-3
"""Share by which two clocks may run apart; quartz does a tenth of that at worst."""
STAMPING_S = 0.01
"""What may lie between two stamps of one event in one process."""
WAKING_S = 0.05
"""How late a process may be woken on a busy core; what is faked in this margin is small, and honest runs stay whole."""
STARVED_SHARE = 0.10
"""Share of a core that others took in a round from where on a process can be woken later than that, by up to what they
took: 0.23 s of a round of 2.9 s were seen, with 68 %. A round that needs this is `disturbed`, whatever share a plan
puts up with, and counts as the worst value, so nothing is won by it."""
WALL_S = 0.05
"""What a wall clock may be set by between two moments that it gives; moments are written in whole milliseconds."""
LEASING_S = 0.5
"""What may lie between the end of the span `lease` and the run's registration: 0.06 s were seen on a busy machine."""
BETWEEN_ROUNDS_S = 0.25
"""What the supervisor may take for one round besides the round: 0.006 s were seen on a busy machine."""
BETWEEN_ROUNDS_SHARE = 0.02
"""The same as a share of training, for crews of many participants."""
BETWEEN_SPANS_S = 0.5
"""What may lie between spans from lease to release, where lines are written: 0.004 s were seen."""
BETWEEN_SPANS_SHARE = 0.02
"""The same as a share of the lease, for slow disks."""
BYTES_A_VALUE = {"float32": 4}
"""Least bytes that a value of the model has on the wire, by payload."""
