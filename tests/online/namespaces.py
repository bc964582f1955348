"""Starts each rank of a job in a network namespace and with a host name of its own, as containers on one machine.

    namespaces.py NAME COUNT COMMAND...      in the namespaces of a Network that was made before
"""

import contextlib
import os
import signal
import subprocess
import sys


def ip(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


class Network:
    """`count` hosts on a bridge, each link limited to `rate`."""

    def __init__(self, name, count, rate="1gbit"):
        self.name, self.count = name, count
        self.remove()
        ip("ip", "link", "add", f"{name}br", "type", "bridge")
        ip("ip", "link", "set", f"{name}br", "up")
        for i in range(count):
            ip("ip", "netns", "add", f"{name}{i}")
            ip("ip", "link", "add", f"{name}v{i}", "type", "veth", "peer", "name", "eth0", "netns", f"{name}{i}")
            ip("ip", "link", "set", f"{name}v{i}", "master", f"{name}br", "up")
            ip("ip", "-n", f"{name}{i}", "addr", "add", f"10.87.0.{i + 1}/24", "dev", "eth0")
            ip("ip", "-n", f"{name}{i}", "link", "set", "eth0", "up")
            ip("ip", "-n", f"{name}{i}", "link", "set", "lo", "up")
            ip("tc", "-n", f"{name}{i}", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "512kb",
               "latency", "100ms")

    def limit(self, host, rate):
        ip("tc", "-n", f"{self.name}{host}", "qdisc", "change", "dev", "eth0", "root", "tbf", "rate", rate, "burst",
           "512kb", "latency", "100ms")

    def remove(self):
        for i in range(self.count):
            ip("ip", "netns", "del", f"{self.name}{i}", check=False)
            ip("ip", "link", "del", f"{self.name}v{i}", check=False)
        ip("ip", "link", "del", f"{self.name}br", check=False)


def run(name, count, command):
    ranks = []
    for i in range(count):
        environment = dict(os.environ, RANK=str(i), LOCAL_RANK="0", WORLD_SIZE=str(count), MASTER_ADDR="10.87.0.1",
                           MASTER_PORT="29571", GLOO_SOCKET_IFNAME="eth0")
        inside = ["ip", "netns", "exec", f"{name}{i}", "unshare", "--uts", "sh", "-c", f'hostname h{i}; exec "$@"', "sh"]
        ranks.append(subprocess.Popen(inside + command, env=environment))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: [rank.terminate() for rank in ranks])
    status = 0
    for rank in ranks:
        status = rank.wait() or status
    return status


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(run(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
