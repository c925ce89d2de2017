"""The ns-3 peer: its location, build, and runs of one cell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "peers" / "ns3"
CELL = HERE / "build" / "cell"
HEADER = Path("/usr/include/ns3/lte-module.h")
PAYLOAD_BYTES = 1400
Places = tuple[tuple[float, float], ...]
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


def run(
    sites: Places, ues: Places, traffic: str, rlc: str, offered_mbps: float, sim_s: float, limit_s: float
) -> Measured | None:
    """One run in ns-3, each UE in the nearest cell; None when it would not end within `limit_s`."""
    with tempfile.TemporaryDirectory() as folder:
        files = [_position_file(Path(folder) / name, at) for name, at in (("sites", sites), ("ues", ues))]
        command = [
            str(CELL),
            f"--ues={len(ues)}",
            f"--traffic={traffic}",
            f"--rlc={rlc}",
            f"--offered={offered_mbps}",
            f"--duration={sim_s}",
            f"--sites={files[0]}",
            f"--positions={files[1]}",
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


def _position_file(path: Path, places: Places) -> Path:
    rows = (f"{index},{x:.3f},{y:.3f}\n" for index, (x, y) in enumerate(places))
    path.write_text("name,x_m,y_m\n" + "".join(rows), encoding="utf-8")
    return path
