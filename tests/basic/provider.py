"""A provider of three endpoints, as somebody would write one in an afternoon: no keys, no tags, no list.

Prints its port. A line on stdin is an order: "lose N" makes the next N creates end without an answer after they took
effect, "refuse N" answers the next N with 429 before anything is made, "vanish ID" takes a VM away. Each is answered by
a line "done". GET /log shows every call that was made, for the test.
"""

import itertools
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
numbers = itertools.count(1)
vms = {}
calls = []
faults = {"lose": 0, "refuse": 0}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def note(self):
        if self.path != "/log":
            calls.append(f"{self.command} {self.path}")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with lock:
            self.note()
            if self.path != "/vms":
                return self.answer(404, {"error": "no such path"})
            if faults["refuse"] > 0:
                faults["refuse"] -= 1
                return self.answer(429, {"error": "not now"})
            vm = {"id": f"srv-{next(numbers)}", "phase": "Running", "name": asked["name"]}
            vm.update({key: asked[key] for key in ("image", "cpu", "memory")})
            vm["addresses"] = [{"type": "InternalIP", "address": "198.18.7.7"}]
            vms[vm["id"]] = vm
            if faults["lose"] > 0:
                faults["lose"] -= 1
                self.close_connection = True
                return self.connection.close()
            self.answer(201, vm)

    def do_GET(self):
        with lock:
            self.note()
            if self.path == "/log":
                return self.answer(200, {"calls": calls, "vms": list(vms.values())})
            vm = vms.get(self.path.removeprefix("/vms/"))
            self.answer(200, vm) if vm else self.answer(404, {"error": "not found"})

    def do_DELETE(self):
        with lock:
            self.note()
            gone = vms.pop(self.path.removeprefix("/vms/"), None)
            self.answer(204 if gone else 404)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
for line in sys.stdin:
    order, value = line.split()
    with lock:
        if order == "vanish":
            vms.pop(value, None)
        else:
            faults[order] = int(value)
    print("done", flush=True)
