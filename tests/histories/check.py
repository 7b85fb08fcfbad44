# SPDX-License-Identifier: Apache-2.0
"""Judges a history that record.py has written: looks for one order of all requests and ticks that explains
every reply, tick and snapshot, and checks the rules of protocol/README.md that need no order. Prints what is
wrong and exits with 1. README.md says how it works.
"""

import argparse
import bisect
import json
import sys

import rules
from oracle import World, stream_of

KEEPS_NUMBER = {"unknown_session", "sequence_gap", "out_of_credit", "busy", "shutting_down"}
NEVER = 10**12
STEPS_MAX = 200_000
UNSEEN_MAX = 3


class Operation:
    """A request: the line where it was first sent, and the line of its first answer (NEVER: none)."""

    def __init__(self, kind, body, fields, invoked):
        self.kind, self.body, self.fields, self.invoked = kind, body, fields, invoked
        self.returned, self.reply, self.place = NEVER, None, None
        self.session, self.sequence, self.hint, self.pages = None, None, None, []
        self.lost = -1  # the line of a kill -9 before which it may have shown, and that lost it
        self.sent, self.bit = [invoked], 0  # all lines where it was sent before its answer

    def __str__(self):
        number = f"request {self.sequence} of session {self.session}, " if self.sequence else ""
        return f"{number}{self.body} (line {self.invoked + 1})"


class Epoch:
    """All that was seen of one epoch."""

    def __init__(self):
        self.changes = {}    # (session, sequence): Operation
        self.reads = []
        self.messages = {}   # tick: {stream: message}
        self.answers = {}    # tick: [Operation]
        self.taus = {}
        self.seen = {}       # tick: the first line that tells of it
        self.first_sequences = {}

    def see(self, tick, tau, line):
        if tick:
            self.seen[tick] = min(line, self.seen.get(tick, NEVER))
            self.taus.setdefault(tick, tau)


