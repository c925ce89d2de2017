"""Headless Chromium through a cell in real time: a page of 60 objects, and a video.

A HAR of the page, recorded by Chromium behind the cell, is then loaded by `app = "web"` in virtual time. With
AIRLANE_PICTURES=FOLDER, the waterfalls of both are written there.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane.scenario import loads
from live_support import PATIENT, need, need_live, nginx

need_live()
CHROMIUM = os.environ.get("AIRLANE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("live tests: without Chromium", allow_module_level=True)
pytest.importorskip("playwright.sync_api", reason="live tests: without playwright")
need("nginx", module=True)

OBJECTS = 60

CELL = """
network = "typical"
[run]
duration = "60 s"
[[cell]]
name = "a"
resource_blocks = 50
[internet]
delay = "25 ms"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
name = "browser"
to = "phone"
app = { kind = "web", pages = "page.har", http = "1.1", tls = false, pipelining = 1, connections = 6 }
"""

DRIVER = """
import json, sys, time
from playwright.sync_api import sync_playwright
chromium, url, har, video = sys.argv[1:5]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(
        executable_path=chromium, args=["--no-sandbox", "--disable-quic", "--no-proxy-server"]
    )
    context = browser.new_context(record_har_path=har)
    page = context.new_page()
    page.goto(url, wait_until="load", timeout=60000)
    timing = page.evaluate("JSON.stringify(performance.timing)")
    images = "[...document.images]"
    loaded = page.evaluate(f"{images}.length + ' ' + {images}.every(i => i.naturalWidth > 0)")
    page.goto(video, wait_until="load", timeout=60000)
    page.wait_for_function("document.querySelector('video').ended", timeout=60000)
    played = page.evaluate("document.querySelector('video').currentTime")
    context.close()
    browser.close()
print(json.dumps({"timing": json.loads(timing), "loaded": loaded, "played": played}))
"""


RECORDER = """
import base64, sys
from playwright.sync_api import sync_playwright
script = '''async () => {
  const canvas = document.body.appendChild(document.createElement("canvas"));
  const pen = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm;codecs=vp8" });
  const parts = [];
  recorder.ondataavailable = event => parts.push(event.data);
  const stopped = new Promise(resolve => recorder.onstop = resolve);
  recorder.start();
  for (let frame = 0; frame < 75; frame++) {
    for (let spot = 0; spot < 200; spot++) {
      pen.fillStyle = `hsl(${(frame * 7 + spot * 31) % 360} 80% 50%)`;
      pen.fillRect((spot * 37 + frame * 3) % 300, (spot * 53) % 150, 14, 9);
    }
    await new Promise(resolve => setTimeout(resolve, 40));
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}'''
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    data = browser.new_page().evaluate(script)
    browser.close()
