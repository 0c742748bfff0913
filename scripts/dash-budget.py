#!/usr/bin/env python3
"""Measures the dashboard with many machines and prints what it costs, against the budgets of the design.

    scripts/dash-budget.py [--vmctl target/release/vmctl] [--machines 10000] [--rate 200]

An API server and an operator of straw stand in for a cluster: a list in pages, a watch with changes at a steady rate,
the Lease, metrics and inner state. Everything is on loopback and ends with the script. Linux and Python 3.8 or later.
"""

import argparse
import datetime
import fcntl
import http.server
import json
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import threading
import time

GROUP = "/apis/compute.example.com/v1"
STARTED = time.time() - 5000


class World:
    """What the straw servers say."""

    def __init__(self, machines, rate):
        self.machines, self.rate = machines, rate
        self.changing = False
        self.silent = False
        self.passes = 0


def stamp(seconds=None):
    moment = datetime.datetime.fromtimestamp(time.time() if seconds is None else seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def machine(number, version):
    condition = {"type": "Ready", "status": "True", "reason": "Running", "message": "the instance runs as the spec says",
                 "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [dict(condition, type=kind) for kind in ("Ready", "Provisioned", "Synced", "ProviderReady")]
    return {
        "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
        "metadata": {"namespace": "team-%d" % (number % 20), "name": "web-%05d" % number, "uid": "uid-%d" % number,
                     "generation": 1, "resourceVersion": str(version), "creationTimestamp": "2026-01-01T00:00:00Z",
                     "labels": {"app": "web", "tier": "t%d" % (number % 7)}},
        "spec": {"image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi", "providerRef": "default"},
        "status": {"phase": "Running", "id": "vm-%06d" % number, "observedGeneration": 1, "conditions": conditions,
                   "addresses": [{"type": "InternalIP", "address": "10.%d.%d.7" % (number // 250, number % 250)}]},
    }


def handler(world):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            while world.silent:
                time.sleep(0.1)
            path, _, query = self.path.partition("?")
            query = dict(part.partition("=")[::2] for part in query.split("&") if part)
            if "watch" in query:
                self.watch(path)
            elif path == GROUP + "/virtualmachines":
                first, limit = int(query.get("continue") or 0), int(query.get("limit") or 500)
                last = min(first + limit, world.machines)
                more = str(last) if last < world.machines else ""
                items = [machine(number, 1) for number in range(first, last)]
                self.answer({"metadata": {"resourceVersion": "1", "continue": more}, "items": items})
            elif "/leases/" in path:
                self.answer({"metadata": {}, "spec": {"holderIdentity": "vmoperator-straw", "renewTime": stamp(),
                                                      "leaseDurationSeconds": 15, "leaseTransitions": 0}})
            elif path == "/metrics":
                self.answer(metrics(world), "text/plain")
            elif path == "/debug/state":
                queue = [{"key": "team-%d/web-%05d" % (n % 20, n), "state": "delayed", "seconds": 100.0, "failures": 0}
                         for n in range(world.machines)]
                self.answer({"leader": {"identity": "vmoperator-straw", "leading": True}, "queue": queue})
            else:
                self.answer({"metadata": {"resourceVersion": "1"}, "items": []})

        def answer(self, body, kind="application/json"):
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def watch(self, path):
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            version = 1
            try:
                while True:
                    time.sleep(0.05)
                    if world.silent or not world.changing or not path.endswith("/virtualmachines"):
                        continue
                    for _ in range(max(1, world.rate // 20)):
                        version += 1
                        changed = machine(version * 7919 % world.machines, version)
                        changed["status"]["phase"] = "Running" if version % 2 else "Stopping"
                        line = json.dumps({"type": "MODIFIED", "object": changed}).encode() + b"\n"
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            except OSError:
                pass

    return Handler


def metrics(world):
    world.passes += 20 if world.changing else 0
    queue = 'name="virtualmachine",controller="virtualmachine"'
    lines = ["process_start_time_seconds %d" % STARTED, 'leader_election_master_status{name="vmoperator-leader"} 1',
             'workqueue_depth{%s,priority="0"} 0' % queue, "workqueue_delayed_depth{%s} %d" % (queue, world.machines),
             "workqueue_oldest_age_seconds{%s} 0" % queue]
    for result in ("success", "error", "requeue", "requeue_after"):
        count = world.passes if result == "success" else 0
        lines.append('controller_runtime_reconcile_total{controller="virtualmachine",result="%s"} %d' % (result, count))
    for operation in ("capabilities", "changes", "create", "delete", "get", "list"):
        for bound in ("0.005", "0.01", "0.05", "0.1", "0.5", "1.0", "5.0", "30.0", "60.0", "120.0", "+Inf"):
            lines.append('vmoperator_provider_call_duration_seconds_bucket{le="%s",operation="%s"} %d'
                         % (bound, operation, world.passes))
    return "\n".join(lines) + "\n"


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Dash:
    """vmctl dash on a terminal of its own."""

    def __init__(self, vmctl, url, folder):
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "straw",
                  "clusters": [{"name": "straw", "cluster": {"server": url}}],
                  "contexts": [{"name": "straw", "context": {"cluster": "straw", "user": "u"}}],
                  "users": [{"name": "u", "user": {}}]}
        path = os.path.join(folder, "kubeconfig")
        with open(path, "w") as file:
            json.dump(config, file)
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_STATE_HOME=folder)
            os.execv(vmctl, [vmctl, "dash", "--kubeconfig", path, "--metrics-url", url + "/metrics"])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)
        self.bytes = 0

    def until(self, words, limit=60.0, anew=False):
        """Seconds until the words are written; drawn anew all the while if a frame may hold only parts of them."""
        began, seen = time.monotonic(), b""
        while time.monotonic() - began < limit:
            if anew:
                self.press(b"\x0c")
            seen = (seen + self.read(0.5))[-200000:]
            if words in seen:
                return time.monotonic() - began
        sys.exit("dash-budget.py: %r was not shown within %d s" % (words, limit))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.bytes += len(data)
        return data

    def rest(self, seconds):
        """Bytes written and CPU time spent while so many seconds pass."""
        before, ticks, end = self.bytes, self.ticks(), time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(min(0.5, max(0.0, end - time.monotonic())))
        return self.bytes - before, (self.ticks() - ticks) / os.sysconf("SC_CLK_TCK") / seconds

    def ticks(self):
        with open("/proc/%d/stat" % self.pid) as file:
            fields = file.read().rpartition(") ")[2].split()
        return int(fields[11]) + int(fields[12])

    def memory(self, name):
        with open("/proc/%d/status" % self.pid) as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith(name))

    def press(self, key):
        os.write(self.fd, key)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vmctl", default="target/release/vmctl")
    parser.add_argument("--machines", type=int, default=10000)
    parser.add_argument("--rate", type=int, default=200, help="changes per second")
    parser.add_argument("--seconds", type=int, default=20, help="of each measurement at rest and under load")
    args = parser.parse_args()
    if not os.access(args.vmctl, os.X_OK):
        sys.exit("dash-budget.py: %s is missing: cargo build --release --bin vmctl" % args.vmctl)
    world = World(args.machines, args.rate)
    server = Server(("127.0.0.1", 0), handler(world))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows = []

    def row(what, value, budget, bound=None):
        met = "" if bound is None else ("met" if value <= bound else "MISSED")
        rows.append((what, value, budget, met))
        print("%-44s %10.1f   %-14s %s" % (what, value, budget, met), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        dash = Dash(os.path.abspath(args.vmctl), "http://127.0.0.1:%d" % server.server_port, folder)
        row("first paint, ms", dash.until(b"vmctl dash") * 1000, "150", 150)
        dash.until(b"%d" % args.machines, anew=True)
        row("all machines listed, s", time.monotonic() - dash.began, "-")
        dash.rest(5)
        # The table alone: charts move for as long as they have seen something.
        dash.press(b"z")
        dash.rest(3)
        written, cpu = dash.rest(args.seconds)
        row("bytes written at rest in %d s" % args.seconds, written, "0", 0)
        row("CPU at rest, % of a core", cpu * 100, "1", 1)
        dash.press(b"z")
        world.changing = True
        dash.rest(2)
        _, cpu = dash.rest(args.seconds)
        row("CPU at %d changes/s, %% of a core" % args.rate, cpu * 100, "-")
        delays = []
        for _ in range(50):
            dash.press(b"?")
            delays.append(dash.until(b"esc closes") * 1000)
            dash.press(b"\x1b")
            dash.rest(0.15)
        row("key to paint under load, p50 ms", percentile(delays, 0.50), "-")
        row("key to paint under load, p99 ms", percentile(delays, 0.99), "50", 50)
        row("resident memory, MB", dash.memory("VmRSS"), "120", 120)
        row("resident memory at its peak, MB", dash.memory("VmHWM"), "-")
        world.silent = True
        dash.rest(5)
        began = time.monotonic()
        dash.press(b"q")
        while os.waitpid(dash.pid, os.WNOHANG)[0] == 0:
            dash.read(0.005)
        row("quit with the API black-holed, ms", (time.monotonic() - began) * 1000, "200", 200)
    server.shutdown()
    if any(met == "MISSED" for *_, met in rows):
        sys.exit("dash-budget.py: a budget is missed; on a machine that does other work, run it again alone")


if __name__ == "__main__":
    main()
