"""The node `rnis`: its answers, notifications, bounds, and what hostile clients do to it."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import os
import random
import re
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rnis_support import CAR, SCENARIO, Node, Receiver, no_content

OPEN = '[callbacks]\nnetworks = ["127.0.0.0/8"]\n'


def cell_change(callback: str, **more: Any) -> dict[str, Any]:
    return {
        "subscriptionType": "CellChangeSubscription",
        "callbackReference": callback,
        "filterCriteriaAssocHo": {"associateId": CAR, "hoStatus": [3]},
    } | more


def records(callback: str, **more: Any) -> dict[str, Any]:
    return {
        "subscriptionType": "UeMacSubscription",
        "callbackReference": callback,
        "filterCriteriaAssoc": {"associateId": CAR},
    } | more


def test_queries_answer_with_what_the_run_has(tmp_path: Path) -> None:
    with Node(tmp_path, '[source]\nqci = 9\nmeasure = "500 ms"\n') as node:
        rab = node.get("/queries/rab_info").json
        assert rab["appInstanceId"] == "anonymous"
        cells = {one["ecgi"]["cellId"]: one["ueInfo"] for one in rab["cellUserInfo"]}
        assert set(cells) <= {"0000000", "0000001"}
        ues = [ue for one in cells.values() for ue in one]
        assert {ue["associateId"][0]["value"] for ue in ues} == {"10.1.0.1", "10.1.0.2"}
        assert all(ue["erabInfo"] == [{"erabId": 5, "erabQosParameters": {"qci": 9}}] for ue in ues)
        assert abs(rab["timeStamp"]["seconds"] - time.time()) < 2

        one = node.get("/queries/rab_info?ue_ipv4_address=10.1.0.2&cell_id=0x0000000,0000001").json
        assert [len(cell["ueInfo"]) for cell in one["cellUserInfo"]] == [1]
        assert node.get("/queries/rab_info?qci=8").json["cellUserInfo"] == []

        assert node.get("/queries/plmn_info?app_ins_id=a,b").json[1] | {"timeStamp": 0} == {
            "appInstanceId": "b",
            "plmn": [{"mcc": "001", "mnc": "01"}],
            "timeStamp": 0,
        }
        bearers = node.get("/queries/s1_bearer_info?ue_ipv4_address=10.1.0.1").json["s1UeInfo"]
        assert [one["s1BearerInfoDetailed"] for one in bearers] == [[{"erabId": 5}]]

        def most(name: str) -> int:
            cells = node.get("/queries/layer2_meas").json["cellInfo"]
            return max(int(cell.get(name, 0)) for cell in cells)

        # A block of 50 resource blocks at MCS 28 has 36,696 bits (TS 36.213 table 7.1.7.2.1-1). 20 Mbit/s of
        # UDP payload and up to 5 % of headers take 54.5 to 57.2 % of them, and rounding down 1 % more.
        wait_for(lambda: 53 <= most("dl_total_prb_usage_cell") <= 58)
        assert most("number_of_active_ue_dl_nongbr_cell") == 1
        idle = node.get("/queries/layer2_meas?dl_total_prb_usage_cell=101").json["cellInfo"]
        assert idle == []


def test_a_second_bearer_is_a_bearer(tmp_path: Path) -> None:
    scenario = SCENARIO.replace('[[cell]]\nname = "west"', '[[cell]]\nl4s_bearer = {}\nname = "west"')
    with Node(tmp_path, "[source]\nqci = 9\n", scenario=scenario) as node:
        # The other UE stays in the cell with two bearers.
        about = "ue_ipv4_address=10.1.0.2"
        bearers = node.get(f"/queries/rab_info?{about}").json["cellUserInfo"][0]["ueInfo"][0]["erabInfo"]
        assert bearers == [{"erabId": 5, "erabQosParameters": {"qci": 9}}, {"erabId": 6}]
        one = node.get(f"/queries/s1_bearer_info?{about}&erab_id=6,7").json["s1UeInfo"][0]
        assert one["s1BearerInfoDetailed"] == [{"erabId": 6}]
        assert node.get("/queries/s1_bearer_info?erab_id=7").status == 404
        assert node.get(f"/queries/rab_info?{about}&qci=8").json["cellUserInfo"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/queries/rab_info?c_id=1", 400),
        ("/queries/rab_info?erab_id=five", 400),
        ("/queries/rab_info?qci=9&qci=8", 400),
        ("/queries/rab_info?cell_id=8000099", 404),
        ("/queries/rab_info?ue_ipv4_address=10.9.9.9", 404),
        ("/queries/plmn_info", 400),
        ("/queries/plmn_info?app_id=1", 400),
        ("/queries/s1_bearer_info?temp_ue_id=1", 404),
        ("/queries/layer2_meas?cell_id=FFFFFFF", 404),
        ("/queries/nothing", 404),
        ("/subscriptions?subscription_type=wrong", 400),
        ("/subscriptions/7777", 404),
        ("/subscriptions/../x", 404),
        ("/queries/rab_info?cell_id=" + "0," * 8000, 414),
    ],
)
def test_wrong_requests_are_answered_with_problem_details(shared: Node, path: str, status: int) -> None:
    answer = shared.get(path)
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert answer.json["detail"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A node for tests that leave nothing behind."""
    with Node(tmp_path_factory.mktemp("rnis"), OPEN) as node:
        yield node


