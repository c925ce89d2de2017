"""The node `quic-server`: files over HTTP/3 and HTTP/1.1, and what hostile clients do to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from email import message_from_bytes
from email.utils import formatdate, parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from quic_support import Answer, Client, Server, client, over_h3

DATA = bytes(random.Random(1).randbytes(300_000))


def fill(server: Server) -> None:
    """Files, and what must not be served."""
    root = server.root
    (root / "data.bin").write_bytes(DATA)
    (root / "empty").write_bytes(b"")
    (root / "folder").mkdir()
    (root / "folder" / "index.html").write_text("<p>below</p>")
    (root / "index.html").write_text("<p>home</p>")
    (root / ".hidden").write_text("hidden")
    (root.parent / "secret").write_text("secret")
    (root / "out").symlink_to("../secret")
    (root / "absolute").symlink_to(root.parent / "secret")
    (root / "within").symlink_to("data.bin")
    os.mkfifo(root / "pipe")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("quic"))
    fill(server)
    with server:
        yield server


def get(server: Server, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    answer: Answer = over_h3(server, lambda one: one.get(path, method, headers))
    return answer


def curl(server: Server, path: str, *options: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body over HTTP/1.1."""
    command = ["curl", "--silent", "--include", "--http1.1", "--path-as-is", "--cacert", server.certificate]
    to = f"localhost:{server.https}:127.0.0.1"
    url = f"https://localhost:{server.https}{path}"
    done = subprocess.run([*command, *options, "--resolve", to, url], capture_output=True, check=True)
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    first, _, rest = head.partition(b"\r\n")
    return int(first.split()[1]), {k.lower(): v for k, v in message_from_bytes(rest).items()}, body


def test_a_file_arrives_whole_over_both_protocols(shared: Server) -> None:
    answer = get(shared, "/data.bin")
    assert (answer.status, answer.body) == (200, DATA)
    assert answer.headers["content-length"] == str(len(DATA))
    assert answer.headers["content-type"] == "application/octet-stream"
    assert {"etag", "last-modified", "date"} <= answer.headers.keys()

    status, headers, body = curl(shared, "/data.bin")
    assert (status, body) == (200, DATA)
    assert headers["alt-svc"] == f'h3=":{shared.port}"; ma=3600'
    assert headers["etag"] == answer.headers["etag"]

    assert get(shared, "/").body == b"<p>home</p>"
    assert get(shared, "/folder/").headers["content-type"] == "text/html; charset=utf-8"
    assert get(shared, "/empty").body == b""
    moved = get(shared, "/folder")
    assert (moved.status, moved.headers["location"]) == (308, "/folder/")


def test_head_says_what_get_would(shared: Server) -> None:
    head, whole = get(shared, "/data.bin", "HEAD"), get(shared, "/data.bin")
    assert head.body == b""
    assert {**head.headers, "date": ""} == {**whole.headers, "date": ""}
    status, headers, _ = curl(shared, "/data.bin", "--head")
    assert (status, headers["content-length"]) == (200, str(len(DATA)))
    refused = get(shared, "/data.bin", "DELETE")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=100-199", 100, 199),
        ("bytes=299999-", 299_999, 299_999),
        ("bytes=-1000", 299_000, 299_999),
        ("bytes=299000-400000", 299_000, 299_999),
        ("bytes=-400000", 0, 299_999),
        ("bytes=65535-131073", 65_535, 131_073),
    ],
)
def test_a_range_is_those_bytes(shared: Server, asked: str, first: int, last: int) -> None:
    answer = get(shared, "/data.bin", headers={"range": asked})
    assert answer.status == 206
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(DATA)}"
    assert answer.body == DATA[first : last + 1]
    status, headers, body = curl(shared, "/data.bin", "--header", f"Range: {asked}")
    assert (status, headers["content-range"], body) == (206, answer.headers["content-range"], answer.body)


