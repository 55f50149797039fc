"""Test files without a plan: marks on numbers and samples, for sessions that train nothing."""

VALUE = '''
import pytest


@pytest.mark.passmark("latency", metric="latency", at_most=2.0, unit="s")
def test_latency(passmark):
    """It answers within two seconds."""
    passmark.judge(1.5)
'''

SAMPLES = '''
import pytest


@pytest.mark.passmark("sum-time", metric="duration", at_most=1000.0, unit="s", pool="cpu:1")
def test_sum(stopwatch, passmark):
    """A small sum is done in no time."""
    passmark.judge(stopwatch(lambda: sum(range(100)), num_samples=5, num_warmups=2))
'''
