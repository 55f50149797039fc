"""A Ray cluster of several nodes on this machine, in a network namespace that has loopback only.

Ray looks for a way out and replaces 127.0.0.1 by an outside address where it finds one; in the namespace there is none.
Whatever a test runs against the cluster runs in the same namespace.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

ROOT = Path(__file__).parents[1]
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "PYTHONPATH": str(ROOT)}

IN_A_ROOM = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Runs what follows in a network namespace of its own that has loopback only."""


def why_not() -> str:
    """Why no such cluster can be started here; empty if one can."""
    if importlib.util.find_spec("ray") is None:
        return "Ray is not installed (pip install 'pytest-mixgpu[ray]')"
    missing = [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is not installed (util-linux, iproute2)"
    if os.geteuid() != 0:
        return "a network namespace needs root"
    tried = subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else f"no network namespace: {tried.stderr.decode().strip()}"


class RayNet:
    """A cluster: a head that has no device, and nodes with two cores each, called `node-0`, `node-1` and so on.

    Args:
        num_nodes: beside the head.
        environment: variables of all nodes, for example a token.
    """

    def __init__(self, num_nodes: int, *, environment: Mapping[str, str] | None = None) -> None:
        self._leases = tempfile.TemporaryDirectory(prefix="raynet-leases-")
        # Nodes are called alike in every cluster of ours, and two of them may run at once.
        self._environment = _QUIET | {"MIXGPU_LEASES": self._leases.name} | dict(environment or {})
        self._process = subprocess.Popen(
            [*IN_A_ROOM, sys.executable, "-m", __name__, str(num_nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=without_ray(os.environ) | self._environment,
        )
        self.address = str(self._answer()["address"])

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs these arguments in the namespace."""
        return ["nsenter", f"--net=/proc/{self._process.pid}/ns/net", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        """Variables with which a session finds the cluster."""
        return without_ray(os.environ) | self._environment | {"RAY_ADDRESS": self.address} | more

    def run(
        self, arguments: Sequence[str], *, cwd: Path = ROOT, timeout_s: float = 300.0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command against the cluster to its end."""
        return subprocess.run(
            self.command(arguments),
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            timeout=timeout_s,
            env=self.environment(**environment),
        )

    def python(self, arguments: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        """Run this interpreter against the cluster."""
        return self.run([sys.executable, *arguments], **options)  # type: ignore[arg-type]

    def lose(self, name: str) -> None:
        """Kill a node without a word, with all that runs on it."""
        self._ask(f"lose {name}")

    def pids(self) -> dict[int, str]:
        """Processes in the namespace, with their commands."""
        mine = _link(Path(f"/proc/{self._process.pid}/ns/net"))
        folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
        return {int(folder.name): _command(folder) for folder in folders if _link(folder / "ns/net") == mine}

    def _ask(self, order: str) -> dict[str, object]:
        _pipe(self._process.stdin).write(order + "\n")
        _pipe(self._process.stdin).flush()
        return self._answer()

    def _answer(self) -> dict[str, object]:
        for line in _pipe(self._process.stdout):
            if line.startswith("{"):
                answer: dict[str, object] = json.loads(line)
                return answer
        raise RuntimeError(f"the cluster ended with {self._process.wait()}")

    def close(self) -> None:
        """End the cluster and all its nodes."""
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(timeout=60.0)
        finally:
            self._process.kill()
            self._process.wait()
            _pipe(self._process.stdout).close()
            self._leases.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _command(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def without_ray(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment that names no cluster."""
    return {name: value for name, value in environ.items() if not name.startswith("RAY_")}


def main() -> None:
    """Be the cluster: start the nodes, do as standard input says, end with it."""
    from ray.cluster_utils import Cluster

    small = {"include_dashboard": False, "object_store_memory": 78_700_000}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "node_name": "head", **small})
    nodes = {
        f"node-{index}": cluster.add_node(
            num_cpus=2,
            node_name=f"node-{index}",
            labels={"site": "far" if index % 2 else "near", "number": str(index)},
            wait=False,
            **small,
        )
        for index in range(int(sys.argv[1]))
    }
    cluster.wait_for_nodes()
    _say(address=cluster.address)
    for line in sys.stdin:
        _, _, name = line.strip().partition(" ")
        cluster.remove_node(nodes.pop(name), allow_graceful=False)
        _say(lost=name)
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
