"""pytest-mixgpu: a benchmark is an experiment, and pytest is its referee."""