def test_a_subscription_is_listed_changed_and_cancelled(shared: Node) -> None:
    made = shared.subscribe(cell_change("http://127.0.0.1:9/a"))
    assert made.status == 201
    href = made.json["_links"]["self"]["href"]
    assert made.headers["Location"] == href
    path = href.removeprefix(f"http://127.0.0.1:{shared.port}")
    assert shared.ask("GET", path).json == made.json
    listed = shared.get("/subscriptions?subscription_type=cell_change").json["_links"]["subscription"]
    assert listed == [{"href": href, "subscriptionType": "CellChangeSubscription"}]
    assert shared.get("/subscriptions?subscription_type=rab_est").json["_links"]["subscription"] == []

    changed = shared.ask("PUT", path, cell_change("http://127.0.0.1:9/b"))
    assert (changed.status, changed.json["callbackReference"]) == (200, "http://127.0.0.1:9/b")
    assert shared.ask("PUT", path, records("http://127.0.0.1:9/b")).status == 422
    assert shared.ask("DELETE", path).status == 204
    assert shared.ask("GET", path).status == 404
    assert shared.ask("DELETE", path).status == 404


@pytest.mark.parametrize("root", ["", "/mec"])
def test_the_service_has_two_roots(tmp_path: Path, root: str) -> None:
    with Node(tmp_path, OPEN, top='api_root = "/mec"') as node:
        made = node.ask("POST", f"{root}/rni/v2/subscriptions", cell_change("http://127.0.0.1:9/"))
        assert (
            made.json["_links"]["self"]["href"] == f"http://127.0.0.1:{node.port}/mec/rni/v2/subscriptions/1"
        )


def test_a_handover_is_notified(tmp_path: Path) -> None:
    with Receiver() as receiver, Node(tmp_path, OPEN) as node:
        href = node.subscribe(cell_change(f"{receiver.url}/x")).json["_links"]["self"]["href"]
        bearer = {
            "subscriptionType": "S1BearerSubscription",
            "callbackReference": f"{receiver.url}/s1",
            "S1BearerSubscriptionCriteria": {"associateId": CAR},
            "eventType": [2],
        }
        assert node.subscribe(bearer).status == 201
        got = dict[str, Any]()
        for _ in range(2):
            path, body, at = receiver.received.get(timeout=20)
            got[path] = body
            stamp = body["timeStamp"]
            # Within the steps of the source, 10 ms, and the scheduling of a busy machine.
            assert at - stamp["seconds"] - stamp["nanoSeconds"] / 1e9 < 1
    place = {"plmn": {"mcc": "001", "mnc": "01"}}
    del got["/x"]["timeStamp"]
    assert got["/x"] == {
        "notificationType": "CellChangeNotification",
        "associateId": CAR,
        "hoStatus": 3,
        "srcEcgi": place | {"cellId": "0000000"},
        "trgEcgi": [place | {"cellId": "0000001"}],
        "_links": {"subscription": {"href": href}},
    }
    assert got["/s1"]["s1Event"] == 2
    assert got["/s1"]["s1UeInfo"]["ecgi"] == [place | {"cellId": "0000001"}]


