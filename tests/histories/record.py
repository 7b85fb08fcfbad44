# SPDX-License-Identifier: Apache-2.0
"""Records a history: runs a real server, random clients and subscribers over sockets, and a nemesis that
kills and stops the server and cuts the network. README.md describes the file that it writes. check.py
judges it.
"""

import argparse
import collections
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

import zmq

from network import FORWARD, HOLD, LOSE_REPLIES, Proxy, set_loopback
from workload import START_US, Workload

KEEPS_NUMBER = {"unknown_session", "sequence_gap", "out_of_credit", "busy", "shutting_down"}
DRAIN_S = 60


class History:
    """Appends one line of JSON for each event, in the order in which they happen."""

    def __init__(self, path):
        self.file = open(path, "w")
        self.begin = time.monotonic()

    def add(self, event, **fields):
        line = {"e": event, "ms": round((time.monotonic() - self.begin) * 1000, 1), **fields}
        self.file.write(json.dumps(line, separators=(",", ":")) + "\n")


def draw_options(rng, namespace):
    space = rng.choice(["planar2", "planar2", "planar3", "vector"])
    manual = rng.random() < 0.6
    options = {
        "space": space, "dimension": {"planar2": 2, "planar3": 3}.get(space) or rng.randint(1, 4),
        "metric": rng.choice(["l2", "l1", "chebyshev", "inner-product"]) if space == "vector" else "l2",
        "resolution_m": rng.choice([0.01, 0.01, 0.5, 3.0]), "origin": rng.choice([0, 0, 1000, -256]),
        "ticks": "manual" if manual else rng.choice(["10ms", "20ms", "50ms"]),
        "ttl_us": rng.choice([0, 0, 4000 if manual else 400_000]),
        "future_us": rng.choice([None, 2000]) if manual else None,
        "durability": rng.choice(["tick", "tick", "tick", "sync", "sync", "off"]),
        "keys": rng.random() < 0.2, "namespace": namespace,
        "objects": rng.choice([3, 8, 15]), "streams": rng.randint(1, 3), "clients": rng.randint(2, 4),
        "subscribers": rng.randint(1, 3), "changes": rng.randint(40, 120), "seconds": 0.5,
        "limits": {"k-max": rng.randint(2, 8), "rows-max": rng.randint(3, 12),
                   "questions-max": rng.randint(1, 4), "page-rows-max": rng.randint(2, 9),
                   "unanswered-max": rng.choice([8, 64, 1024])},
        "flags": ["--threads", str(rng.randint(1, 2)), "--decode-threads", str(rng.randint(1, 2)),
                  "--update-threads", str(rng.randint(1, 2)), "--io-threads", str(rng.randint(1, 2))],
    }
    if options["durability"] != "off":
        options["flags"] += ["--journal-tail-bytes-max", rng.choice(["4KiB", "64KiB", "1GiB"])]
        if rng.random() < 0.3:
            options["flags"] += ["--journal-tail-age", "200ms"]
        if rng.random() < 0.3:
            options["flags"] += ["--journal-keep", "1h"]
    return options


