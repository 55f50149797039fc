"""Where it runs: starts one worker a participant, watches them, and stops them all. May import `devices`."""
