"""Write the sites and users of the bundled city, `scenarios/maps/city-sites.csv` and `city-users.csv`.

The city is invented: twelve sites with three sectors each, on a grid of 450 m with a random offset of up to
90 m, and 72 users. A third of the users are within 60 m of one of six squares, a sixth drives along a street
of the grid, and the others are uniform over the area. Run the program again to get the same files.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

LATITUDE, LONGITUDE = 48.0, 11.0
"""South-west corner. The coordinates are real ones, and no such network is there."""

GRID_M = 450.0
COLUMNS, ROWS = 4, 3
USERS = 72

METRES_PER_DEGREE = 111_200.0
"""Of a meridian, near enough for invented places."""


def degrees(east_m: float, north_m: float) -> tuple[str, str]:
    """Latitude and longitude of a place with six digits, a tenth of a metre."""
    latitude = LATITUDE + north_m / METRES_PER_DEGREE
    longitude = LONGITUDE + east_m / (METRES_PER_DEGREE * math.cos(math.radians(LATITUDE)))
    return f"{latitude:.6f}", f"{longitude:.6f}"


def sites(draw: random.Random) -> list[str]:
    """Rows of the sites."""
    rows = ["id,latitude,longitude,height_m,azimuths_deg"]
    for row in range(ROWS):
        for column in range(COLUMNS):
            east, north = (GRID_M * (k + 0.5) + draw.uniform(-90.0, 90.0) for k in (column, row))
            first = draw.randrange(0, 120, 10)
            azimuths = " ".join(str(first + turn) for turn in (0, 120, 240))
            height = draw.choice((18, 22, 25, 30))
            rows.append(",".join([f"{'ABC'[row]}{column + 1}", *degrees(east, north), str(height), azimuths]))
    return rows


def users(draw: random.Random) -> list[str]:
    """Rows of the users."""
    rows = ["id,latitude,longitude,height_m,heading_deg,speed_kmh"]
    width, depth = GRID_M * COLUMNS, GRID_M * ROWS
    squares = [(draw.uniform(0.0, width), draw.uniform(0.0, depth)) for _ in range(6)]
    for k in range(USERS):
        east, north, movement = draw.uniform(0.0, width), draw.uniform(0.0, depth), ["", ""]
        height = 1.5
        if k % 3 == 0:
            square = squares[k // 3 % len(squares)]
            east, north = (at + draw.uniform(-60.0, 60.0) for at in square)
        elif k % 6 == 1:
            street = GRID_M * draw.randint(1, ROWS - 1)
            east, north, movement = draw.uniform(0.2, 0.8) * width, street, [draw.choice(("90", "270")), "50"]
        rows.append(",".join([f"{k + 1:02d}", *degrees(east, north), str(height), *movement]))
    return rows


def main() -> None:
    """Write both files."""
    folder = Path(__file__).resolve().parent.parent / "scenarios/maps"
    draw = random.Random(54)
    for name, rows in (("city-sites", sites(draw)), ("city-users", users(draw))):
        (folder / f"{name}.csv").write_text("\n".join([*rows, ""]))


if __name__ == "__main__":
    main()