def test_several_ranges_are_parts(shared: Server) -> None:
    answer = get(shared, "/data.bin", headers={"range": "bytes=0-9, 200000-200099, -5"})
    assert answer.status == 206
    assert int(answer.headers["content-length"]) == len(answer.body)
    kind = answer.headers["content-type"].encode()
    parts: Any = message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + answer.body).get_payload()
    ranges = [(0, 9), (200_000, 200_099), (299_995, 299_999)]
    assert [part["content-range"] for part in parts] == [f"bytes {a}-{b}/{len(DATA)}" for a, b in ranges]
    # The parser of Python takes line ends for its own, so that bytes are compared in the body.
    boundary = b"--" + re.search(rb"boundary=(\w+)", kind)[1]  # type: ignore[index]
    bodies = [one.split(b"\r\n\r\n", 1)[1][:-2] for one in answer.body.split(boundary)[1:-1]]
    assert bodies == [DATA[a : b + 1] for a, b in ranges]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("bytes=300000-", 416),
        ("bytes=-0", 416),
        ("bytes=0-299999,0-299999", 416),  # the whole file twice
        ("bytes=5-2", 200),
        ("bytes=" + ",".join(f"{n}-{n}" for n in range(100)), 200),
        ("lines=1-2", 200),
        ("bytes=a-b", 200),
    ],
)
def test_other_ranges_are_refused_or_ignored(shared: Server, asked: str, status: int) -> None:
    answer = get(shared, "/data.bin", headers={"range": asked})
    assert answer.status == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(DATA)}"
    else:
        assert answer.body == DATA
    assert get(shared, "/empty", headers={"range": "bytes=0-"}).status == 416


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ("bytes=0-1,1-2,2-3", [(0, 3)]),
        ("bytes=0-9,10-19,5-30", [(0, 30)]),
        ("bytes=0-0,0-0,0-0", [(0, 0)]),
        ("bytes=100-199,400000-", [(100, 199)]),
        ("bytes=5000-5099,0-99,4900-5010", [(4900, 5099), (0, 99)]),
        ("bytes=" + ",".join(f"{n * 200}-{n * 200}" for n in range(16)), [(0, 3000)]),
    ],
)
def test_ranges_that_overlap_are_sent_once(shared: Server, asked: str, parts: list[tuple[int, int]]) -> None:
    """No byte twice, and no header of a part that is longer than what it leaves out."""
    for status, headers, body in (
        curl(shared, "/data.bin", "--header", f"Range: {asked}"),
        (lambda one: (one.status, one.headers, one.body))(get(shared, "/data.bin", headers={"range": asked})),
    ):
        assert status == 206
        if len(parts) == 1:
            first, last = parts[0]
            assert headers["content-range"] == f"bytes {first}-{last}/{len(DATA)}"
            assert body == DATA[first : last + 1]
        else:
            found = re.findall(rb"content-range: bytes (\d+)-(\d+)/300000", body.lower())
            assert [(int(a), int(b)) for a, b in found] == parts
            assert len(body) < sum(last - first + 1 for first, last in parts) + 256 * (len(parts) + 1)


@pytest.mark.parametrize("seconds", [253_402_300_800, 300_000_000_000, 9_000_000_000, -1])
def test_a_file_with_any_time_is_served(shared: Server, seconds: int) -> None:
    """Dates of HTTP end with the year 9999, and a time of modification is not later than the answer's."""
    path = shared.root / f"time{seconds}"
    path.write_bytes(b"a file")
    try:
        os.utime(path, (seconds, seconds))
    except OverflowError:
        pytest.skip("Python cannot set this time")
    stored = path.stat().st_mtime
    for status, headers, body in (
        curl(shared, f"/{path.name}"),
        (lambda one: (one.status, one.headers, one.body))(get(shared, f"/{path.name}")),
    ):
        assert (status, body) == (200, b"a file")
        modified = parsedate_to_datetime(headers["last-modified"]).timestamp()
        assert abs(modified - min(max(stored, 0), time.time())) < 5


def test_an_address_that_is_not_validated_gets_three_times_its_bytes(tmp_path: Path) -> None:
    """RFC 9000 section 8.1, with a client that sends one Initial packet and answers nothing."""
    server = Server(tmp_path)
    (server.root / "data.bin").write_bytes(DATA)
    settings = QuicConfiguration(is_client=True, alpn_protocols=["h3"], verify_mode=ssl.CERT_NONE)
    with server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        opening = QuicConnection(configuration=settings)
        opening.connect(("127.0.0.1", server.port), now=time.time())
        sent = 0
        for datagram, _ in opening.datagrams_to_send(time.time()):
            sent += silent.sendto(datagram, ("127.0.0.1", server.port))
        received, end = 0, time.monotonic() + 8
        while (left := end - time.monotonic()) > 0:
            silent.settimeout(left)
            with contextlib.suppress(TimeoutError):
                received += len(silent.recv(65536))
        assert 1200 < received <= 3 * sent, (received, sent)
        assert server.metrics()["amplification_dropped_total"] >= 1
        # It opens connections as before, and a validated address gets all.
        assert get(server, "/data.bin").body == DATA