class Server:
    def __init__(self, program, folder, options, history, proxy):
        self.program, self.folder, self.history, self.proxy = program, folder, history, proxy
        self.process, self.ready, self.starts = None, False, 0
        self.arguments = [
            program, "serve", "--engine", "cpu", "--log-level", "warning", "--linger", "50ms",
            "--commands", "tcp://127.0.0.1:*", "--results", "tcp://127.0.0.1:*", "--http", "127.0.0.1:0",
            "--tick", options["ticks"], "--durability", options["durability"], *options["flags"]]
        if options["durability"] != "off":
            self.arguments += ["--journal", os.path.join(folder, "log")]
        if options["space"] == "vector":
            self.arguments += ["--space", f"vector:{options['dimension']}", "--metric", options["metric"]]
        else:
            self.arguments += ["--space", options["space"], "--resolution", str(options["resolution_m"]),
                               "--origin", ",".join([str(options["origin"])] * options["dimension"])]
        if options["ttl_us"]:
            self.arguments += ["--object-ttl", f"{options['ttl_us']}us"]
        if options["future_us"]:
            self.arguments += ["--future-max", f"{options['future_us']}us"]
        for name, value in options["limits"].items():
            self.arguments += ["--" + name, str(value)]
        if options["keys"]:
            self.make_keys()

    def make_keys(self):
        keys = os.path.join(self.folder, "keys")
        subprocess.run([self.program, "keygen", "--server", keys, "tester"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = os.path.join(keys, "keys.toml")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace('roles = ["publish", "query", "subscribe", "stats"]',
                                    'roles = ["admin"]'))
        with open(os.path.join(keys, "tester.key"), "rb") as file:
            self.client_key = tomllib.load(file)
        self.arguments += ["--keys", path]

    def start(self):
        self.starts += 1
        self.endpoints = os.path.join(self.folder, f"endpoints-{self.starts}.json")
        self.errors = open(os.path.join(self.folder, "stderr"), "ab")
        self.process = subprocess.Popen([*self.arguments, "--endpoints-file", self.endpoints],
                                        stdout=subprocess.DEVNULL, stderr=self.errors)
        self.ready = False
        self.history.add("start")

    def step(self):
        """Notices that the server is ready, or has ended by itself."""
        if self.process is None:
            return
        if self.process.poll() is not None:
            with open(os.path.join(self.folder, "stderr"), errors="replace") as file:
                self.history.add("died", status=self.process.returncode, stderr=file.read()[-2000:])
            sys.exit(0)
        if not self.ready and os.path.exists(self.endpoints):
            with open(self.endpoints) as file:
                endpoints = json.load(file)
            self.proxy.targets = {role: int(endpoints[role].rsplit(":", 1)[1]) for role in self.proxy.targets}
            self.ready = True
            self.history.add("ready")

    def kill(self):
        self.history.add("kill")
        self.process.kill()
        self.process.wait()
        self.process = None

    def terminate(self):
        self.history.add("terminate")
        self.process.terminate()
        try:
            status = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = "hangs"
        self.history.add("exit", status=status)
        self.process = None

    def stop(self):
        self.history.add("stop")
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.history.add("continue")


class Client:
    def __init__(self, name, run, rng):
        self.name, self.run, self.rng = name, run, rng
        self.socket = None
        self.session, self.sequence = 0, 0
        self.request_id = 0
        self.hello_id = None
        self.unanswered = collections.OrderedDict()  # sequence: (body, fields)
        self.answered = collections.deque(maxlen=4)  # (sequence, body, fields)
        self.reads = {}  # request id: (body, fields, id of the first page)
        self.probes = set()  # request ids whose replies mean nothing to this client
        self.next_at = 0
        self.depth = rng.choice([1, 2, 3, 4])
        self.first_sequence = rng.choice([1, 1, 7])
        self.resend_at = None
        self.ending = False
        self.tries = 0  # without an answer
        self.connect()

    def connect(self):
        if self.socket:
            self.socket.close()
        self.socket = self.run.new_socket(zmq.DEALER, "commands")
        self.reads.clear()
        self.hello_id = None
        self.sent_at = time.monotonic()
        self.tries += 1
        self.patience_s = min(self.rng.uniform(0.1, 0.4) * 1.5**self.tries, 5)
        self.say_hello()

    def send(self, kind, body, fields, sequence=0, session=None, request_id=None, **more):
        from wire import encode_request
        if request_id is None:
            self.request_id += 1
            request_id = self.request_id
        session = self.session if session is None else session
        frame = encode_request(body, fields, request_id, session, sequence)
        self.run.history.add("send", c=self.name, i=request_id, s=session, q=sequence, as_=kind, b=body,
                             f=fields, **more)
        try:
            self.socket.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            pass
        return request_id

    def say_hello(self):
        first = next(iter(self.unanswered), self.sequence + 1 if self.session else self.first_sequence)
        fields = {"client": "recorder", "first_sequence": first}
        if self.session:
            fields["resume_session"] = self.session
        self.first_said = first
        self.hello_id = self.send("hello", "Hello", fields, session=0)
        self.sent_at = time.monotonic()

    def change(self, body, fields):
        self.sequence += 1
        self.unanswered[self.sequence] = (body, fields)
        self.sent_at = time.monotonic()
        self.send("change", body, fields, self.sequence)

    def resend(self):
        self.resend_at = None
        self.sent_at = time.monotonic()
        for sequence, (body, fields) in self.unanswered.items():
            self.send("change", body, fields, sequence)

    def read(self, body, fields, first=None):
        self.sent_at = time.monotonic() if not self.unanswered else self.sent_at
        number = self.send("read", body, fields, **({"first": first} if first else {}))
        self.reads[number] = (body, fields, first or number)

    def probe(self):
        """Sends a request that must change nothing."""
        kind = self.rng.choice(["again", "again", "misuse", "gap", "stranger"])
        if kind == "gap":
            number = self.sequence + self.rng.randint(2, 9)
            self.probes.add(self.send("gap", *self.run.workload.update(), number))
        elif kind == "stranger":
            self.probes.add(self.send("stranger", *self.run.workload.update(), 1,
                                      session=self.rng.randrange(1, 2**64)))
        elif self.answered:
            sequence, body, fields = self.rng.choice(self.answered)
            if kind == "again":
                self.probes.add(self.send("change", body, fields, sequence))
            else:
                self.probes.add(self.send("misuse", "RemoveStream", {"name": f"misuse of {sequence}"},
                                          sequence))

    def step(self, now):
        """Does what is due: resends, or the next random request."""
        if self.hello_id is not None:
            if now > self.sent_at + self.patience_s:
                self.connect()
        elif self.resend_at is not None and now > self.resend_at:
            self.resend()
        elif (self.unanswered or self.reads) and now > self.sent_at + self.patience_s:
            if self.unanswered and self.rng.random() < 0.3:
                self.resend()
            else:
                self.connect()
        elif (self.run.is_open and len(self.unanswered) < self.depth and not self.ending
              and now > self.next_at):
            self.next_at = now + self.rng.expovariate(1) * self.run.pace_s
            self.random_request()

    def random_request(self):
        draw = self.rng.random()
        if draw < 0.62 and self.run.changes_left > 0:
            self.run.changes_left -= 1
            self.change(*self.run.workload.change())
        elif draw < 0.92:
            if len(self.reads) < 4:
                self.read(*self.run.workload.read())
        elif draw < 0.97:
            self.probe()
        elif draw < 0.975:
            self.connect()
        elif draw < 0.98 and not self.unanswered:
            self.ending = True
            self.read("EndSession", {})

    def receive(self):
        from wire import decode_reply
        while self.socket.poll(0):
            number, sequence, place, kind, fields = decode_reply(self.socket.recv())
            self.run.history.add("reply", c=self.name, i=number, q=sequence, p=place, b=kind, f=fields)
            if number == self.hello_id:
                self.take_hello(kind, fields)
            elif number in self.probes:
                pass
            elif number in self.reads:
                self.take_read(number, kind, fields)
            elif kind == "Error" and fields["code"] in KEEPS_NUMBER:
                self.take_refusal(fields["code"])
            elif sequence in self.unanswered and self.hello_id is None:
                self.take_answer(sequence, kind, fields)

    def take_hello(self, kind, fields):
        self.hello_id, self.tries = None, 0
        if kind != "HelloReply":
            self.hello_id, self.sent_at = 0, time.monotonic()
            return
        self.ending = False
        if not fields["resumed"]:
            # Requests after an AdvanceTick may be answered before it, so the numbers left may have gaps.
            self.session = fields["session"]
            self.answered.clear()
            left = list(self.unanswered.values())
            self.unanswered = collections.OrderedDict(enumerate(left, self.first_said))
            self.sequence = self.first_said + len(left) - 1
        self.resend()

    def take_read(self, number, kind, fields):
        body, asked, first = self.reads.pop(number)
        if body == "EndSession":
            self.ending = False
            if kind == "Done":
                self.session, self.sequence = 0, 0
                self.answered.clear()
                self.say_hello()
        elif kind == "Error" and fields["code"] == "unknown_session":
            self.take_refusal(fields["code"])
        elif fields.get("next_page"):
            self.read(body, {**asked, "page": fields["next_page"]}, first)

    def take_refusal(self, code):
        if self.hello_id is not None:
            return
        if code == "unknown_session":
            self.say_hello()
            return
        if self.unanswered and self.resend_at is None:
            self.resend_at = time.monotonic() + 0.02

    def take_answer(self, sequence, kind, fields):
        body, sent = self.unanswered.pop(sequence)
        self.answered.append((sequence, body, sent))


class Run:
    def __init__(self, arguments, folder):
        self.rng = random.Random(arguments.seed)
        self.folder = folder
        self.history = History(arguments.out)
        self.options = draw_options(self.rng, arguments.namespace)
        self.workload = Workload(self.rng, self.options)
        self.history.add("header", seed=arguments.seed, begin_us=time.time_ns() // 1000, options=self.options)
        self.context = zmq.Context()
        self.proxy = Proxy(("commands", "results"))
        self.server = Server(arguments.program, folder, self.options, self.history, self.proxy)
        self.changes_left = self.options["changes"]
        self.pace_s = 0.5 * self.options["seconds"] * self.options["clients"] / self.options["changes"]
        self.is_open = False
        self.seen = {}  # stream: (epoch, sequence) of its newest message

    def new_socket(self, kind, role):
        made = self.context.socket(kind)
        made.linger, made.reconnect_ivl, made.reconnect_ivl_max = 0, 10, 40
        made.handshake_ivl = 1000
        if self.options["keys"]:
            key = self.server.client_key
            made.curve_serverkey, made.curve_publickey, made.curve_secretkey = (
                key[name].encode() for name in ("server", "public", "secret"))
        if kind == zmq.SUB:
            made.rcvhwm = 10_000
        made.connect(f"tcp://127.0.0.1:{self.proxy.ports[role]}")
        return made

    def run(self):
        self.server.start()
        self.wait(lambda: self.server.ready, "the server does not start")
        self.clients = [Client(f"c{number}", self, self.rng) for number in range(self.options["clients"])]
        self.subscribers = []
        for number in range(self.options["subscribers"]):
            socket = self.new_socket(zmq.SUB, "results")
            for stream in self.workload.streams:
                if number == 0 or self.rng.random() < 0.6:
                    socket.subscribe(stream.encode() + b"\0")
            self.subscribers.append(socket)
        self.set_up()
        self.is_open = True
        self.begin_faults()
        end = time.monotonic() + self.options["seconds"]
        self.wait(lambda: time.monotonic() > end and not self.faults and not self.mend, "the faults do not "
                                                                                        "end")
        self.is_open = False
        self.wait(self.is_quiet, "a request is not answered")
        self.finish()

    def step(self):
        poller = zmq.Poller()
        for socket in [client.socket for client in self.clients] + self.subscribers:
            poller.register(socket, zmq.POLLIN)
        poller.poll(self.rng.choice([0, 1, 3]))
        now = time.monotonic()
        for number, socket in enumerate(self.subscribers):
            self.receive_ticks(number, socket)
        order = list(self.clients)
        self.rng.shuffle(order)
        for client in order:
            client.receive()
            if self.rng.random() < 0.5:
                client.step(now)

    def receive_ticks(self, number, socket):
        from wire import decode_tick
        while socket.poll(0):
            fields = decode_tick(socket.recv_multipart())
            self.seen[fields["stream"]] = (fields["epoch"], fields["sequence"])
            self.history.add("tick", u=number, f=fields)

    def wait(self, is_done, complaint):
        deadline = time.monotonic() + DRAIN_S + self.options["seconds"]
        while not is_done():
            self.server.step()
            if time.monotonic() > deadline:
                self.history.add("stuck", what=complaint)
                sys.exit(0)
            if hasattr(self, "subscribers"):
                self.step()
            else:
                time.sleep(0.002)
            if self.is_open:
                self.step_faults()

    def is_quiet(self):
        return all(client.hello_id is None and client.session and not client.unanswered and not client.reads
                   for client in self.clients)

    def change(self, body, fields):
        self.clients[0].change(body, fields)
        self.wait(self.is_quiet, f"{body} is not answered")

    def set_up(self):
        """With manual ticks, time begins here; a census of all objects is a query from the start."""
        self.wait(self.is_quiet, "Hello is not answered")
        if self.workload.manual:
            self.change("AdvanceTick", {"tau_us": START_US})
        self.change("PutStream", {"name": "s", "on": 2, "with_tags": True})
        size, origin = self.options["dimension"], float(self.options["origin"])
        anchor = ({"vector": [0.0] * size} if self.options["space"] == "vector"
                  else {"position": [origin] * size + [0.0] * (3 - size)})
        self.change("PutQueries", {"stream": "s", "queries": [{"id": 100, "k": self.workload.k_max,
                                                               **anchor}]})
        while self.workload.manual and "s" not in self.seen:  # until the subscriber has reached the server
            self.change("AdvanceTick", {"tau_us": START_US})
            self.step()
        self.wait(lambda: "s" in self.seen, "no tick comes")

    def finish(self):
        """Reads the whole state twice, with a tick between, and ends the server."""
        if not self.workload.manual:
            self.change("PutStream", {"name": "s", "on": 2})
        first, last = self.clients[0], self.clients[-1]
        for _ in range(2):
            time.sleep(0.06)  # so that snapshots are not refused as too many
            ids, rows = self.workload.ids, self.workload.page_rows_max
            for at in range(0, len(ids), rows):
                first.read("GetObjects", {"object_ids": ids[at:at + rows]})
            first.read("ListStreams", {"page": 0})
            for stream in self.workload.streams:
                last.read(*self.workload.snapshot(stream))
                last.read("ListQueries", {"stream": stream, "page": 0})
                if stream in self.seen:
                    epoch, sequence = self.seen[stream]
                    last.read("ReportReceived",
                              {"stream": stream, "epoch": epoch, "sequence": sequence, "lost": 0})
            for _ in range(2):
                last.read(*self.workload.read())
            self.wait(self.is_quiet, "a read is not answered")
            if self.workload.manual:
                self.workload.tau_us += 1
                self.change("AdvanceTick", {"tau_us": self.workload.tau_us})
            else:
                seen = self.seen.get("s")
                end = time.monotonic() + 1
                self.wait(lambda: self.seen.get("s") != seen or time.monotonic() > end, "no tick comes")
        self.server.terminate()
        self.step()
        self.history.add("end")

    def begin_faults(self):
        """Draws when each fault begins."""
        kinds = ["kill", "kill", "kill", "terminate", "stop", "cut", "cut", "hold", "lose"]
        kinds += ["link", "link"] if self.options["namespace"] == "yes" else []
        now = time.monotonic()
        self.faults = sorted((now + self.rng.uniform(0.05, 0.9) * self.options["seconds"],
                              self.rng.choice(kinds))
                             for _ in range(self.rng.randint(1, 5)))
        self.mend_at, self.mend = None, None

    def step_faults(self):
        now = time.monotonic()
        if self.mend:
            if now > self.mend_at:
                self.mend()
                self.mend = None
        elif self.faults and now > self.faults[0][0] and self.server.ready:
            self.mend_at = now + self.rng.choice([0, 0.02, 0.1, 0.25])
            self.begin_fault(self.faults.pop(0)[1])

    def begin_fault(self, kind):
        if kind in ("kill", "terminate"):
            self.proxy.targets = dict.fromkeys(self.proxy.targets)
            self.server.ready = False
            getattr(self.server, kind)()
            self.mend = self.server.start
        elif kind == "stop":
            self.server.stop()
            self.mend = self.server.go_on
        elif kind == "link":
            self.history.add("link", up=False)
            set_loopback(False)
            self.mend = lambda: (set_loopback(True), self.history.add("link", up=True))
        elif kind == "cut":
            self.cut()
            self.mend = lambda: None
        else:
            self.proxy.mode = HOLD if kind == "hold" else LOSE_REPLIES
            self.history.add(kind)
            self.mend = self.cut if kind == "lose" or self.rng.random() < 0.5 else self.release

    def release(self):
        self.proxy.mode = FORWARD
        self.history.add("release")

    def cut(self):
        self.history.add("cut")
        self.proxy.cut()
        self.proxy.mode = FORWARD


def enter_namespace():
    """Moves this process into a network namespace of its own. Returns "yes", or why that is not possible."""
    CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET):
        if libc.unshare(flags) == 0:
            set_loopback(True)
            return "yes"
    return os.strerror(ctypes.get_errno())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("generated", help="the folder of flatc's output for Python")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.generated)
    wants_namespace = random.Random(f"namespace {arguments.seed}").random() < 0.5
    arguments.namespace = enter_namespace() if wants_namespace else "not asked for"
    with tempfile.TemporaryDirectory(prefix="starling-history-") as folder:
        run = Run(arguments, folder)
        try:
            run.run()
        finally:
            run.history.file.close()
            if run.server.process and run.server.process.poll() is None:
                run.server.process.kill()
                run.server.process.wait()
            run.context.destroy(linger=0)


if __name__ == "__main__":
    main()