def test_a_measurement_report_and_timing_advances_are_notified(tmp_path: Path) -> None:
    settings = OPEN + '[source]\nmeasure = "200 ms"\n'
    with Receiver() as receiver, Node(tmp_path, settings) as node:
        report = {
            "subscriptionType": "MeasRepUeSubscription",
            "callbackReference": f"{receiver.url}/report",
            "filterCriteriaAssocTri": {"associateId": CAR, "trigger": [12]},
        }
        href = node.subscribe(report).json["_links"]["self"]["href"]
        # Event A2 starts no handover here.
        assert node.subscribe(report | {"filterCriteriaAssocTri": {"trigger": [11]}}).status == 201
        advance = {
            "subscriptionType": "MeasTaSubscription",
            "callbackReference": f"{receiver.url}/advance",
            "filterCriteriaAssoc": {},
        }
        assert node.subscribe(advance).status == 201
        advances, got = dict[str, list[int]](), None
        while got is None:
            path, body, _ = receiver.received.get(timeout=20)
            if path == "/report":
                got = body
                continue
            assert body["notificationType"] == "MeasTaNotification"
            advances.setdefault(body["associateId"][0]["value"], []).append(body["timingAdvance"])
    place = {"plmn": {"mcc": "001", "mnc": "01"}}
    neighbour = got["eutranNeighbourCellMeasInfo"][0]
    # An element of 600 has 2.2 dBm of 30 dBm. The report comes when the neighbour is 3 to 5 dB stronger, at
    # 410 m to 450 m of 700 m: by Friis at 2.12 GHz, 91.2 to 92.0 dB less. The filter of layer 3 may be 1 dB
    # behind.
    assert 50 <= got["rsrp"] <= 53
    # Of 12 elements, 2 have reference signals, and 10 are sent in 54 to 58 % of the blocks. The neighbour is
    # 2 to 3.2 times as strong and sends its 2: an RSSI of 11.4 to 14.2 times the RSRP, -10.6 to -11.5 dB.
    assert 16 <= got["rsrq"] <= 18
    # Both RSRQ have the same RSSI. Steps of RSRQ have half a decibel, and all values are rounded down.
    better = neighbour["rsrp"] - got["rsrp"]
    assert 2 <= better <= 6
    assert abs(neighbour["rsrq"] - got["rsrq"] - 2 * better) <= 3
    del got["timeStamp"], got["rsrp"], got["rsrq"], neighbour["rsrp"], neighbour["rsrq"]
    assert got == {
        "notificationType": "MeasRepUeNotification",
        "associateId": CAR,
        "trigger": 12,
        "ecgi": place | {"cellId": "0000000"},
        "eutranNeighbourCellMeasInfo": [{"ecgi": place | {"cellId": "0000001"}}],
        "_links": {"subscription": {"href": href}},
    }
    # 100.5 m and back are 20.6 Ts, and a step has 2 Ts.
    assert set(advances["10.1.0.2"]) == {10}
    # From 250 m on, at 83 m/s: 1.7 steps in 200 ms.
    moves = [b - a for a, b in itertools.pairwise(advances["10.1.0.1"])]
    assert 25 <= advances["10.1.0.1"][0] <= 36
    assert set(moves) <= {1, 2}