def test_ranges_at_random_are_those_bytes_or_refused(shared: Server) -> None:
    draws = random.Random(5)
    pieces = [
        "bytes",
        "=",
        "-",
        ",",
        " ",
        "0",
        "1",
        "299999",
        "300000",
        "18446744073709551616",
        "-1",
        "a",
        ";",
    ]

    def value() -> str:
        if draws.random() < 0.5:
            return "bytes=" + "".join(draws.choices(pieces[2:], k=draws.randrange(1, 8)))
        return "".join(draws.choices(pieces, k=draws.randrange(1, 10)))

    asked = [value().strip() or "-" for _ in range(300)]

    async def all_of_them(one: Client) -> list[Answer]:
        return [await one.get("/data.bin", headers={"range": text}) for text in asked]

    answers = over_h3(shared, all_of_them)
    for text, answer in zip(asked, answers, strict=True):
        assert answer.status in (200, 206, 416), text
        if answer.status == 200:
            assert answer.body == DATA, text
        found = re.fullmatch(r"bytes (\d+)-(\d+)/300000", answer.headers.get("content-range", ""))
        if found:
            assert answer.body == DATA[int(found[1]) : int(found[2]) + 1], text
    assert {answer.status for answer in answers} == {200, 206, 416}


def test_preconditions_decide_in_their_order(shared: Server) -> None:
    plain = get(shared, "/data.bin").headers
    tag, modified = plain["etag"], plain["last-modified"]
    old, new = formatdate(1e9, usegmt=True), formatdate(time.time() + 9e4, usegmt=True)
    part = {"range": "bytes=0-9"}
    cases: list[tuple[dict[str, str], int]] = [
        ({"if-none-match": tag}, 304),
        ({"if-none-match": f'"x", W/{tag}'}, 304),
        ({"if-none-match": "*"}, 304),
        ({"if-none-match": '"x"'}, 200),
        ({"if-none-match": '"x"', "if-modified-since": new}, 200),
        ({"if-modified-since": modified}, 304),
        ({"if-modified-since": old}, 200),
        ({"if-modified-since": "yesterday"}, 200),
        ({"if-match": tag}, 200),
        ({"if-match": '"x"'}, 412),
        ({"if-match": f"W/{tag}"}, 412),
        ({"if-match": '"x"', "if-none-match": tag}, 412),
        ({"if-unmodified-since": old}, 412),
        ({"if-unmodified-since": modified}, 200),
        ({**part, "if-range": tag}, 206),
        ({**part, "if-range": f"W/{tag}"}, 200),
        ({**part, "if-range": '"x"'}, 200),
        ({**part, "if-range": modified}, 206),
        ({**part, "if-range": old}, 200),
        ({**part, "if-none-match": tag}, 304),
    ]

    async def all_of_them(one: Client) -> list[Answer]:
        return [await one.get("/data.bin", headers=headers) for headers, _ in cases]

    answers = over_h3(shared, all_of_them)
    assert [one.status for one in answers] == [status for _, status in cases]
    assert all(
        one.body == b"" and "content-length" not in one.headers for one in answers if one.status == 304
    )


def test_a_changed_file_has_another_tag(tmp_path: Path) -> None:
    server = Server(tmp_path)
    fill(server)
    with server:
        first = get(server, "/data.bin").headers["etag"]
        about = (server.root / "data.bin").stat()
        (server.root / "data.bin").write_bytes(DATA[::-1])
        os.utime(server.root / "data.bin", ns=(about.st_atime_ns, about.st_mtime_ns))
        again = get(server, "/data.bin", headers={"range": "bytes=0-9", "if-range": first})
        assert (again.status, again.body) == (200, DATA[::-1])


PATHS = [
    "/../secret",
    "/%2e%2e/secret",
    "/folder/../../secret",
    "/folder/..%2f..%2fsecret",
    "/..%5csecret",
    "//secret",
    "//folder",  # would be a redirect to the host `folder`
    "//folder/",
    "/out",
    "/absolute",
    "/.hidden",
    "/folder/.",
    "/data.bin/",
    "/data.bin%00",
    "/%ff",
    "/pipe",
    "/missing",
    "/" + "a" * 5000,
    "/" + "a/" * 2000,
]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_outside_of_the_root_is_served(shared: Server, path: str) -> None:
    assert get(shared, path).status == 404
    assert curl(shared, path)[0] == 404


