"""Makes the fixtures of our own suites and pytest's own test bed available."""

pytest_plugins = ["fixtures.experiments", "pytester"]