def read_history(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def epochs_of(events):
    """Sorts requests and messages by epoch. A request belongs to the epoch of its session."""
    epochs, sends, epoch_of_session, killed = {}, {}, {}, -1
    for line, event in enumerate(events):
        if event["e"] == "kill":
            killed = line
        if event["e"] == "reply" and event["b"] == "HelloReply":
            fields = event["f"]
            epoch_of_session[fields["session"]] = fields["epoch"]
            epoch = epochs.setdefault(fields["epoch"], Epoch())
            sent = sends.get((event["c"], event["i"]))
            if sent and not fields["resumed"]:
                epoch.first_sequences[fields["session"]] = sent[0]["f"]["first_sequence"]
            if sent and fields["resumed"] and fields["runs"]:
                read = Operation("hello", "Hello", sent[0]["f"], sent[1])
                read.returned, read.reply = line, fields
                epoch.reads.append(read)
                # Whatever was sent before, these requests were applied later.
                for (session, number), change in epoch.changes.items():
                    if session == fields["session"] and number >= fields["next_sequence"]:
                        change.sent, change.lost = [], killed
        elif event["e"] == "send":
            sends[event["c"], event["i"]] = sends.get((event["c"], event["i"]), (event, line))
            epoch = epochs.get(epoch_of_session.get(event["s"]))
            if event["as_"] == "change" and epoch:
                key = (event["s"], event["q"])
                if key not in epoch.changes:
                    change = epoch.changes[key] = Operation("change", event["b"], event["f"], line)
                    change.session, change.sequence = key
                elif epoch.changes[key].returned == NEVER:
                    epoch.changes[key].sent.append(line)
        elif event["e"] == "reply" and (event["c"], event["i"]) in sends:
            sent, sent_line = sends[event["c"], event["i"]]
            epoch = epochs.get(epoch_of_session.get(sent["s"]))
            if epoch:
                take_reply(epoch, sent, sent_line, event, line, sends)
        elif event["e"] == "tick":
            message = event["f"]
            epoch = epochs.setdefault(message["epoch"], Epoch())
            epoch.see(message["tick"], message["tau_us"], line)
            epoch.messages.setdefault(message["tick"], {}).setdefault(message["stream"], message)
    return epochs


def take_reply(epoch, sent, sent_line, event, line, sends):
    fields = event["f"]
    if sent["as_"] == "change":
        if event["b"] == "Error" and fields["code"] in KEEPS_NUMBER:
            return
        change = epoch.changes[sent["s"], sent["q"]]
        if change.returned == NEVER:
            change.returned, change.reply, change.place = line, (event["b"], fields), event["p"]
        if event["b"] == "TickDone":
            epoch.see(fields["tick"], fields["tau_us"], line)
    elif sent["as_"] == "read":
        if event["b"] == "Neighbors":
            epoch.see(fields["tick"], fields["tau_us"], line)
            answer = Operation("answer", sent["b"], sent["f"], sent_line)
            answer.returned, answer.reply = line, fields
            epoch.answers.setdefault(fields["tick"], []).append(answer)
        elif event["b"] in ("SnapshotPage", "Objects", "Names", "Streams", "Queries"):
            if event["b"] == "SnapshotPage":
                epoch.see(fields["tick"], fields["tau_us"], line)
            take_page(epoch, sent, sent_line, event, line)


def take_page(epoch, sent, sent_line, event, line):
    """A read of several pages is one operation, and counts once its last page has come."""
    key = (event["c"], sent.get("first", event["i"]))
    if "first" not in sent:
        read = Operation("read", sent["b"], sent["f"], sent_line)
        read.key = key
        epoch.reads.append(read)
    else:
        read = next((each for each in reversed(epoch.reads) if getattr(each, "key", None) == key), None)
        if read is None:
            return
    read.pages.append(event["f"])
    # A snapshot is of the moment of its first page.
    if event["b"] != "SnapshotPage" or len(read.pages) == 1:
        read.returned = line
    if not event["f"].get("next_page"):
        read.reply = event["f"]


def settle_reads(epoch):
    """Keeps the reads that are of one moment. Pages between which something may have changed are not."""
    kept = []
    for read in epoch.reads:
        if read.reply is None:
            continue
        # Such a read does not wait for the log, so it may show changes that a kill -9 then lost.
        if read.body in ("GetObjects", "GetNames", "ListStreams", "ListQueries") and any(
                change.invoked < read.returned and read.invoked < change.lost
                for change in epoch.changes.values()):
            continue
        if read.body != "GetSnapshot" and len(read.pages) > 1 and (
                any(change.invoked < read.returned and change.returned > read.invoked
                    for change in epoch.changes.values())
                or epoch.has_clock_ticks):
            continue
        kept.append(read)
    epoch.reads = kept


class Clock:
    """Tells which place the log had reached at a line of the history, or at a time of the wall clock; without
    a log, lines take the part of places. Also tells at which lines the server and the network were well."""

    def __init__(self, events):
        self.begin_us = events[0].get("begin_us", 0)
        self.has_log = events[0]["options"]["durability"] != "off"
        self.times = [self.begin_us + 1000 * event["ms"] for event in events]
        self.places, place = [], 0
        self.is_up, up = [], False
        for event in events:
            if event["e"] in ("ready", "cut", "release", "continue") or event["e"] == "link" and event["up"]:
                up = True
            elif event["e"] in ("kill", "terminate", "hold", "stop", "link"):
                up = False
            self.is_up.append(up)
            place = max(place, event.get("p") or 0, event["f"]["place"] if event["e"] == "tick" else 0)
            self.places.append(place)

    def at_line(self, line):
        return (self.places[line] if self.has_log else line, line)

    def at_tau(self, tau):
        return self.at_line(min(bisect.bisect(self.times, tau), len(self.times) - 1))


class Search:
    """Looks for an order of the requests and ticks of an epoch, as Wing and Gong: at each step one of the
    requests that may be next is applied to the oracle, and the reply and the tick's messages decide. The
    places of the log say which to try first. Reads change nothing, so they are taken as soon as they fit.
    """

    def __init__(self, options, epoch, clock):
        self.options, self.epoch, self.clock = options, epoch, clock
        self.manual = options["ticks"] == "manual"
        epoch.has_clock_ticks = not self.manual
        settle_reads(epoch)
        self.last_tick = max(epoch.seen, default=0)
        self.bounds = self.bounds_of_ticks()
        self.operations = list(epoch.changes.values()) + epoch.reads
        for number, each in enumerate(self.operations):
            each.bit = 1 << number
        self.puts = [each for each in epoch.changes.values() if each.body == "PutStream"]
        self.stream_changes = [each for each in epoch.changes.values()
                               if each.body in ("PutStream", "RemoveStream")]
        self.by_return = sorted(self.operations, key=lambda each: each.returned)
        self.place_of_tick = {tick: min(message["place"] for message in messages.values())
                              for tick, messages in epoch.messages.items()}
        for each in self.operations:
            each.hint = self.hint_of(each)
        self.required = sum(each.bit for each in self.operations if each.returned != NEVER)
        self.best, self.complaints = -1, ["no order was tried"]

    def bounds_of_ticks(self):
        """Returns {tick: the line before which it has begun}."""
        bounds, bound = {}, NEVER
        for tick in range(self.last_tick, 0, -1):
            bound = min(bound, self.epoch.seen.get(tick, NEVER))
            bounds[tick] = bound
        return bounds

    def hint_of(self, each):
        """Returns where in the order to try a request: the place of its record in the log or, without a log,
        the line of its answer. An answer to a resend says little: the request was likelier applied at
        once."""
        if each.returned == NEVER:
            return (1, each.invoked, 0)
        if each.body == "AdvanceTick" and each.reply[0] == "TickDone":
            place = self.place_of_tick.get(each.reply[1]["tick"])
            if place:
                return (0, place, 0)
        if len(each.sent) > 1:
            likely = [line for line in each.sent if self.clock.is_up[line]] + [each.returned]
            return (0, *self.clock.at_line(likely[0]))
        return (0, each.place or each.returned, 0)

    def hint_of_tick(self, tick):
        """Does the same for a tick by the clock, of which perhaps only the neighbours were seen."""
        if tick in self.epoch.taus:
            place = self.place_of_tick.get(tick)
            return (0, place, 0) if place else (0, *self.clock.at_tau(self.epoch.taus[tick]))
        before = max((number for number in self.epoch.taus if number < tick), default=0)
        after = min(number for number in self.epoch.taus if number > tick)
        last = self.epoch.taus[after]
        first = self.epoch.taus[before] if before else self.clock.begin_us
        return (0, *self.clock.at_tau(first + (last - first) * (tick - before) / (after - before)))

    def run(self):
        """Returns what is wrong; nothing if an order exists."""
        world = World(self.options, dict(self.epoch.first_sequences),
                      {page["tick"] for read in self.epoch.reads
                       for page in read.pages if read.body == "GetSnapshot"})
        problems = self.check_answers(world, 0)
        if problems:
            return problems
        stack, failed, steps = [self.node(world, 0)], set(), 0
        while stack:
            node = stack[-1]
            if node.done & self.required == self.required and node.world.tick >= self.last_tick:
                return []
            following = next(node.candidates, None)
            if following is None:
                failed.add(node.key())
                stack.pop()
                continue
            steps += 1
            if steps > STEPS_MAX:
                return ["no order was found in the steps that are allowed; the best one fails so:",
                        *self.complaints]
            child = self.try_next(node, *following)
            if child and not (len(failed) > 0 and child.key() in failed):
                stack.append(child)
        return ["no order of the requests explains the replies and ticks; the best one fails so:",
                *self.complaints]

    def node(self, world, done):
        done, bound, waiting = self.take_reads(world, done)
        node = Node(world, done)
        node.candidates = iter(self.candidates(world, done, bound))
        count = bin(done & self.required).count("1") + world.tick
        if waiting is not None and count > self.best:
            self.best, self.complaints = count, waiting
        return node

    def bound(self, world, done):
        """Returns the first line by which something must have happened that has not. Nothing that was sent
        after it comes before it."""
        bound = self.bounds.get(world.tick + 1, NEVER)
        for each in self.by_return:
            if not each.bit & done:
                return min(bound, each.returned)
        return bound

    def take_reads(self, world, done):
        """Takes each read that fits. Returns the requests done, the bound, and why the next read does not
        fit."""
        while True:
            bound, before, waiting = self.bound(world, done), done, None
            for read in self.epoch.reads:
                if read.bit & done or read.invoked > bound:
                    continue
                problems = self.check_read(world, read)
                if not problems:
                    done |= read.bit
                elif read.returned == bound:
                    waiting = [f"{read}: {each}" for each in problems]
            if done == before:
                return done, bound, waiting

    def check_read(self, world, read):
        pages = read.pages
        if read.kind == "hello":
            expected, session = world.next.get(read.reply["session"]), read.reply["session"]
            if expected != read.reply["next_sequence"]:
                return [f"the next number of session {session} must be {expected}, and is "
                        f"{read.reply['next_sequence']}"]
            return []
        if read.body == "GetSnapshot":
            if pages[0]["tick"] > world.tick:
                return [f"tick {pages[0]['tick']} has not begun"]
            return world.snapshot(pages[0], [each for page in pages for each in page["lists"]])
        if read.body == "GetObjects":
            rows = [row for page in pages for row in rows_of_objects(page)]
            return world.check_objects(read.fields, rows, read.reply)
        if read.body == "GetNames":
            return world.check_names(read.fields, read.reply)
        if read.body == "ListStreams":
            return world.check_streams([row for page in pages for row in page["streams"]], read.reply)
        return world.check_queries(read.fields, [row for page in pages
                                                 for row in page["queries"]], read.reply)

    def candidates(self, world, done, bound):
        """Returns (request or None, time of the tick by the clock), the likeliest first."""
        found = []
        for session, number in world.next.items():
            each = self.epoch.changes.get((session, number))
            if each and not each.bit & done and each.invoked <= bound:
                found.append((each.hint, each.invoked, each, None))
        if self.unseen_after(world) > UNSEEN_MAX:
            # A request before these ticks matters only if it begins or ends a stream, because it decides the
            # stream's numbers. One is tried at a time, with what its session sent before it.
            found = sorted((each for each in found if self.leads_to_a_stream(done, each[2])),
                           key=lambda each: each[:2])[:1]
            found.append((self.hint_of_tick(world.tick + 1), -1, None, world.tau or 0))
            return [each[2:] for each in sorted(found, key=lambda each: each[:2])]
        if not self.manual and world.tick < self.last_tick:
            hint = self.hint_of_tick(world.tick + 1)
            found += [(hint, tau_number - 10**6, None, tau)
                      for tau_number, tau in enumerate(self.taus_of(world, done))]
        return [each[2:] for each in sorted(found, key=lambda each: each[:2])]

    def leads_to_a_stream(self, done, change):
        """Returns whether a session's next request is one that puts or removes a stream, or precedes one."""
        return any(each.session == change.session and not each.bit & done for each in self.stream_changes)

    def try_next(self, node, change, tau):
        """Returns the node after a request or tick, or None if a reply or message contradicts."""
        if change is None:
            world = node.world.copy()
            problems = self.advance(world, node.done, tau, None)
            return self.complain(node, problems) if problems else self.node(world, node.done)
        world = node.world.copy()
        world.next[change.session] += 1
        world.tick_may_run = change.invoked < self.epoch.seen.get(world.tick, NEVER)
        world.ticks_are_unseen = not self.manual and (self.unseen_after(world) > 0
                                                      or world.tick not in self.epoch.taus)
        if change.body == "AdvanceTick":
            problems = self.try_advance(world, node.done, change)
        else:
            problems = world.apply(change.body, change.fields, change.reply)
        if problems:
            return self.complain(node, [f"{change}: {each}" for each in problems])
        return self.node(world, node.done | change.bit)

    def complain(self, node, problems):
        count = bin(node.done & self.required).count("1") + node.world.tick
        if count > self.best:
            self.best, self.complaints = count, problems
        return None

    def unseen_after(self, world):
        """Returns how many of the next ticks nothing tells of. What they reported is unknown, so only the
        last ones matter, and before them only what begins or ends a stream: the search takes the others at
        once."""
        if self.manual or world.tick >= self.last_tick:
            return 0
        return min(number for number in self.epoch.taus if number > world.tick) - world.tick - 1

    def taus_of(self, world, done):
        """Returns the times that the next tick by the clock may have: that of its messages, or all that
        matter between its neighbours'."""
        tick = world.tick + 1
        if tick in self.epoch.taus:
            return [self.epoch.taus[tick]]
        later = min(number for number in self.epoch.taus if number > tick)
        first, last, ttl_us = world.tau or 0, self.epoch.taus[later], self.options["ttl_us"]
        # What has expired before the last tick that was not seen is shown by a read alone; that tick itself
        # decides what the next one reports, also of lists that objects have left because of their age.
        ages = {row["age_max_us"] for row in world.queries.values()
                if "age_max_us" in row} if tick == later - 1 else set()
        if ttl_us and (tick == later - 1 or any(
                not read.bit & done and read.body == "GetObjects" and read.invoked < self.epoch.seen[later]
                for read in self.epoch.reads)):
            ages.add(ttl_us)
        moments = {each.time + age + 1 for each in world.objects.values() if each.alive for age in ages}
        return sorted({first, last, *(each for each in moments if first < each < last)})

    def try_advance(self, world, done, change):
        tau, reply = change.fields["tau_us"], change.reply
        code = None
        if not self.manual:
            code = "not_manual"
        elif world.tau is not None and tau < world.tau:
            code = "tau_too_early"
        if code:
            return world.compare_refusal({code}, reply)
        if reply and reply[0] != "TickDone":
            return [f"the tick must be done, and the reply is {reply}"]
        return self.advance(world, done, tau, reply and reply[1])

    def later_definitions(self, done, tick):
        """Returns {stream: its definitions that were put when a tick had begun and was not published}."""
        later = {}
        for each in self.puts:
            if not each.bit & done and each.invoked < self.epoch.seen.get(tick, 0):
                later.setdefault(each.fields["name"], set()).add(stream_of(each.fields))
        return later

    def advance(self, world, done, tau, reply):
        """Begins a tick and compares everything that tells of it."""
        reports, tick = world.advance(tau), world.tick
        later = self.later_definitions(done, tick)
        if tick in self.epoch.taus and self.epoch.taus[tick] != tau:
            return [f"tick {tick} has tau {self.epoch.taus[tick]}, and must have {tau}"]
        objects, problems = world.history[tick].objects, []
        if reply:
            problems += self.check_done(world, reports, reply)
        for name, message in self.epoch.messages.get(tick, {}).items():
            if name not in reports and self.definition_of(message) in later.get(name, ()) and (
                    not message["lists"] and not message["stream_removed"]):
                continue
            if name not in reports:
                problems.append(f"tick {tick}: stream {name!r} has a message, and does not exist")
                continue
            wrong = reports[name].compare(message, objects, world.space, later.get(name, ()))
            wrong += world.number_of(name, tick, message["sequence"])
            if message["failed"]:
                wrong.append("it failed")
            if message["object_count"] != len(objects) or message["newest_time_us"] != world.newest:
                wrong.append(f"it counts {message['object_count']} objects, the newest of "
                             f"{message['newest_time_us']}; "
                             f"there are {len(objects)}, the newest of {world.newest}")
            problems += [f"tick {tick} of stream {name!r}: {each}" for each in wrong]
        return problems + self.check_answers(world, tick)

    @staticmethod
    def definition_of(message):
        return stream_of({name: message[name]
                          for name in ("on", "with_distance", "with_position", "with_tags")})

    def check_answers(self, world, tick):
        return [f"answer of line {answer.returned + 1}, tick {tick}: {each}"
                for answer in self.epoch.answers.get(tick, [])
                for each in world.answer(tick, answer.fields, answer.reply)]

    @staticmethod
    def check_done(world, reports, reply):
        objects = len(world.history[world.tick].objects)
        given = (reply["tick"], reply["tau_us"], reply["object_count"])
        expected = (world.tick, world.tau, objects)
        problems = [] if given == expected else [f"tick, tau and objects are {given}, and must be {expected}"]
        if all(report.is_exact() for report in reports.values()):
            counts = (reply["list_count"], reply["removal_count"])
            lists = sum(len(report.updates) for report in reports.values())
            removals = sum(report.removal_count() for report in reports.values())
            if counts != (lists, removals):
                problems.append(f"lists and removals are {counts}, and must be {(lists, removals)}")
        return problems


class Node:
    def __init__(self, world, done):
        self.world, self.done, self.candidates = world, done, None

    def key(self):
        return self.done, self.world.key()


def rows_of_objects(page):
    """Returns [(id, time, metres or None, tags, name)]."""
    return [(number, page["times_us"][at],
             page["positions"][3 * at:3 * at + 3] if page["positions"] else None,
             page["tags"][at], page["names"][at] if page["names"] else "")
            for at, number in enumerate(page["ids"])]


def check(events):
    """Returns what is wrong with a history, as sentences."""
    problems = rules.check(events)
    options = events[0]["options"]
    clock = Clock(events)
    options["begin_us"] = clock.begin_us
    for number, epoch in epochs_of(events).items():
        problems += [f"epoch {number}: {each}" for each in Search(options, epoch, clock).run()]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("history")
    arguments = parser.parse_args()
    problems = check(read_history(arguments.history))
    for problem in problems[:20]:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