def test_a_link_within_the_root_is_followed(shared: Server) -> None:
    assert get(shared, "/within").body == DATA


def test_many_requests_of_one_connection(shared: Server) -> None:
    async def many(one: Client) -> list[Answer]:
        return await asyncio.gather(
            *(one.get("/data.bin", headers={"range": f"bytes={n}-{n + 999}"}) for n in range(30))
        )

    assert [one.body for one in over_h3(shared, many)] == [DATA[n : n + 1000] for n in range(30)]


def test_a_file_that_becomes_shorter_resets_its_response(tmp_path: Path) -> None:
    server = Server(tmp_path, '[limits]\nsend_buffer = "64 KiB"\n')
    size = 8 << 20
    (server.root / "data").write_bytes(bytes(size))

    async def shorten(one: Client) -> Answer:
        stream = one.ask("/data")
        while len(one.answers[stream].body) == 0:
            await asyncio.sleep(0.01)
        os.truncate(server.root / "data", 1000)
        return await asyncio.wait_for(one.ends[stream], 30)

    with server:
        answer = over_h3(server, shorten)
        assert answer.reset == 0x102  # H3_INTERNAL_ERROR
        assert len(answer.body) < size


def test_oversized_headers_are_refused(shared: Server) -> None:
    async def large(one: Client) -> int:
        return (await one.get("/data.bin", headers={"x": "a" * 20_000})).status

    assert over_h3(shared, large) == 431
    assert curl(shared, "/data.bin", "--header", "X: " + "a" * 20_000)[0] == 431


def varint(number: int) -> bytes:
    """RFC 9000 section 16, in eight bytes."""
    return (number | 3 << 62).to_bytes(8, "big")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"\x00\x01x", 0x105),  # DATA before HEADERS: H3_FRAME_UNEXPECTED
        (b"\x04\x00", 0x105),  # SETTINGS in a request
        (b"\x02\x00", 0x105),  # a frame of HTTP/2
        (b"\x01\x02\xff\xff", 0x200),  # QPACK_DECOMPRESSION_FAILED
        (b"\x01\x04\x00\x00\x80\xff", 0x200),  # of an entry that does not exist
    ],
)
def test_malformed_frames_end_the_connection(shared: Server, sent: bytes, code: int) -> None:
    async def send(one: Client) -> int:
        stream = one._quic.get_next_available_stream_id()
        one._quic.send_stream_data(stream, sent, end_stream=True)
        one.transmit()
        return (await one.ended()).error_code

    assert over_h3(shared, send) == code
    assert get(shared, "/").status == 200


def test_a_frame_without_end_is_not_kept(tmp_path: Path) -> None:
    """A header frame of 4 GiB is announced, and as much of it as the server takes is sent."""
    server = Server(tmp_path)
    fill(server)

    async def send(one: Client) -> bool:
        stream = one._quic.get_next_available_stream_id()
        one._quic.send_stream_data(stream, b"\x01" + varint(1 << 32))
        for _ in range(400):
            try:
                one._quic.send_stream_data(stream, bytes(65_536))
            except RuntimeError:  # the stream was refused; the end of the connection is under way
                return True
            one.transmit()
            await asyncio.sleep(0.002)
            if one.terminated is not None:
                return True
        return False

    with server:
        get(server, "/")
        before = server.memory()
        assert over_h3(server, send)
        assert server.memory() - before < 8 << 20
        assert get(server, "/").status == 200


def test_random_bytes_on_streams_are_survived(shared: Server) -> None:
    draws = random.Random(7)

    async def send(one: Client) -> None:
        one.is_raw = True
        for _ in range(5):
            stream = one._quic.get_next_available_stream_id(is_unidirectional=draws.random() < 0.3)
            one._quic.send_stream_data(stream, draws.randbytes(draws.randrange(200)), draws.random() < 0.7)
            one.transmit()
            await asyncio.sleep(0)

    for _ in range(20):
        over_h3(shared, send)
    assert get(shared, "/").status == 200


