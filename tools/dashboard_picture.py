"""Draws `docs/images/live-dashboard.png`: the dashboard of a download through a cell, as a terminal shows it.

It makes a live run of some seconds, and needs Playwright with a Chromium.
"""

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console

import airlane
from airlane.realtime.cell import Cell
from airlane.realtime.conduct import Call, commands, conduct
from airlane.realtime.dashboard import Dashboard

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "live-dashboard.png"


def dashboard_svg() -> str:
    """The last state of the dashboard during the run, as SVG."""
    console = Console(record=True, width=92, file=io.StringIO(), force_terminal=True)
    shown = Dashboard("lte-drive", console)
    cell = Cell(airlane.load(airlane.example("lte-drive")), ["phone"])
    try:
        cell.open()
        lines = commands(["iperf3 -c server -R -t 9"], ["phone"])
        conduct(cell, Call(["iperf3 -s -1 --forceflush"], lines, shown.write, None, shown.update))
    finally:
        cell.close()
    console.print(shown.view())
    return console.export_svg(title="airlane live --example lte-drive --dashboard")


def main() -> int:
    """Draw the picture."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium here")
        return 1
    svg = re.sub(r"@font-face \{.*?\}", "", dashboard_svg(), flags=re.DOTALL)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder, "dashboard.html")
        page_file.write_text(f"<body style='margin:0;width:1150px'>{svg}</body>", encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1150, "height": 500})
        page.goto(page_file.as_uri())
        page.locator("svg").screenshot(path=PICTURE)
        browser.close()
    print(f"written to {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
