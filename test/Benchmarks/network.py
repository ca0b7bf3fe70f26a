"""Two network namespaces joined by a veth pair whose rate is limited at both ends: a slow network between two ranks of one machine."""
import os
import pathlib
import stat
import subprocess
import tempfile


def _run(*command, check=True):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if check and result.returncode:
        raise OSError(f"{' '.join(command)}: {result.stdout.strip() or result.returncode}")


class Link:
    """`rate` is as tc spells it ("1gbit"); None leaves the pair as fast as it is. Use it as a context."""
    subnet = "10.203.0"

    def __init__(self, rate):
        self.rate = rate
        self.names = [f"zb{os.getpid()}-{i}" for i in range(2)]
        self.interfaces = [f"zbv{os.getpid() % 1000000}{'ab'[i]}" for i in range(2)]  # 15 characters at most
        self.addresses = [f"{self.subnet}.{i + 1}" for i in range(2)]

    def __enter__(self):
        try:
            for name in self.names:
                _run("ip", "netns", "add", name)
            _run("ip", "link", "add", self.interfaces[0], "netns", self.names[0], "type", "veth", "peer", "name", self.interfaces[1],
                 "netns", self.names[1])
            for name, interface, address in zip(self.names, self.interfaces, self.addresses):
                _run("ip", "-n", name, "addr", "add", address + "/24", "dev", interface)
                _run("ip", "-n", name, "link", "set", interface, "up")
                _run("ip", "-n", name, "link", "set", "lo", "up")
                if self.rate:
                    _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", self.rate, "burst",
                         "256kb", "latency", "100ms")
        except BaseException:
            self.__exit__()
            raise
        self.folder = tempfile.TemporaryDirectory(prefix="zero-bench-")
        # How mpirun in the first namespace starts its daemon in the second: own host names, or both count as one machine.
        agent = pathlib.Path(self.folder.name) / "agent"
        agent.write_text(f"#!/bin/bash\nshift\nexec ip netns exec {self.names[1]} unshare --uts bash -c \"hostname {self.names[1]}; $*\"\n")
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        self.agent = str(agent)
        return self

    def __exit__(self, *_):
        for name in self.names:
            _run("ip", "netns", "del", name, check=False)
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def inside(self, rank):
        return ["ip", "netns", "exec", self.names[rank]]

    def mpirun(self):
        network = self.subnet + ".0/24"
        return (self.inside(0) + ["unshare", "--uts", "bash", "-c", f'hostname {self.names[0]}; exec "$@"', "mpirun", "mpirun"] +
                ["-H", ",".join(a + ":1" for a in self.addresses), "--mca", "plm_rsh_agent", self.agent, "--mca", "oob_tcp_if_include", network,
                 "--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", network])


def why_impossible():
    """None where namespaces and their limits work here, else the reason."""
    try:
        with Link("1gbit"):
            return None
    except OSError as error:
        return str(error)


def rate_bits(rate):
    """1gbit -> 1e9."""
    for unit, factor in (("gbit", 1e9), ("mbit", 1e6)):
        if rate.endswith(unit):
            return float(rate[:-len(unit)]) * factor
    raise ValueError(f"'{rate}' is no rate; it ends in gbit or mbit")
