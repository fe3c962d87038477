"""Ports for servers that start later."""

import pathlib
import random
import socket

LOCAL_RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST = 10_000
used_ports = set()


def free_port():
    """A port that no one listens at, another one each time.

    Below those that the system gives to outgoing connections: one of these
    would be lost to any connection that is made before the server listens.
    """
    try:
        end = int(LOCAL_RANGE.read_text().split()[0])
    except OSError:
        end = 32_768
    if end <= FIRST + 1000:  # The system leaves too few.
        end = 65_536
    while True:
        port = random.SystemRandom().randrange(FIRST, end)
        if port not in used_ports and is_free(port):
            used_ports.add(port)
            return port


def is_free(port):
    with socket.socket() as s:
        # As servers do, which do not mind connections that have just ended.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
