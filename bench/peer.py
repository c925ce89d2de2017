"""The ns-3 peer: its location, build, and runs of one cell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

HERE = Path(__file__).parent / "peers" / "ns3"
CELL = HERE / "build" / "cell"
HEADER = Path("/usr/include/ns3/lte-module.h")
PAYLOAD_BYTES = 1400
BUILD_NAME = "ns-3.37, Debian package build (release, logs compiled in)"


@dataclass(frozen=True)
class Measured:
    """Result of one run of either simulator."""

    sim_s: float
    wall_s: float
    goodput_mbps: float
    events: int
    cpu_s: float

    @property
    def core_share(self) -> float:
        """Share of the core that the run had; well below 1 when others used it too."""
        return min(1.0, self.cpu_s / self.wall_s)

    @property
    def sim_s_per_s(self) -> float:
        return self.sim_s / self.wall_s

    @property
    def packets_per_s(self) -> float:
        """Packets of 1400 bytes of payload delivered per second of wall time, at the steady rate."""
        return self.goodput_mbps * 1e6 / (8 * PAYLOAD_BYTES) * self.sim_s_per_s


def prepare() -> str | None:
    """Build the peer, installing ns-3 with apt where that is possible; returns the reason if it is not
    available.
    """
    if not HEADER.exists():
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            return "ns-3 is not installed; on Debian, as root: apt-get install ns3 libns3-dev"
        print("installing ns3 and libns3-dev with apt-get ...", flush=True)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update"], check=False, **quiet)
        command = ["apt-get", "install", "-y", "--no-install-recommends", "ns3", "libns3-dev"]
        if subprocess.run(command, check=False, **quiet).returncode != 0 or not HEADER.exists():
            return "apt-get could not install ns3 and libns3-dev"
    make = ["make", "--no-print-directory", "-C", str(HERE)]
    built = subprocess.run(make, check=False, capture_output=True, text=True)
    if built.returncode != 0:
        return f"the ns-3 peer did not build:\n{built.stderr.strip()}"
    return None


def run(ues: int, traffic: str, rlc: str, sim_s: float, limit_s: float) -> Measured | None:
    """One run in ns-3; None when it would not end within `limit_s`."""
    data = resources.files("airlane") / "data" / "ns3" / f"positions_n{ues}.csv"
    with resources.as_file(data) as positions:
        command = [
            str(CELL),
            f"--ues={ues}",
            f"--traffic={traffic}",
            f"--rlc={rlc}",
            f"--duration={sim_s}",
            f"--positions={positions}",
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None
    figures = json.loads(done.stdout)
    return Measured(
        sim_s=figures["sim_s"],
        wall_s=figures["wall_run_s"],
        goodput_mbps=figures["goodput_total_mbps"],
        events=figures["events"],
        cpu_s=figures["cpu_run_s"],
    )
