# ruff: noqa: E501
"""The node `rnis` against ETSI's OpenAPI and Robot Framework suite for GS MEC 012, as they are and repaired.

    AIRLANE_RNIS_REFERENCE=FOLDER .venv/bin/python tools/rnis_conformance.py [--tools BIN] [--json FILE]

FOLDER has `openapi/RniAPI.yaml` (etsi-forge/mec.gs012-rnis-api) and `robot/` (openmsa/etsi-mec-app-test). It is
only read: the repairs are made in copies in a temporary folder, each with its reason. BIN is the folder with the
commands `schemathesis` and `robot`, from the extra `conformance`; AIRLANE_RNIS_TOOLS names it, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rnis_notifications

REFERENCE = "AIRLANE_RNIS_REFERENCE"
SUITES = ("RnisQuery_BV", "RnisQuery_BI_BO", "RnisSubscriptions_BV", "RnisSubscriptions_BI_BO")
SCENARIO = """
network = "lena"
[[cell]]
name = "a"
resource_blocks = 25
[channel]
fading = "none"
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "tcp", congestion = "cubic" }
"""
SUBSCRIPTIONS = (
    "CellChange", "RabEst", "RabMod", "RabRel", "MeasRepUe", "NrMeasRepUe", "MeasTa", "CaReconf", "S1Bearer",
)  # fmt: skip


@dataclass(frozen=True)
class Repair:
    """A text of the Robot suite that is wrong, and the text in its place; an empty file name is all files."""

    file: str
    wrong: str
    right: str
    why: str


RESOURCE = "SRV/RNIS/resources/RadioNetworkInformationAPI.robot"
QUERIES = "SRV/RNIS/RnisQuery_BV.robot"
CREATE = "SRV/RNIS/RnisSubscriptions_BV.robot"
VARIABLES = "SRV/RNIS/environment/variables.txt"
LOOP = "Robot Framework 4 removed the syntax `:FOR`"
REPAIRS = (
    Repair(
        "GenericKeywords.robot",
        "${response['body']['problemDetails']['status']}",
        "${response['body']['status']}",
        "ProblemDetails is the body itself",
    ),
    Repair(
        "GenericKeywords.robot",
        "    :FOR  ${item}  IN  @{expr}\n    \\  Exit For Loop If    ${item[${json_field}]} == ${json_value}\n",
        "    FOR    ${item}    IN    @{expr}\n        IF    $item[$json_field] == $json_value    BREAK\n    END\n",
        LOOP,
    ),
    Repair(QUERIES, "Json Schema Is   RabInfos", "Json Schema Is   RabInfo", "rab_info is one object"),
    Repair(QUERIES, "${response['body']}\n\n\nRequest S1Bearer", "${response['body'][0]}\n\n\nRequest S1Bearer",
           "plmn_info is an array"),
    Repair(QUERIES, "Json Schema Is   S1BearerInfos", "Json Schema Is   S1BearerInfo",
           "s1_bearer_info is one object"),
    Repair(QUERIES, "Json Schema Is   Layer2MeasInfos", "Json Schema Is   L2Meas",
           "there is no schema Layer2MeasInfos, and layer2_meas is one object"),
    Repair(RESOURCE, "['s1UeIffo']['ecgi']['cellId']", "['s1UeInfo'][0]['ecgi'][0]['cellId']",
           "the member is s1UeInfo, an array, as is its ecgi"),
    Repair(RESOURCE, "['cellInfo']['ecgi']['cellId']", "['cellInfo'][0]['ecgi']['cellId']",
           "cellInfo is an array"),
    Repair(
        RESOURCE,
        "Check Subscription\n    [Arguments]    ${received_value}    ${expected_value}\n"
        "    Should Be Equal    ${received_value['_links']['self']}    ${LINKS_SELF}\n",
        "Check Subscription\n    [Arguments]    ${received_value}    ${expected_value}\n"
        "    Should Be Equal    ${received_value['_links']['self']['href']}    ${LINKS_SELF}\n",
        "the link is an object with href",
    ),
    Repair(
        RESOURCE,
        "    ${length}    Get Length    ${received_value['subscription']}\n"
        "    :FOR  ${item}  IN RANGE    0    ${length} \n"
        "    \\  Exit For Loop If    ${received_value['subscription'][${item}]} == ${expected_value}\n"
        "    Log    Item found ${received_value['subscription'][${item}]}\n"
        "    [return]    ${received_value['subscription'][${item}]}\n",
        "    ${expected}    Evaluate    ${expected_value}\n"
        "    Should Contain    ${received_value['_links']['subscription']}    ${expected}\n"
        "    RETURN    ${expected}\n",
        f"{LOOP}; the list is a member of _links; the loop passed without a match",
    ),
    Repair(
        RESOURCE,
        "    Should Be Equal    ${received_value['_links']['self']}    ${LINKS_SELF}\n\n\nCheck RabInfo",
        "    Should Start With    ${received_value['_links']['self']['href']}    ${LINKS_SELF}/\n\n\n"
        "Check RabInfo",
        "the link of a subscription is an object, and the service chooses its last segment",
    ),
    Repair(CREATE, "Json Schema Is   CellChangeSubscriptionRequest", "Json Schema Is   CellChangeSubscription",
           "there is no schema CellChangeSubscriptionRequest"),
    Repair(CREATE, "jsons/CellChangeSubscriptionRequest.json \n",
           "jsons/CellChangeSubscriptionRequest.json\n    ${body}    Replace Variables    ${body}\n",
           "variables in a file are not replaced: the service got the text ${HREF}"),
    Repair(CREATE, "jsons/UpdateCellChangeSubscriptionRequest.json\n",
           "jsons/UpdateCellChangeSubscriptionRequest.json\n    ${body}    Replace Variables    ${body}\n",
           "as above"),
    Repair(VARIABLES, "cell_changed", "cell_change", "a permitted value of subscription_type"),
    Repair(VARIABLES, "'href': '${HREF}'", "'href': '${LINKS_SELF}/${SUBSCRIPTION_ID}'",
           "the list has the link of the subscription, not its callback"),
    Repair(VARIABLES, "CELL_CHANGE\n", "CellChangeSubscription\n", "the list has the type of the body"),
)  # fmt: skip
SCHEMA_REPAIR = "schemas/*.json: the enumeration SEE_DESCRIPTION of texts is one of integers"
OPENAPI_REPAIRS = (
    "subscriptionType has the one value that the discriminator's mapping names: without it, each body of "
    "CaReconfSubscription is one of MeasTaSubscription, too, and oneOf admits neither",
    "subscription_type has the permitted values that its description lists",
    "callbackReference is a URI of a network that the operator allows",
)


def repair_robot(folder: Path) -> None:
    """Apply the repairs to a copy of the suite; a text that is not there is an error."""
    for one in REPAIRS:
        file = folder / one.file
        text = file.read_text(encoding="utf-8").replace("\r\n", "\n")
        if one.wrong not in text:
            raise SystemExit(
                f"error: {one.file} has no text {one.wrong!r}; it is another version of the suite"
            )
        file.write_text(text.replace(one.wrong, one.right), encoding="utf-8")
    for file in (folder / "SRV/RNIS/schemas").glob("*.json"):
        text = file.read_text(encoding="utf-8").replace('"\tsubscriptionType"', '"subscriptionType"')
        file.write_text(json.dumps(_integers(json.loads(text, strict=False))), encoding="utf-8")


def _integers(schema: Any) -> Any:
    if isinstance(schema, dict):
        if schema.get("enum") == ["SEE_DESCRIPTION"]:
            return {"type": "integer"}
        return {key: _integers(value) for key, value in schema.items()}
    return [_integers(value) for value in schema] if isinstance(schema, list) else schema


def repair_openapi(text: str) -> str:
    """Give the specification with the constraints that its prose and its mapping have."""
    import yaml

    document = yaml.safe_load(text)
    schemas = document["components"]["schemas"]
    for name in SUBSCRIPTIONS:
        own = schemas[f"{name}Subscription"]["allOf"][1]["properties"]
        own["subscriptionType"] = {"const": f"{name}Subscription"}
        own["callbackReference"] = {"type": "string", "pattern": "^http://127\\.0\\.0\\.1:9/[a-z]{0,9}$"}
    listed = document["paths"]["/subscriptions"]["get"]["parameters"][0]
    permitted = listed["description"].split("Permitted values: ")[1].rstrip(".")
    listed["schema"]["enum"] = permitted.split(", ")
    return json.dumps(document)


@contextmanager
def node(folder: Path, scenario: str = SCENARIO) -> Iterator[int]:
    """A node that runs, by its port."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        port, admin = one.getsockname()[1], two.getsockname()[1]
    (folder / "cell.toml").write_text(scenario)
    (folder / "rnis.toml").write_text(
        f'listen = "127.0.0.1:{port}"\napi_root = "/exampleAPI"\n'
        f'[node]\nadmin = "127.0.0.1:{admin}"\nlog = {{ level = "error" }}\n'
        '[source]\nscenario = "cell.toml"\nqci = 9\n'
        '[access]\napplications = ["01"]\n'
        '[callbacks]\nnetworks = ["127.0.0.0/8"]\n'
        '[limits]\nsubscriptions = 1000000\nbody = "1 MiB"\n'
    )
    process = subprocess.Popen([sys.executable, "-m", "airlane", "node", "rnis", str(folder / "rnis.toml")])
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{admin}/readyz", timeout=1)
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit("error: the node does not become ready")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def subscribe(port: int) -> str:
    """Create the subscription that the suite asks for by its number, and return this number."""
    body = {
        "subscriptionType": "CellChangeSubscription",
        "callbackReference": "http://127.0.0.1:9/",
        "filterCriteriaAssocHo": {},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/rni/v2/subscriptions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        href: str = json.load(response)["_links"]["self"]["href"]
    return href.rsplit("/", 1)[1]


def run_robot(tools: Path, folder: Path, port: int) -> list[dict[str, str]]:
    """Run the suite, and return the result of each test."""
    given = {
        "MEC-APP_HOST": "127.0.0.1",
        "MEC-APP_PORT": str(port),
        "CELL_ID": "0000000",
        "NOT_EXISTENT_CELL_ID": "0000099",
        "SUBSCRIPTION_ID": subscribe(port),
        "LINKS_SELF": f"http://127.0.0.1:{port}/exampleAPI/rni/v2/subscriptions",
        "apiRoot": "/exampleAPI",
    }
    variables = [word for name, value in given.items() for word in ("--variable", f"{name}:{value}")]
    output = folder / "output.xml"
    command = [str(tools / "robot"), *variables, "--output", str(output), "--log", "NONE", "--report", "NONE"]
    files = [f"{suite}.robot" for suite in SUITES]
    subprocess.run(
        [*command, *files], cwd=folder / "SRV/RNIS", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False, timeout=300,
    )  # fmt: skip
    results = []
    for test in ET.parse(output).getroot().iter("test"):
        status = test.find("status")
        assert status is not None
        doc = (test.findtext("doc") or "").split()
        results.append({
            "id": doc[0] if doc else "",
            "test": test.get("name", ""),
            "result": status.get("status", ""),
            "reason": (status.text or "").strip().splitlines()[0] if (status.text or "").strip() else "",
        })  # fmt: skip
    return results


def run_schemathesis(tools: Path, spec: Path, port: int, examples: int) -> dict[str, Any]:
    """Run schemathesis with subscriptions and an application that exist; its exit code and its text."""
    numbers = json.dumps([subscribe(port) for _ in range(200)])
    settings = f'[parameters]\nsubscriptionId = {numbers}\n"query.app_ins_id" = "01"\n'
    # A deadline that has passed, or an impossible one, is answered with 422, as the OpenAPI has it for bodies that are
    # right and cannot be followed.
    settings += '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", "404", "422"]\n'
    (spec.parent / "schemathesis.toml").write_text(settings)
    command = [
        str(tools / "schemathesis"), "run", str(spec), "--url", f"http://127.0.0.1:{port}/rni/v2",
        "--checks", "all", "--max-examples", str(examples), "--seed", "1", "--no-color",
        "--report", "junit", "--report-junit-path", str(spec.with_suffix(".xml")),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=spec.parent, capture_output=True, text=True, check=False, timeout=1800)
    return {"code": done.returncode, "text": done.stdout + done.stderr}


def main() -> int:
    """Print all tables; 1 if the repaired forms find something, or a notification is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    tools = os.environ.get("AIRLANE_RNIS_TOOLS") or Path(sys.executable).parent
    parser.add_argument("--tools", type=Path, default=Path(tools))
    parser.add_argument("--examples", type=int, default=30, help="schemathesis: cases per operation")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    reference = Path(os.environ.get(REFERENCE) or "")
    if not (reference / "openapi/RniAPI.yaml").is_file() or not os.environ.get(REFERENCE):
        print(f"skipped: {REFERENCE} names no folder with openapi/RniAPI.yaml")
        return 0
    missing = [name for name in ("schemathesis", "robot") if not (arguments.tools / name).exists()]
    if missing:
        print(
            f"skipped: {arguments.tools} has no {' and no '.join(missing)}; the extra `conformance` has them"
        )
        return 0
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="airlane-rnis-") as name:
        folder = Path(name)
        spec = (reference / "openapi/RniAPI.yaml").read_text(encoding="utf-8")
        for form in ("original", "repaired"):
            copy = folder / form
            shutil.copytree(reference / "robot", copy)
            (copy / "openapi.yaml").write_text(repair_openapi(spec) if form == "repaired" else spec)
            if form == "repaired":
                repair_robot(copy)
            with node(copy) as port:
                robot = run_robot(arguments.tools, copy, port)
            with node(copy) as port:
                openapi = run_schemathesis(arguments.tools, copy / "openapi.yaml", port, arguments.examples)
            report[form] = {"robot": robot, "openapi": openapi}
        import yaml

        with node(folder, rnis_notifications.SCENARIO) as port:
            report["notifications"] = rnis_notifications.notified(yaml.safe_load(spec), port)
    print_tables(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2))
    rnis_notifications.print_table(report["notifications"])
    repaired = report["repaired"]
    wrong = not rnis_notifications.is_right(report["notifications"])
    return int(
        wrong or any(one["result"] != "PASS" for one in repaired["robot"]) or repaired["openapi"]["code"] != 0
    )


def print_tables(report: dict[str, Any]) -> None:
    """Print the result of each test, the counts, and the repairs."""
    print("Robot Framework suite SRV/RNIS\n")
    print(f"{'test':<22} {'original':<9} {'repaired':<9} name")
    for before, after in zip(report["original"]["robot"], report["repaired"]["robot"], strict=True):
        print(f"{before['id']:<22} {before['result']:<9} {after['result']:<9} {before['test']}")
        if after["result"] != "PASS":
            print(f"    {after['reason']}")
    for form in ("original", "repaired"):
        results = [one["result"] for one in report[form]["robot"]]
        print(f"{form}: {results.count('PASS')} of {len(results)} pass")
    print("\nrepairs:")
    for one in REPAIRS:
        print(f"- {one.file}: {one.why}")
    print(f"- {SCHEMA_REPAIR}")
    for form in ("original", "repaired"):
        print(f"\nOpenAPI, {form}: schemathesis\n")
        text = report[form]["openapi"]["text"]
        found = re.findall(r"^_+ ([A-Z]+ /\S*) _+$|^- (ST\d+ .*)$|^    (Received: \d+)$", text, re.MULTILINE)
        for operation, failure, status in found:
            print(operation or f"    {failure or status}")
        counts = re.search(r"^Test cases:\n +(.*)$", text, re.MULTILINE)
        print(counts[1] if counts else text)
    print("repairs:")
    for why in OPENAPI_REPAIRS:
        print(f"- {why}")


if __name__ == "__main__":
    raise SystemExit(main())
