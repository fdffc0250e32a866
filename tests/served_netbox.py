"""A NetBox on loopback: what a real one (4.6.8) answered of a small rack, served again page by page over HTTP."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from fabrics import ROOT

ANSWERS = ROOT / "tests" / "data" / "netbox"
PATHS = {
    "/api/dcim/devices/": "devices",
    "/api/dcim/interfaces/": "interfaces",
    "/api/dcim/cables/": "cables",
    "/api/ipam/ip-addresses/": "ip-addresses",
}
TOKEN = "nbt_known.to-nobody-else"


def answers():
    return {name: json.loads((ANSWERS / f"{name}.json").read_text())["results"] for name in PATHS.values()}


def devices_of(each):
    """Give the ids of the devices that an object belongs to."""
    ends = [end["object"] for key in ("a_terminations", "b_terminations") for end in each.get(key, ())]
    owners = [end["device"] for end in [*ends, each, each.get("assigned_object") or {}] if "device" in end]
    return {owner["id"] for owner in owners}


class Netbox:
    """The objects of a NetBox, what it was asked and sent."""

    def __init__(self, objects):
        self.objects, self.asked, self.patched, self.next, self.url = objects, [], [], "", ""

    def answer(self, path, query):
        name = PATHS[path]
        found = [
            each
            for each in self.objects[name]
            if ("device_id" not in query or devices_of(each) & set(map(int, query["device_id"])))
            and ("name" not in query or each["name"] in query["name"])
            and ("site" not in query or each["site"]["slug"] in query["site"])
        ]
        begin, limit = int(query.get("offset", ["0"])[0]), int(query["limit"][0])
        following = f"{self.next or self.url}{path}?limit={limit}&offset={begin + limit}"
        more = "".join(f"&{key}={v}" for key, some in query.items() if key not in {"limit", "offset"} for v in some)
        page = found[begin : begin + limit]
        return {
            "count": len(found),
            "next": following + more if begin + limit < len(found) else None,
            "results": page,
        }


@contextmanager
def served(objects=None):
    """Run a NetBox on loopback."""
    netbox = Netbox(answers() if objects is None else objects)

    class Handler(BaseHTTPRequestHandler):
        def send(self, status, payload):
            body = json.dumps(payload).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                return self.send(403, {"detail": f"Invalid token: {self.headers['Authorization']}"})
            parts = urlsplit(self.path)
            netbox.asked.append(self.path)
            return self.send(200, netbox.answer(parts.path, parse_qs(parts.query)))

        def do_PATCH(self):
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            netbox.patched += sent
            by_id = {each["id"]: each for each in netbox.objects["devices"]}
            for each in sent:
                by_id[each["id"]].update(each)
            self.send(200, [by_id[each["id"]] for each in sent])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        netbox.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield netbox
        server.shutdown()