def test_a_client_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    server = Server(tmp_path, '[limits]\nstall = "1 s"\nsend_buffer = "64 KiB"\nidle = "20 s"\n')
    (server.root / "data").write_bytes(bytes(8 << 20))

    async def stall(one: Client) -> Answer:
        # It never raises its credit.
        one._quic._local_max_data.value = one._quic._local_max_data.sent = 200_000
        one._quic._write_connection_limits = lambda **_: None  # type: ignore[method-assign]
        one._quic._write_stream_limits = lambda **_: None  # type: ignore[method-assign]
        return await one.get("/data")

    with server:
        answer = over_h3(server, stall, max_data=200_000, max_stream_data=100_000)
        assert answer.reset == 0x10C  # H3_REQUEST_CANCELLED
        assert server.metrics()["stalled_total"] == 1
        # Over TCP, the kernel ends the connection.
        with raw_tls(server) as link:
            link.sendall(b"GET /data HTTP/1.1\r\nHost: localhost\r\n\r\n")
            server.until(lambda found: found["https_connections"] == 1)
            server.until(lambda found: found["https_connections"] == 0, 40)


def raw_tls(server: Server) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=server.certificate)
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", server.https))
    return context.wrap_socket(plain, server_hostname="localhost")


def initials(server: Server, count: int) -> list[bytes]:
    """Sends first packets of clients that never answer, from a port each; returns what came back."""
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.connection import QuicConnection

    links, answers = [], []
    for _ in range(count):
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="localhost")
        one = QuicConnection(configuration=configuration)
        one.connect(("127.0.0.1", server.port), now=time.monotonic())
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.settimeout(2)
        for data, _ in one.datagrams_to_send(now=time.monotonic()):
            link.sendto(data, ("127.0.0.1", server.port))
        links.append(link)
    for link in links:
        answers.append(link.recv(2048))
        link.close()
    return answers


def is_retry(datagram: bytes) -> bool:
    """RFC 9000 section 17.2.5: long header, type 3."""
    return datagram[0] & 0xF0 == 0xF0


def test_a_flood_of_initials_is_answered_with_retry(tmp_path: Path) -> None:
    server = Server(
        tmp_path,
        '[limits]\nhandshakes = 20\nconnections = 40\nconnections_per_address = 40\nheader_time = "3 s"\n',
    )
    fill(server)
    with server:
        answers = initials(server, 100)
        assert sum(is_retry(one) for one in answers) == 80
        found = server.metrics()
        assert (found["connections"], found["retries_total"]) == (20, 80)
        # A client that does receive at its address is served meanwhile.
        assert get(server, "/data.bin").body == DATA
        assert server.metrics()["retries_total"] == 81
        server.until(lambda found: found["connections"] == 0)


def test_connections_of_an_address_are_bounded(tmp_path: Path) -> None:
    server = Server(tmp_path, "[limits]\nconnections_per_address = 2\n")
    fill(server)

    async def three() -> None:
        async with client(server) as one, client(server) as two:
            assert (await one.get("/")).status == (await two.get("/")).status == 200
            with pytest.raises(ConnectionError):
                async with client(server):
                    pass

    with server:
        asyncio.run(three())
        found = server.until(lambda found: found["connections"] == 0)
        assert found["connections_refused_total"] == 1
        with raw_tls(server), raw_tls(server), pytest.raises((ssl.SSLError, ConnectionError)):
            raw_tls(server)


def test_streams_of_a_connection_are_bounded(tmp_path: Path) -> None:
    server = Server(tmp_path, '[limits]\nstreams = 3\nsend_buffer = "64 KiB"\n')
    (server.root / "data").write_bytes(bytes(1 << 20))

    async def many(one: Client) -> list[int]:
        assert one._quic._remote_max_streams_bidi == 3
        return [(await one.get("/data")).status for _ in range(10)]

    with server:
        assert over_h3(server, many) == [200] * 10


def test_a_ticket_admits_no_early_data(shared: Server) -> None:
    tickets: list[Any] = []

    async def wait(one: Client) -> None:
        await one.get("/")
        while not tickets:
            await asyncio.sleep(0.01)

    async def conduct() -> None:
        async with client(shared, tickets=tickets) as one:
            await asyncio.wait_for(wait(one), 15)

    asyncio.run(conduct())
    assert tickets[0].max_early_data_size is None


def test_an_idle_connection_ends(tmp_path: Path) -> None:
    server = Server(tmp_path, '[limits]\nidle = "1 s"\n')
    fill(server)

    async def idle() -> None:
        async with client(server) as one:
            assert (await one.get("/")).status == 200
            await one.ended(5)

    with server:
        asyncio.run(idle())
        server.until(lambda found: found["connections"] == 0)


