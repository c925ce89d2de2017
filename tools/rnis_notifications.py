"""Notifications of the node `rnis`, checked against the schemas of ETSI's OpenAPI for GS MEC 012.

ETSI's Robot suite has tests of notifications that need a MockServer, and none of them creates a subscription
or an event. Here a UE is handed over and loses its connection, while there are subscriptions of all types
that can have an event of it.
`tools/rnis_conformance.py` calls it.
"""

from __future__ import annotations

import importlib
import json
import queue
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# A car passes from cell to cell: the first handover is complete within three seconds. Then both cells are off
# until the UE has given up.
SCENARIO = """
network = "lena"
[handover]
mode = "lossless"
[x2]
delay = "6 ms"
[[cell]]
name = "west"
resource_blocks = 50
rlc = { mode = "am" }
outages = [{ at = "5 s", duration = "5 s" }]
[[cell]]
name = "east"
position = ["700 m", "0 m"]
resource_blocks = 50
rlc = { mode = "am" }
outages = [{ at = "5 s", duration = "5 s" }]
[channel]
fading = "none"
[[ue]]
name = "car"
position = ["250 m", "20 m"]
mobility = { kind = "line", towards = ["650 m", "20 m"], speed = "300 km/h" }
[[flow]]
to = "car"
app = { kind = "cbr", rate = "20 Mbit/s" }
transport = "udp"
"""
# For each type of notification the subscription to it.
WANTED: dict[str, dict[str, Any]] = {
    "CellChangeNotification": {"subscriptionType": "CellChangeSubscription", "filterCriteriaAssocHo": {}},
    "MeasRepUeNotification": {
        "subscriptionType": "MeasRepUeSubscription",
        "filterCriteriaAssocTri": {"trigger": [12]},
    },
    "MeasTaNotification": {"subscriptionType": "MeasTaSubscription", "filterCriteriaAssoc": {}},
    "S1BearerNotification": {
        "subscriptionType": "S1BearerSubscription",
        "S1BearerSubscriptionCriteria": {},
        "eventType": [1, 2, 3],
    },
    # The bearer of the connection that is released, and that of the next one.
    "RabRelNotification": {
        "subscriptionType": "RabRelSubscription",
        "filterCriteriaQci": {"erabId": 5, "qci": 9},
    },
    "RabEstNotification": {"subscriptionType": "RabEstSubscription", "filterCriteriaQci": {"qci": 9}},
    # The deadlines of all are nearer than `limits.notice`. No bearer has this class.
    "ExpiryNotification": {"subscriptionType": "RabEstSubscription", "filterCriteriaQci": {"qci": 1}},
}
SECONDS = 20


def notified(document: dict[str, Any], port: int) -> dict[str, dict[str, Any]]:
    """For each type, the number of notifications that came, and the errors of the first that is wrong."""
    jsonschema = importlib.import_module("jsonschema")  # it has no types
    bodies: queue.Queue[Any] = queue.Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is that of http.server
            bodies.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    callback = f"http://127.0.0.1:{server.server_address[1]}/"
    for body in WANTED.values():
        deadline = {"seconds": int(time.time()) + 30, "nanoSeconds": 0}
        _post(port, body | {"callbackReference": callback, "expiryDeadline": deadline})
    found: dict[str, dict[str, Any]] = {name: {"received": 0, "errors": []} for name in WANTED}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and not all(one["received"] for one in found.values()):
        try:
            body = bodies.get(timeout=1)
        except queue.Empty:
            continue
        name = body["notificationType"]
        schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        errors = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(body)]
        found[name]["received"] += 1
        found[name]["errors"] = found[name]["errors"] or errors
    server.shutdown()
    server.server_close()
    return found


def _post(port: int, body: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/rni/v2/subscriptions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=10).close()


def is_right(found: dict[str, dict[str, Any]]) -> bool:
    """Whether each type came, and all of them were as the schemas demand."""
    return all(one["received"] and not one["errors"] for one in found.values())


def print_table(found: dict[str, dict[str, Any]]) -> None:
    """Print a line for each type."""
    print("\nnotifications, by the schemas of the OpenAPI\n")
    for name, one in found.items():
        print(f"{name:<24} {one['received']:>3} received, {one['errors'][0] if one['errors'] else 'valid'}")
