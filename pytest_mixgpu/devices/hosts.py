"""What this host is called and where others reach it; a launcher that tells hosts apart says so by two variables."""

import os
import socket

HOST_VARIABLE = "MIXGPU_HOST"
"""The host's name, where its own is not the only one of that name: every process on it must call it the same."""

ADDRESS_VARIABLE = "MIXGPU_ADDRESS"
"""The address at which the other hosts of a job reach this one."""


def host_name() -> str:
    """What this host is called in devices, records and errors."""
    return os.environ.get(HOST_VARIABLE) or socket.gethostname()


def host_address() -> str:
    """Where other hosts reach a process of this one: an address if a launcher knows it, else the host's name."""
    return os.environ.get(ADDRESS_VARIABLE) or socket.gethostname()