open(sys.argv[2], "wb").write(base64.b64decode(data))
"""


def png(size: int, seed: int) -> bytes:
    """A valid picture of about this many bytes: noise does not compress."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = max(1, int((size / 3) ** 0.5))
    draw = random.Random(seed)
    rows = b"".join(b"\0" + draw.randbytes(side * 3) for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def site(folder: Path) -> None:
    """A document, two style sheets, two scripts and 55 pictures: 60 objects."""
    folder.mkdir()
    draw = random.Random(7)
    pictures = [f"{number}.png" for number in range(OBJECTS - 5)]
    for number, name in enumerate(pictures):
        (folder / name).write_bytes(png(int(draw.lognormvariate(9.2, 1.0)) + 200, number))
    for name in ("a.css", "b.css"):
        (folder / name).write_text("/* */\n" + "body { margin: 0 }\n" * 400, encoding="utf-8")
    for name in ("a.js", "b.js"):
        (folder / name).write_text("// script\n" + "var x = 1;\n" * 2000, encoding="utf-8")
    head = "".join(f'<link rel="stylesheet" href="{name}">' for name in ("a.css", "b.css"))
    head += '<link rel="icon" href="data:,">' + "".join(
        f'<script src="{n}"></script>' for n in ("a.js", "b.js")
    )
    body = "".join(f'<p>text of the page</p><img src="{name}">' for name in pictures)
    (folder / "index.html").write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>")


def video(folder: Path) -> None:
    """Some seconds of video, which Chromium records from a canvas."""
    command = [sys.executable, "-c", RECORDER, str(CHROMIUM), str(folder / "film.webm")]
    subprocess.run(command, check=True, timeout=60)
    (folder / "film.html").write_text('<!doctype html><video autoplay muted src="film.webm"></video>')


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What Chromium reports of the page and the video, and the HAR."""
    folder = tmp_path_factory.mktemp("browser")
    site(folder / "www")
    video(folder / "www")
    server = nginx(folder, "listen 80", "add_header Cache-Control no-store")
    har = folder / "page.har"
    with airlane.live(loads(CELL.replace("page.har", "2011"), "test.toml"), settings=PATIENT) as cell:
        cell.server.start(server)
        assert cell.server.await_listener()
        urls = ["http://server/index.html", str(har), "http://server/film.html"]
        done = cell.ue().run([sys.executable, "-c", DRIVER, str(CHROMIUM), *urls], timeout=180)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said, har


def only_page(har: Path, folder: Path) -> Path:
    """The HAR without the video: `app = "web"` loads what the page has."""
    content = json.loads(har.read_text())
    log = content["log"]
    first = log["pages"][0]["id"]
    log["entries"] = [entry for entry in log["entries"] if entry.get("pageref", first) == first]
    log["entries"] = [entry for entry in log["entries"] if "film" not in entry["request"]["url"]]
    log["pages"] = log["pages"][:1]
    place = folder / "page.har"
    place.write_text(json.dumps(content), encoding="utf-8")
    return place


def test_all_objects_arrive(visit: tuple[dict[str, Any], Path]) -> None:
    said, har = visit
    assert said["loaded"] == f"{OBJECTS - 5} true"
    entries = json.loads(har.read_text())["log"]["entries"]
    fetched = [entry for entry in entries if "film" not in entry["request"]["url"]]
    assert len(fetched) == OBJECTS
    assert {entry["response"]["status"] for entry in fetched} == {200}


def test_a_video_plays_to_its_end(visit: tuple[dict[str, Any], Path]) -> None:
    said, _ = visit
    # 75 frames, 40 ms apart; a browser that records on a busy machine takes longer.
    assert 2.8 <= said["played"] <= 6.0


def test_the_same_page_in_virtual_time(visit: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    """The page load times of Chromium and of `app = "web"`, side by side.

    A browser also parses, lays out and runs scripts, which `app = "web"` does not model.
    """
    said, har = visit
    page = only_page(har, tmp_path)
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    run = airlane.load(tmp_path / "cell.toml").run()
    (first, *_) = run.tables["pages"].to_pylist()
    timing = said["timing"]
    real_s = (timing["loadEventStart"] - timing["navigationStart"]) / 1000
    print(f"page load time: Chromium {real_s:.3f} s, app = web {first['onload_s']:.3f} s")
    if pictures := os.environ.get("AIRLANE_PICTURES"):
        waterfalls(page, tmp_path, Path(pictures), real_s, first["onload_s"])
    assert first["objects"] == OBJECTS
    assert 0.5 * real_s <= first["onload_s"] <= 1.25 * real_s


def waterfalls(har: Path, folder: Path, pictures: Path, real_s: float, virtual_s: float) -> None:
    """Both waterfalls in one picture."""
    del folder
    import matplotlib

    matplotlib.use("Agg")
    from datetime import datetime

    import matplotlib.pyplot as plt

    entries = json.loads(har.read_text())["log"]["entries"]
    begin = min(datetime.fromisoformat(e["startedDateTime"]) for e in entries)
    figure, axis = plt.subplots(figsize=(9, 9))
    for number, entry in enumerate(entries):
        at = (datetime.fromisoformat(entry["startedDateTime"]) - begin).total_seconds()
        axis.barh(number, entry["time"] / 1000, left=at, color="tab:blue", height=0.8)
    axis.axvline(real_s, color="tab:blue", label=f"load event, Chromium: {real_s:.2f} s")
    axis.axvline(virtual_s, color="tab:orange", linestyle="--", label=f'app = "web": {virtual_s:.2f} s')
    axis.invert_yaxis()
    axis.set_xlabel("time since the request of the document, s")
    axis.set_ylabel("object")
    axis.legend()
    pictures.mkdir(parents=True, exist_ok=True)
    figure.savefig(pictures / "waterfall.png", dpi=120, bbox_inches="tight")
