"""Two ends of a TCP line on this machine."""

import socket


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Both ends of a new line over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
    return here, there