def test_a_response_that_has_begun_arrives_although_the_node_ends(tmp_path: Path) -> None:
    server = Server(tmp_path, '[limits]\nsend_buffer = "64 KiB"\n')
    size = 4 << 20
    (server.root / "data").write_bytes(bytes(size))

    async def stop(one: Client) -> tuple[int, int]:
        stream = one.ask("/data")
        while not one.answers[stream].body:
            await asyncio.sleep(0.001)
        assert len(one.answers[stream].body) < size
        server.process.send_signal(signal.SIGTERM)
        answer = await asyncio.wait_for(one.ends[stream], 30)
        return len(answer.body), (await one.ended()).error_code

    with server:
        assert over_h3(server, stop) == (size, 0x100)  # H3_NO_ERROR
        assert server.process.wait(20) == 0


@pytest.mark.parametrize(
    "controller", ["newreno", "cubic", "scalable", "vegas", "westwood", "veno", "bbr", "bbr3"]
)
@pytest.mark.parametrize("sender", ["quinn", "picoquic-2020"])
def test_every_controller_carries_a_file(tmp_path: Path, controller: str, sender: str) -> None:
    server = Server(tmp_path, f'[congestion]\ncontroller = "{controller}"\nsender = "{sender}"\n')
    (server.root / "data").write_bytes(DATA * 4)

    async def load(one: Client) -> tuple[bytes, dict[str, float]]:
        answer = await one.get("/data")
        await asyncio.sleep(1.1)
        return answer.body, server.metrics()

    with server:
        body, metrics = over_h3(server, load)
        assert body == DATA * 4
        # At least two datagrams (RFC 9002 section 7.2). Timeouts of a busy machine may take the rest.
        assert metrics['connection_window_bytes{connection="0"}'] >= 2400
        found = server.until(lambda found: found["connections"] == 0)
        assert not [name for name in found if name.startswith("connection_window")]


def test_settings_that_are_wrong_are_named(tmp_path: Path) -> None:
    def said(settings: str, top: str = "") -> str:
        server = Server(tmp_path, settings, top=top)
        done = subprocess.run(server.command("--check"), capture_output=True, text=True, check=False)
        assert done.returncode != 0
        return " ".join(done.stderr.split())

    for settings, words in [
        ('[congestion]\ncontroller = "reno"\n', ["congestion.controller", "newreno"]),
        ("[meld]\nresource_blocks = 26\n", ["meld.resource_blocks = 26", "25, 50"]),
        ("[limits]\nstreams = 0\n", ["limits.streams = 0", "choose 1 or more"]),
        ('[limits]\nsend_buffer = "1 KiB"\n', ["limits.send_buffer", "16384 B or more"]),
        ('[congestion]\nmtu = "100 B"\n', ["mtu"]),
        ("[limits]\nsteams = 1\n", ["steams", "streams"]),
    ]:
        assert all(word in said(settings) for word in words), said(settings)


def test_check_names_what_is_missing(tmp_path: Path) -> None:
    server = Server(tmp_path)
    assert set(server.check().values()) == {None}
    (tmp_path / "key.pem").chmod(0o644)
    (missing,) = (why for why in server.check().values() if why)
    assert "mode is 644" in missing
    done = subprocess.run(server.command(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "chmod 600" in done.stderr
    (tmp_path / "key.pem").chmod(0o600)
    server.root.rmdir()
    assert any("root = " in name and why for name, why in server.check().items())
    server.root.mkdir()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", server.port))
        assert any("listen = " in name and why for name, why in server.check().items())


def test_it_listens_on_its_addresses_only(shared: Server) -> None:
    def ports(file: str) -> set[str]:
        lines = Path(f"/proc/{shared.process.pid}/net/{file}").read_text().splitlines()[1:]
        inodes = {
            os.readlink(one) for one in Path(f"/proc/{shared.process.pid}/fd").iterdir() if one.is_symlink()
        }
        rows = [line.split() for line in lines]
        return {row[1] for row in rows if f"socket:[{row[9]}]" in inodes and row[2].endswith(":0000")}

    def hexed(port: int) -> str:
        return f"0100007F:{port:04X}"

    assert ports("udp") == {hexed(shared.port)}
    assert ports("tcp") == {hexed(shared.https), hexed(shared.admin)}
    assert ports("udp6") == ports("tcp6") == set()
