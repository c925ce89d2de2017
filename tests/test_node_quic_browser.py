"""The node `quic-server` with Chromium: HTTP/3 and HTTP/1.1, from the same page."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")
pytest.importorskip("playwright", reason="Chromium is driven by playwright: pip install playwright")

from playwright.sync_api import sync_playwright

from quic_support import Server

CHROMIUM = os.environ.get("AIRLANE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no Chromium: apt-get install chromium, or AIRLANE_CHROMIUM=PATH", allow_module_level=True)

PAGE = """<!doctype html><title>waits</title><script>
const load = headers => fetch("data", {headers, cache: "no-store"}).then(answer => answer.arrayBuffer());
load({range: "bytes=1000-2999"}).then(part => load({}).then(whole => {
  const protocols = performance.getEntries().map(one => one.nextHopProtocol).filter(one => one);
  document.title = [part.byteLength, whole.byteLength, ...new Set(protocols)].join(" ");
}));
</script>"""


def pin(certificate: str) -> str:
    """The hash of the public key (RFC 7469 section 2.4), by which Chromium accepts a certificate."""
    command = ["openssl", "x509", "-in", certificate, "-pubkey", "-noout"]
    pem = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    lines = pem.strip().splitlines()[1:-1]
    return base64.b64encode(hashlib.sha256(base64.b64decode("".join(lines))).digest()).decode()


@pytest.mark.parametrize(("over", "protocol"), [("h3", "h3"), ("tls", "http/1.1")])
def test_chromium_loads_a_page(tmp_path: Path, over: str, protocol: str) -> None:
    server = Server(tmp_path)
    (server.root / "index.html").write_text(PAGE)
    (server.root / "data").write_bytes(bytes(3_000_000))
    port = server.port if over == "h3" else server.https
    arguments = [
        "--no-sandbox",
        "--host-resolver-rules=MAP quic.example 127.0.0.1",
        f"--ignore-certificate-errors-spki-list={pin(server.certificate)}",
        # By Alt-Svc alone, Chromium accepts no certificate for QUIC but those of public authorities.
        *([f"--origin-to-force-quic-on=quic.example:{port}"] if over == "h3" else []),
    ]
    with server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page()
        page.goto(f"https://quic.example:{port}/")
        page.wait_for_function("document.title !== 'waits'")
        assert page.title() == f"2000 3000000 {protocol}"
        browser.close()
        found = server.metrics()
        assert found[f'requests_total{{protocol="{protocol}",status="200"}}'] == 2
        assert found[f'requests_total{{protocol="{protocol}",status="206"}}'] == 1