def test_measurements_of_a_ue(tmp_path: Path) -> None:
    with Node(tmp_path, '[source]\nmeasure = "500 ms"\n') as node:

        def users(more: str = "") -> dict[str, Any]:
            answer = node.get(f"/queries/layer2_meas?ue_ipv4_address=10.1.0.1,10.1.0.2{more}").json
            return {one["associateId"]["value"]: one for one in answer["cellUEInfo"]}

        # 20 Mbit/s of UDP payload in 500 ms are 10,000 kbit, and headers up to 5 %.
        wait_for(lambda: 9_900 <= users().get("10.1.0.1", {}).get("dl_nongbr_data_volume_ue", 0) <= 10_500)
        car, idle = users()["10.1.0.1"], users()["10.1.0.2"]
        # A block is decoded 4 ms after it was sent (FDD), and 8 ms later if it must be sent again.
        assert 4 <= car["dl_nongbr_delay_ue"] <= 30
        assert car["dl_gbr_data_volume_ue"] == car["ul_nongbr_data_volume_ue"] == 0
        assert "ul_nongbr_delay_ue" not in car
        assert idle["dl_nongbr_data_volume_ue"] == 0
        assert "dl_nongbr_delay_ue" not in idle
        assert car["ecgi"]["cellId"] in {"0000000", "0000001"}
        assert set(users("&dl_nongbr_data_volume_ue=0")) == {"10.1.0.2"}
        assert users("&dl_nongbr_pdr_ue=0") == {}
        only = node.get("/queries/layer2_meas?ue_ipv4_address=10.1.0.2").json
        assert [one["associateId"]["value"] for one in only["cellUEInfo"]] == ["10.1.0.2"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "RabModSubscription": ({"filterCriteriaQci": {"qci": 9, "erabId": 5}}, "never modified"),
    "NrMeasRepUeSubscription": ({"filterCriteriaNrMrs": {}}, "E-UTRA"),
    "CaReconfSubscription": ({"filterCriteriaAssoc": {}}, "carrier aggregation"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_subscription_to_what_the_model_does_not_have_is_refused(shared: Node, name: str) -> None:
    criteria, reason = REFUSED[name]
    made = shared.subscribe({"subscriptionType": name, "callbackReference": "http://127.0.0.1:9/"} | criteria)
    assert made.status == 422
    assert name in made.json["detail"]
    assert reason in made.json["detail"]


def test_ues_of_a_network_without_handovers_send_no_reports(tmp_path: Path) -> None:
    alone = SCENARIO.replace('[handover]\nmode = "lossless"\n[x2]\ndelay = "6 ms"\n', "")
    with Node(tmp_path, OPEN, scenario=alone) as node:
        wait_for(lambda: node.get("/queries/rab_info").status == 200)
        body = {
            "subscriptionType": "MeasRepUeSubscription",
            "callbackReference": "http://127.0.0.1:9/",
            "filterCriteriaAssocTri": {"trigger": [12]},
        }
        made = node.subscribe(body)
        assert made.status == 422
        assert "[handover]" in made.json["detail"]


def test_records_are_those_of_the_simulated_service(tmp_path: Path) -> None:
    """The members that `docs/radio-information.md` lists, at each multiple of the period."""
    with Receiver() as receiver, Node(tmp_path, OPEN + '[source]\nperiod = "50 ms"\n') as node:
        assert node.subscribe(records(receiver.url)).status == 201
        got = [receiver.next() for _ in range(5)]
    page = (Path(__file__).parent.parent / "docs" / "radio-information.md").read_text()
    shown = json.loads(page.split("```json\n")[1].split("```")[0])
    assert [one.keys() for one in got] == [shown.keys()] * 5
    assert got[0]["x-airlane-ue-mac"].keys() == shown["x-airlane-ue-mac"].keys()
    assert got[0]["associateId"] == CAR
    times = [one["timeStamp"]["seconds"] + one["timeStamp"]["nanoSeconds"] / 1e9 for one in got]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert gaps == pytest.approx([0.05] * 4, abs=1e-5)


def test_a_test_notification_and_an_expiry_notice(tmp_path: Path) -> None:
    with Receiver() as receiver, Node(tmp_path, OPEN + '[limits]\nnotice = "60 s"\n') as node:
        deadline = {"seconds": int(time.time()) + 4, "nanoSeconds": 0}
        body = cell_change(receiver.url, requestTestNotification=True, expiryDeadline=deadline)
        body["filterCriteriaAssocHo"]["hoStatus"] = [5]
        made = node.subscribe(body)
        assert made.json["expiryDeadline"] == deadline
        href = made.json["_links"]["self"]["href"]
        links = {"subscription": {"href": href}}
        assert receiver.next() == {"notificationType": "TestNotification", "_links": links}
        notice = receiver.next()
        assert notice["notificationType"] == "ExpiryNotification"
        assert notice["_links"]["self"] == href
        assert notice["expiryDeadline"] == deadline
        time.sleep(max(0.0, deadline["seconds"] + 1.5 - time.time()))
        assert node.get(f"/subscriptions/{href.rsplit('/', 1)[1]}").status == 404
        past = {"seconds": 1, "nanoSeconds": 0}
        assert node.subscribe(cell_change(receiver.url, expiryDeadline=past)).status == 422
        lifetime = node.subscribe(cell_change(receiver.url)).json["expiryDeadline"]["seconds"] - time.time()
        assert 86_300 < lifetime <= 86_400


def read_frames(stream: socket.socket, count: int) -> list[Any]:
    """The texts of a WebSocket's frames (RFC 6455 §5.2), from a server that does not mask them."""
    data, texts = b"", list[Any]()
    while len(texts) < count:
        while len(data) < 4 or len(data) < (
            4 + int.from_bytes(data[2:4], "big") if data[1] == 126 else 2 + data[1]
        ):
            more = stream.recv(65536)
            assert more, texts
            data += more
        start, length = (4, int.from_bytes(data[2:4], "big")) if data[1] == 126 else (2, data[1])
        assert data[0] == 0x81, data[:20]
        texts.append(json.loads(data[start : start + length]))
        data = data[start + length :]
    return texts


def test_notifications_over_a_websocket(tmp_path: Path) -> None:
    with Node(tmp_path) as node:
        body = records("") | {"websockNotifConfig": {"requestWebsocketUri": True}}
        del body["callbackReference"]
        made = node.subscribe(body)
        assert made.status == 201
        uri = made.json["websockNotifConfig"]["websocketUri"]
        path = uri.removeprefix(f"ws://127.0.0.1:{node.port}")
        upgrade = (
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", node.port), timeout=10) as stream:
            stream.sendall(upgrade)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += stream.recv(1)
            assert b" 101 " in answer.splitlines()[0]
            # RFC 6455 §1.3 has the answer for this key.
            assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in answer
            assert {one["notificationType"] for one in read_frames(stream, 3)} == {"UeMacNotification"}
            with socket.create_connection(("127.0.0.1", node.port), timeout=10) as second:
                second.sendall(upgrade)
                assert b" 409 " in second.recv(100).splitlines()[0]
        with socket.create_connection(("127.0.0.1", node.port), timeout=10) as other:
            other.sendall(upgrade.replace(path.rsplit("/", 1)[1].encode(), b"0" * 32))
            assert b" 404 " in other.recv(100).splitlines()[0]


def test_only_the_holder_of_a_token_sees_its_subscriptions(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    one, two = "a" * 22, "b" * 22
    tokens.write_text(f"# of the test\n{one} first\n{two} second\n")
    tokens.chmod(0o600)
    with Node(tmp_path, OPEN + '[access]\ntokens = "tokens"\n') as node:

        def bearer(token: str) -> dict[str, Any]:
            return {"headers": {"Authorization": f"Bearer {token}"}}

        for wrong in ({}, bearer("c" * 22), {"headers": {"Authorization": f"Basic {one}"}}):
            answer = node.get("/queries/rab_info", **wrong)
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
            assert node.subscribe(cell_change("http://127.0.0.1:9/"), **wrong).status == 401
        assert node.get("/queries/rab_info", **bearer(one)).json["appInstanceId"] == "first"
        assert node.get("/queries/plmn_info?app_ins_id=second", **bearer(one)).status == 404
        made = node.subscribe(cell_change("http://127.0.0.1:9/"), **bearer(one))
        path = "/rni/v2/subscriptions/1"
        assert made.json["_links"]["self"]["href"].endswith(path)
        assert node.ask("GET", path, **bearer(one)).status == 200
        for method, body in (("GET", None), ("DELETE", None), ("PUT", cell_change("http://127.0.0.1:9/"))):
            assert node.ask(method, path, body, **bearer(two)).status == 404
        assert node.get("/subscriptions", **bearer(two)).json["_links"]["subscription"] == []


def certificate(folder: Path, name: str) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    (folder / f"{name}.key").chmod(0o600)


def test_tls(tmp_path: Path) -> None:
    certificate(tmp_path, "own")
    with Node(tmp_path, '[tls]\ncertificate = "own.pem"\nkey = "own.key"\n') as node:
        trust = ssl.create_default_context(cafile=tmp_path / "own.pem")
        with (
            socket.create_connection(("127.0.0.1", node.port), timeout=10) as plain,
            trust.wrap_socket(plain, server_hostname="127.0.0.1") as stream,
        ):
            stream.sendall(b"GET /rni/v2/queries/rab_info HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert stream.version() == "TLSv1.3"
            assert b" 200 " in stream.recv(4096).splitlines()[0]


def test_a_check_names_what_is_missing(tmp_path: Path) -> None:
    certificate(tmp_path, "own")
    certificate(tmp_path, "other")
    (tmp_path / "tokens").write_text("a" * 22 + " first\n")
    (tmp_path / "tokens").chmod(0o644)
    settings = '[access]\ntokens = "tokens"\n[tls]\ncertificate = "own.pem"\nkey = "other.key"\n'
    node = Node(tmp_path, settings, scenario='network = "wired"\n[[flow]]\n')

    def missing() -> dict[str, str]:
        done = subprocess.run(
            node.command("--check", "--json"), capture_output=True, text=True, check=False, timeout=60
        )
        found = json.loads(done.stdout)["requirements"]
        assert done.returncode == int(any(one["missing"] for one in found))
        return {one["name"].split(" ")[0]: one["missing"] for one in found if one["missing"]}

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", node.port))
        taken.listen()
        found = missing()
    assert found.keys() == {"source.scenario", "listen", "access.tokens", "tls"}
    assert "the network is wired" in found["source.scenario"]
    assert "in use" in found["listen"]
    assert "its mode is 644" in found["access.tokens"]
    assert "other.key" in found["tls"]

    certificate(tmp_path, "own")
    node = Node(tmp_path, settings.replace("other", "own"))
    (tmp_path / "tokens").chmod(0o600)
    assert missing() == {}
    (tmp_path / "own.key").chmod(0o640)
    assert "its mode is 640" in missing()["tls"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ('[callbacks]\nnetworks = ["10.0.0.0/33"]', "callbacks.networks"),
        ("[callbacks]\nattempts = 0", "callbacks.attempts = 0: it is zero; choose 1 or more"),
        ('[limits]\nbody = "0 B"', "limits.body"),
        ("[limits]\nspeed = 3", "limits.speed"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, settings: str, error: str) -> None:
    node = Node(tmp_path, settings)
    done = subprocess.run(node.command(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert f"{node.config}:" in done.stderr
    assert error in done.stderr


# Threats: one test for each line of docs/deploy/rnis.md.


@pytest.mark.parametrize(
    "callback",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:10.0.0.1]/",
        "http://[::1]:80/",
        "http://10.0.0.1/",
        "http://user@127.0.0.1/",
        "http://127.0.0.1:0/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
        "//127.0.0.1/",
        "/relative",
        "",
    ],
)
def test_callbacks_lead_to_allowed_networks_only(shared: Node, callback: str) -> None:
    assert shared.subscribe(cell_change(callback)).status == 422


def test_a_name_and_a_redirect_lead_nowhere_else(tmp_path: Path) -> None:
    """Names are resolved when a notification is sent, and their addresses are compared with the networks."""

    def redirect(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        handler.send_response(307)
        handler.send_header("Location", f"{inner.url}/inner")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with Receiver() as inner, Receiver(redirect) as outer:
        with Node(tmp_path, OPEN.replace("127.0.0.0/8", "192.0.2.0/24")) as node:
            name = inner.url.replace("127.0.0.1", "localhost")
            assert node.subscribe(cell_change(name, requestTestNotification=True)).status == 201
            wait_for(lambda: node.metric("rnis_notifications_failed_total") == 1)
            assert inner.received.empty()
        with Node(tmp_path, OPEN) as node:
            assert node.subscribe(cell_change(outer.url, requestTestNotification=True)).status == 201
            assert outer.next()["notificationType"] == "TestNotification"
            wait_for(lambda: node.metric("rnis_notifications_failed_total") == 1)
            assert inner.received.empty()


def wait_for(condition: Any, timeout: float = 20) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_slow_and_dead_callbacks_delay_no_other(tmp_path: Path) -> None:
    def slow(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        time.sleep(5)
        no_content(handler, body)

    with socket.socket() as dead, Receiver(slow) as sluggish, Receiver() as well:
        # A full backlog: connections are not answered.
        dead.bind(("127.0.0.1", 0))
        dead.listen(0)
        settings = OPEN + 'timeout = "1 s"\n[source]\nperiod = "100 ms"\n'
        with Node(tmp_path, settings) as node:
            for k in range(20):
                assert node.subscribe(records(f"http://127.0.0.1:{dead.getsockname()[1]}/{k}")).status == 201
                assert node.subscribe(records(f"{sluggish.url}/{k}")).status == 201
            assert node.subscribe(records(well.url)).status == 201
            delays = []
            for _ in range(30):
                _, body, at = well.received.get(timeout=15)
                delays.append(at - body["timeStamp"]["seconds"] - body["timeStamp"]["nanoSeconds"] / 1e9)
            assert sorted(delays)[len(delays) // 2] < 0.1
            assert node.metric("rnis_notifications_dropped_total") > 0


def test_a_failed_notification_is_sent_again(tmp_path: Path) -> None:
    seen = []

    def second_time(handler: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        seen.append(body)
        handler.send_response(503 if len(seen) == 1 else 204)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with Receiver(second_time) as receiver, Node(tmp_path, OPEN + 'backoff = "50 ms"\n') as node:
        node.subscribe(cell_change(receiver.url, requestTestNotification=True))
        assert receiver.next() == receiver.next()
        wait_for(lambda: node.metric("rnis_notifications_sent_total") == 1)


def test_bounds_of_subscriptions_bodies_and_headers(tmp_path: Path) -> None:
    settings = OPEN + '[limits]\nsubscriptions = 2\nbody = "1 KiB"\nheader_time = "500 ms"\n'
    with Node(tmp_path, settings + "connections_per_address = 8\n") as node:
        body = cell_change("http://127.0.0.1:9/")
        assert [node.subscribe(body).status for _ in range(3)] == [201, 201, 429]
        assert node.subscribe(json.dumps(body) + " " * 2000).status == 413
        assert node.subscribe(body, headers={"Content-Type": "text/plain"}).status == 415
        assert node.get("/subscriptions", headers={"Accept": "text/html"}).status == 406
        assert node.ask("PATCH", "/rni/v2/subscriptions").status == 405

        # A header that never ends, one that begins late, and a body that never ends: each is cut off.
        head = b"POST /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\n"
        for start in (head, b"", head + b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"):
            with socket.create_connection(("127.0.0.1", node.port), timeout=5) as slow:
                slow.sendall(start)
                begun = time.monotonic()
                while slow.recv(4096):
                    pass
                assert time.monotonic() - begun < 3
        assert (
            node.ask("GET", "/rni/v2/queries/rab_info", headers={"X": "y" * 20_000}, parse=False).status
            == 431
        )

        held = [socket.create_connection(("127.0.0.1", node.port), timeout=5) for _ in range(8)]
        with socket.create_connection(("127.0.0.1", node.port), timeout=5) as ninth:
            assert ninth.recv(1) == b""
        for one in held:
            one.close()
        wait_for(lambda: node.metric("rnis_connections") == 0)
        assert node.get("/queries/rab_info").status == 200


def websocket(node: Node, source: str, **more: Any) -> socket.socket:
    """A WebSocket of a new subscription, opened from an address."""
    body = records("", websockNotifConfig={"requestWebsocketUri": True}, **more)
    del body["callbackReference"]
    uri = node.subscribe(body).json["websockNotifConfig"]["websocketUri"]
    one = socket.socket()
    one.settimeout(5)
    one.bind((source, 0))
    one.connect(("127.0.0.1", node.port))
    one.sendall(
        f"GET /{uri.split('/', 3)[3]} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
    )
    return one


def test_websockets_are_connections_until_they_end(tmp_path: Path) -> None:
    settings = OPEN + '[limits]\nconnections = 20\nconnections_per_address = 6\nstall = "2 s"\n'
    with Node(tmp_path, settings) as node:
        held = [websocket(node, "127.0.0.2") for _ in range(6)]
        assert all(one.recv(64).startswith(b"HTTP/1.1 101") for one in held)
        wait_for(lambda: node.metric("rnis_connections") == 6)
        # The seventh is closed or reset.
        with websocket(node, "127.0.0.2") as seventh, contextlib.suppress(ConnectionError):
            assert seventh.recv(1) == b""
        assert node.get("/queries/rab_info").status == 200
        # None of them answers a ping: each ends after twice `stall`, and gives its place back.
        wait_for(lambda: node.metric("rnis_connections") == 0, timeout=15)
        for one in held:
            one.close()
        with websocket(node, "127.0.0.2") as again:
            assert again.recv(64).startswith(b"HTTP/1.1 101")


def test_a_client_has_a_share_of_the_subscriptions(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("".join(f"{c * 22} {c}\n" for c in "abc"))
    (tmp_path / "tokens").chmod(0o600)
    tokens = '[access]\ntokens = "tokens"\n[limits]\nsubscriptions = 9\n'
    body = cell_change("http://127.0.0.1:9/")

    def bearer(name: str) -> dict[str, Any]:
        return {"headers": {"Authorization": f"Bearer {name * 22}"}}

    with Node(tmp_path, OPEN + tokens) as node:
        made = [node.subscribe(body, **bearer("a")) for _ in range(4)]
        assert [one.status for one in made] == [201, 201, 201, 429], "a third each"
        assert "the most of one client" in made[3].json["detail"]
        assert [node.subscribe(body, **bearer("b")).status for _ in range(4)] == [201, 201, 201, 429]
        assert [node.subscribe(body, **bearer("c")).status for _ in range(4)] == [201, 201, 201, 429]
        href = made[0].json["_links"]["self"]["href"]
        path = href.removeprefix(f"http://127.0.0.1:{node.port}")
        assert node.ask("PUT", path, body, **bearer("a")).status == 200
        assert node.ask("DELETE", path, **bearer("a")).status == 204
        assert node.subscribe(body, **bearer("b")).status == 429
        assert node.subscribe(body, **bearer("a")).status == 201

    by_address = "[limits]\nsubscriptions = 9\nsubscriptions_per_client = 2\n"
    with Node(tmp_path, OPEN + by_address) as node:
        assert [node.subscribe(body).status for _ in range(3)] == [201, 201, 429]


@pytest.mark.parametrize("port", ["99999", "65536", "0", "80800", "4294967376"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_callback_with_a_port_that_is_none_is_refused(shared: Node, scheme: str, port: str) -> None:
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        refused = shared.subscribe(cell_change(f"{scheme}://{host}:{port}/a"))
        assert refused.status == 422
        assert f"{port} is no port" in refused.json["detail"]


def test_hostile_bodies(shared: Node) -> None:
    """Bodies that are mutated at random: each gets an answer of the API, and the service continues."""
    chance = random.Random(1)
    whole = json.dumps(
        cell_change("http://127.0.0.1:9/", expiryDeadline={"seconds": 4_000_000_000, "nanoSeconds": 0})
        | {"_links": {"self": {"href": "x"}}, "websockNotifConfig": {"requestWebsocketUri": False}}
    )
    pieces = [
        "null",
        "{}",
        "[]",
        "1e999",
        "-1",
        "1.5",
        '"\\ud800"',
        "true",
        "9" * 400,
        "[" * 300,
        '{"a":' * 300,
    ]
    statuses = set()
    for turn in range(400):
        text = bytearray(whole.encode())
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(text))
            match chance.randrange(4):
                case 0:
                    text[at] = chance.randrange(256)
                case 1:
                    del text[at : at + chance.randint(1, 20)]
                case 2:
                    text[at:at] = chance.choice(pieces).encode()
                case _:
                    values = list(re.finditer(rb"(?<=: )[^,{}\[\]]+", bytes(text)))
                    if values:
                        place = chance.choice(values)
                        text[place.start() : place.end()] = chance.choice(pieces).encode()
        answer = shared.subscribe(bytes(text))
        statuses.add(answer.status)
        assert answer.status in {201, 400, 413, 422}, (turn, bytes(text), answer.text)
        if answer.status == 201:
            path = answer.json["_links"]["self"]["href"].removeprefix(f"http://127.0.0.1:{shared.port}")
            assert shared.ask("DELETE", path).status == 204
    assert {201, 400} <= statuses
    assert shared.metric("rnis_subscriptions") == 0
    for deep in (
        "[" * 16_000,
        '{"a":' * 3000,
        whole.replace("{", '{"subscriptionType": "CellChangeSubscription", ', 1),
    ):
        assert shared.subscribe(deep).status == 400


def test_it_listens_on_its_addresses_only(shared: Node) -> None:
    assert shared.process is not None
    inodes = set()
    for entry in Path(f"/proc/{shared.process.pid}/fd").iterdir():
        link = os.readlink(entry)
        inodes.add(link.removeprefix("socket:[").rstrip("]"))
    listening = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                listening.add(words[1])
    local = "0100007F"
    assert listening == {f"{local}:{shared.port:04X}", f"{local}:{shared.admin:04X}"}


def test_it_conforms_to_the_openapi_and_the_repaired_suite_of_etsi(tmp_path: Path) -> None:
    """The defects of both are listed in `tools/rnis_conformance.py`."""
    report = tmp_path / "report.json"
    tool = Path(__file__).parent.parent / "tools" / "rnis_conformance.py"
    command = [sys.executable, str(tool), "--examples", "5", "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    if done.stdout.startswith("skipped: "):
        pytest.skip(f"live tests: conformance of the node rnis: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())
    forms = ("original", "repaired")
    results = {form: [one["result"] for one in found[form]["robot"]] for form in forms}
    assert results["repaired"] == ["PASS"] * 19
    assert results["original"].count("PASS") == 3
    assert found["original"]["openapi"]["code"] == 1
    assert all(one["received"] and not one["errors"] for one in found["notifications"].values())


def test_it_does_not_start_with_a_scenario_that_cannot_run(tmp_path: Path) -> None:
    node = Node(tmp_path, scenario=SCENARIO.replace('mode = "am"', 'mode = "um"'))
    done = subprocess.run(node.command(), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "cell.toml" in done.stderr
    assert 'cell.0.rlc.mode = "um"' in done.stderr


def test_it_drains(tmp_path: Path) -> None:
    """A request that has begun is answered after SIGTERM; new connections are not accepted."""
    with Node(tmp_path, OPEN) as node:
        assert node.process is not None
        body = json.dumps(cell_change("http://127.0.0.1:9/")).encode()
        with socket.create_connection(("127.0.0.1", node.port), timeout=10) as stream:
            head = f"POST /rni/v2/subscriptions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            stream.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body[:10])
            time.sleep(0.2)
            node.process.terminate()
            time.sleep(0.5)
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", node.port), timeout=5)
            stream.sendall(body[10:])
            assert b" 201 " in stream.recv(4096).splitlines()[0]
        assert node.process.wait(timeout=20) == 0
