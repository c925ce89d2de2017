"""Places of cells and UEs for networks of many cells."""

from __future__ import annotations

import math

from airlane.scenario import Scenario, loads

INTER_SITE_M = 500.0
CELL_RADIUS_M = 150.0
"""UEs are this near to their site, or nearer: farther out, ns-3 loses connections to interference."""
MOST_CHANNELS = 350_000
"""Between cells and UEs, where each UE has channels with all cells."""
GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))

Places = tuple[tuple[float, float], ...]


def hexagon(cells: int) -> Places:
    """The nearest sites to the origin on a hexagonal grid, the origin first."""
    reach = range(-math.isqrt(cells) - 1, math.isqrt(cells) + 2)
    grid = [(INTER_SITE_M * (i + j / 2), INTER_SITE_M * j * math.sqrt(3) / 2) for i in reach for j in reach]
    return tuple(sorted(grid, key=lambda at: (round(math.hypot(*at), 3), at))[:cells])


def around(sites: Places, ues: int, radius_m: float = CELL_RADIUS_M) -> Places:
    """`ues` places around each site, spread evenly in a sunflower's spiral."""
    spiral = [(radius_m * math.sqrt((k + 0.5) / ues), k * GOLDEN_ANGLE) for k in range(ues)]
    return tuple((x + r * math.cos(angle), y + r * math.sin(angle)) for x, y in sites for r, angle in spiral)


_TOWN = """\
network = "typical"

[run]
duration = "{duration_s:g} s"
warmup = "0.5 s"

[internet]
rate = "100 Gbit/s"
queue = "1 GB"

[layout]
kind = "hexagonal"
rings = {rings}
sectors = 3
inter_site_distance = "500 m"

[[cell]]
name = "cell"
height = "25 m"
resource_blocks = 50
tx_power = "46 dBm"

[channel]
path_loss = {{ kind = "tr36.814", scene = "uma" }}
shadowing = "log-normal"
{reach}
[[ue]]
name = "phone"
count = {ues}
height = "1.5 m"
placement = "hexagonal"

[[flow]]
to = "phone"
"""


def sectors(rings: int) -> int:
    """Sectors of a hexagonal layout of sites with three sectors each."""
    return 3 * (1 + 3 * rings * (rings + 1))


def town(rings: int, ues: int, duration_s: float) -> Scenario:
    """LTE of 10 MHz on hexagons (TR 36.814 table A.2.1.1-1, case 1), `ues` downloads in each sector."""
    count = ues * sectors(rings)
    reach = "strongest_cells = 30\n" if count * sectors(rings) > MOST_CHANNELS else ""
    text = _TOWN.format(duration_s=duration_s, rings=rings, ues=count, reach=reach)
    return loads(text, "<town>")
