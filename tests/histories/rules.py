# SPDX-License-Identifier: Apache-2.0
"""Rules of protocol/README.md that a history must keep in whatever order its requests were applied. Each
function returns sentences about what breaks its rule.
"""

import collections
import json

from lists import ORDER

KEEPS_NUMBER = {"unknown_session", "sequence_gap", "out_of_credit", "busy", "shutting_down"}
REMOVED = "removed"


def check(events):
    history = History(events)
    return [problem for rule in RULES for problem in rule(history)]


class History:
    """The events, each with its line, and each reply with the request that it answers."""

    def __init__(self, events):
        self.events = events
        self.options = events[0]["options"]
        self.has_log = self.options["durability"] != "off"
        self.sends, self.replies, self.messages = {}, [], []
        for line, event in enumerate(events):
            if event["e"] == "send":
                self.sends.setdefault((event["c"], event["i"]), (line, event))
            elif event["e"] == "reply" and (event["c"], event["i"]) in self.sends:
                self.replies.append((line, event, *self.sends[event["c"], event["i"]]))
            elif event["e"] == "tick":
                self.messages.append((line, event["u"], event["f"]))

    def answers(self):
        """Yields (line, reply, line of the request, request) of changing requests, without refusals that keep
        the number."""
        for each in self.replies:
            _, reply, _, sent = each
            if sent["as_"] == "change" and not (reply["b"] == "Error" and reply["f"]["code"] in KEEPS_NUMBER):
                yield each


def runs_to_its_end(history):
    problems, may_end = [], False
    for line, event in enumerate(history.events):
        if event["e"] == "died":
            problems.append(f"line {line + 1}: the server ended with {event['status']}: "
                            f"{event['stderr'][-500:]}")
        elif event["e"] == "exit" and event["status"] != 0:
            problems.append(f"line {line + 1}: the server was told to stop, and its status is "
                            f"{event['status']}")
        elif event["e"] == "stuck":
            problems.append(f"line {line + 1}: {event['what']}")
        may_end = may_end or event["e"] == "end"
    if not may_end and not problems:
        problems.append("the history has no end")
    return problems


def content(fields):
    return json.dumps(fields, sort_keys=True)


def resends_are_answered_alike(history):
    first, problems = {}, []
    for line, reply, _, sent in history.answers():
        key = (sent["s"], sent["q"])
        fields = {name: value for name, value in reply["f"].items() if name != "sequence_expected"}
        given = (reply["b"], content(fields))
        known = first.setdefault(key, (line, given))
        if known[1] != given:
            problems.append(f"line {line + 1}: request {sent['q']} of session {sent['s']} is answered "
                            f"otherwise than "
                            f"in line {known[0] + 1}")
        if reply["q"] != sent["q"]:
            problems.append(f"line {line + 1}: the reply has number {reply['q']}, and its request "
                            f"{sent['q']}")
    return problems


def probes_are_refused(history):
    allowed = {"gap": {"sequence_gap", "unknown_session", "busy"}, "stranger": {"unknown_session", "busy"},
               "misuse": {"bad_value", "sequence_forgotten", "unknown_session", "busy", "sequence_gap"}}
    problems = []
    for line, reply, _, sent in history.replies:
        codes = allowed.get(sent["as_"])
        if codes and not (reply["b"] == "Error" and reply["f"]["code"] in codes):
            problems.append(f"line {line + 1}: a request that must be refused with one of {sorted(codes)} "
                            f"is answered "
                            f"with {reply['b']} {reply['f'].get('code', '')}")
    return problems


def sessions_go_on(history):
    """With a log, a session that has an answered change goes on, and its next number is between what was
    answered and what was sent."""
    answered, sent_last, ended, problems = {}, {}, set(), []
    replies = {line: (reply, sent_line, sent) for line, reply, sent_line, sent in history.replies}
    for line, event in enumerate(history.events):
        if event["e"] == "send" and event["as_"] == "change":
            sent_last[event["s"]] = max(event["q"], sent_last.get(event["s"], 0))
        elif event["e"] == "send" and event["b"] == "EndSession":
            ended.add(event["s"])
        if line not in replies:
            continue
        reply, _, sent = replies[line]
        if sent["as_"] == "change" and not (reply["b"] == "Error" and reply["f"]["code"] in KEEPS_NUMBER):
            answered[sent["s"]] = max(sent["q"], answered.get(sent["s"], 0))
        elif reply["b"] == "HelloReply" and sent["f"].get("resume_session"):
            session, fields = sent["f"]["resume_session"], reply["f"]
            if fields["resumed"] and fields["session"] != session:
                problems.append(f"line {line + 1}: another session is resumed")
            if not history.has_log:
                continue
            if not fields["resumed"]:
                if session in answered and session not in ended:
                    problems.append(f"line {line + 1}: session {session} is forgotten")
                continue
            low, high = answered.get(session, 0) + 1, sent_last.get(session, 2**64) + 1
            if not fields["last_sequence"] + 1 <= fields["next_sequence"] or not (
                    low <= fields["next_sequence"] <= high or session not in answered):
                problems.append(f"line {line + 1}: the session's next number is {fields['next_sequence']}, "
                                f"after "
                                f"answers up to {low - 1} and requests up to {high - 1}")
    return problems


def messages_are_published_once(history):
    """All messages of a tick and stream are alike, for each subscriber and after each restart."""
    first, problems = {}, []
    for line, _, message in history.messages:
        key = (message["epoch"], message["stream"], message["tick"])
        known = first.setdefault(key, (line, content(message)))
        if known[1] != content(message):
            problems.append(f"line {line + 1}: tick {message['tick']} of stream {message['stream']!r} is "
                            f"another than "
                            f"in line {known[0] + 1}")
        if message["failed"]:
            problems.append(f"line {line + 1}: tick {message['tick']} failed")
    return problems


def numbers_rise_by_one(history):
    """Within an epoch, a stream's numbers rise with its ticks: by one with each, if the stream stays. A tick
    has one time, and times do not go back."""
    problems, streams, taus = [], {}, {}
    for line, _, message in history.messages:
        known = streams.setdefault((message["epoch"], message["stream"]), {})
        known.setdefault(message["tick"], (message["sequence"], message["stream_removed"], line))
    for line, reply, _, sent in history.replies:
        fields = reply["f"]
        if reply["b"] in ("SnapshotPage", "Neighbors") and fields["tick"]:
            taus.setdefault(fields["epoch"], {}).setdefault(fields["tick"], set()).add(fields["tau_us"])
    for line, _, message in history.messages:
        taus.setdefault(message["epoch"], {}).setdefault(message["tick"], set()).add(message["tau_us"])
    for (_, stream), known in streams.items():
        ticks = sorted(known)
        for before, after in zip(ticks, ticks[1:]):
            rise = known[after][0] - known[before][0]
            removals_between = any(event["e"] == "send" and event["b"] == "RemoveStream"
                                   and event["as_"] == "change"
                                   and event["f"]["name"] == stream for event in history.events)
            if rise < 1 or rise != after - before and not (removals_between and (
                    known[before][1] or after - before > 1)):
                problems.append(f"line {known[after][2] + 1}: stream {stream!r} has number "
                                f"{known[after][0]} at tick "
                                f"{after}, and had {known[before][0]} at tick {before}")
    for epoch, by_tick in taus.items():
        last = None
        for tick in sorted(by_tick):
            if len(by_tick[tick]) > 1 or last is not None and min(by_tick[tick]) < last:
                problems.append(f"epoch {epoch}: tick {tick} has times {sorted(by_tick[tick])}, after {last}")
            last = max(by_tick[tick])
    return problems


def messages_come_in_order(history):
    newest, problems = {}, []
    for line, subscriber, message in history.messages:
        key = (subscriber, message["stream"], message["epoch"])
        if message["sequence"] <= newest.get(key, 0):
            problems.append(f"line {line + 1}: subscriber {subscriber} gets number {message['sequence']} "
                            f"after "
                            f"{newest[key]}")
        newest[key] = max(message["sequence"], newest.get(key, 0))
    return problems


def epochs_follow_starts(history):
    """With a log there is one epoch. Without, a start draws a new one, and old ones do not come back."""
    order, problems, seen = [], [], set()
    starts = 0
    for line, event in enumerate(history.events):
        starts += event["e"] == "start"
        fields = event.get("f") or {}
        if event["e"] == "reply" and event["b"] != "Error" and "epoch" in fields:
            epoch = fields["epoch"]
            asked = history.sends.get((event["c"], event["i"]), (0, None))[0]
            if epoch not in seen:
                order.append((line, epoch))
                seen.add(epoch)
            later = [first for first, other in order if other != epoch and first < asked and
                     order.index((first, other)) > [each for _, each in order].index(epoch)]
            if later:
                problems.append(f"line {line + 1}: epoch {epoch} is back, after another one in line "
                                f"{later[0] + 1}")
        elif event["e"] == "tick" and fields["epoch"] not in seen:
            order.append((line, fields["epoch"]))
            seen.add(fields["epoch"])
    if history.has_log and len(seen) > 1:
        problems.append(f"{len(seen)} epochs with one log")
    if not history.has_log and len(seen) > starts:
        problems.append(f"{len(seen)} epochs with {starts} starts")
    return problems


def answers_are_recent(history):
    """Answers and snapshots are of the last finished tick, or of the one that at_us asks for."""
    newest, problems, taus = {}, [], {}
    by_line = {}
    for line, event in enumerate(history.events):
        fields = event.get("f") or {}
        tick = fields.get("tick") if event["e"] == "tick" or event["e"] == "reply" and event["b"] in (
            "SnapshotPage", "Neighbors") else None
        if tick is not None:
            epoch = fields["epoch"]
            newest[epoch] = max(tick, newest.get(epoch, 0))
            if tick:
                taus.setdefault(epoch, {})[tick] = (fields["tau_us"], min(line, taus.get(epoch, {}).get(
                    tick, (0, line))[1]))
        by_line[line] = dict(newest) if event["e"] == "send" and event["as_"] == "read" else None
    for line, reply, sent_line, sent in history.replies:
        if reply["b"] not in ("Neighbors", "SnapshotPage") or by_line[sent_line] is None or "first" in sent:
            continue
        fields = reply["f"]
        if sent["f"].get("has_at"):
            at_us = sent["f"]["at_us"]
            if fields["tau_us"] > at_us:
                problems.append(f"line {line + 1}: the answer is of {fields['tau_us']}, after {at_us}")
            for tick, (tau, first) in taus.get(fields["epoch"], {}).items():
                if fields["tick"] < tick and tau <= at_us and first < sent_line:
                    problems.append(f"line {line + 1}: the answer is of tick {fields['tick']}, and tick "
                                    f"{tick} is later "
                                    f"and before {at_us}")
                    break
        elif fields["tick"] < by_line[sent_line].get(fields["epoch"], 0):
            problems.append(f"line {line + 1}: the answer is of tick {fields['tick']}, and tick "
                            f"{by_line[sent_line][fields['epoch']]} was seen before it was asked")
    return problems


def places_rise(history):
    """A place counts records: a request that was sent after an answer has a later place than this answer,
    places of ticks rise, and a run begins behind all that the run before it has told."""
    problems, first = [], set()
    if not history.has_log:
        return [f"line {line + 1}: a place without a log"
                for line, reply, _, _ in history.replies if reply["p"]]
    done = []  # (line of the reply, place) of first answers
    first_sent = {}
    for line, event in enumerate(history.events):
        if event["e"] == "send" and event["as_"] == "change":
            first_sent.setdefault((event["s"], event["q"]), line)
    for line, reply, _, sent in history.answers():
        key = (sent["s"], sent["q"])
        sent_line = first_sent[key]
        if not reply["p"]:
            problems.append(f"line {line + 1}: a change is answered without a place")
        if key not in first:
            first.add(key)
            before = max((place for answered, place in done[-50:] if answered < sent_line), default=0)
            if reply["p"] <= before:
                problems.append(f"line {line + 1}: place {reply['p']} of a request that was sent after one "
                                f"with {before} "
                                "was answered")
            done.append((line, reply["p"]))
    by_tick, begun, told = {}, {}, collections.defaultdict(int)
    for line, _, message in history.messages:
        by_tick.setdefault(message["stream"], {})[message["tick"]] = (message["place"], line)
        if message["run"]:
            run, place = message["run"]
            if begun.setdefault(run, place) != place:
                problems.append(f"line {line + 1}: run {run} began at {begun[run]}, and at {place}")
            told[run] = max(told[run], message["place"])
    for places in by_tick.values():
        last = 0
        for tick, (place, line) in sorted(places.items()):
            if place <= last:
                problems.append(f"line {line + 1}: tick {tick} has place {place}, and a tick before it "
                                f"{last}")
            last = place
    for line, reply, _, _ in history.replies:
        runs = reply["f"].get("runs") or []
        for (later, later_begun), (earlier, earlier_begun) in zip(runs, runs[1:]):
            if earlier_begun >= later_begun or told[earlier] > later_begun:
                problems.append(f"line {line + 1}: run {later} begins at {later_begun}, and run {earlier} "
                                f"had told up to "
                                f"{max(told[earlier], earlier_begun)}")
    return problems


def reported_numbers_are_known(history):
    newest, problems, before = {}, [], {}
    for line, event in enumerate(history.events):
        if event["e"] == "send" and event["b"] == "ReportReceived":
            before[line] = newest.get((event["f"]["epoch"], event["f"]["stream"]), 0)
        elif event["e"] == "tick":
            newest[event["f"]["epoch"], event["f"]["stream"]] = event["f"]["sequence"]
    for line, reply, sent_line, sent in history.replies:
        if sent["b"] == "ReportReceived" and reply["b"] == "Done" and reply["f"]["sequence"] and (
                reply["f"]["sequence"] < before[sent_line]):
            problems.append(f"line {line + 1}: the newest message is {reply['f']['sequence']}, and "
                            f"{before[sent_line]} came")
    return problems


class Follower:
    """Holds the lists of a stream as the section "How to subscribe" says."""

    def __init__(self):
        self.lists, self.position = {}, None  # (epoch, number)

    def take_snapshot(self, epoch, number, lists):
        self.lists = {(each[0], each[1]): each for each in lists}
        self.position = (epoch, number)

    def take(self, message):
        """Applies the next message. Returns whether the lists are known now."""
        if self.position != (message["epoch"], message["sequence"] - 1):
            epoch, number = self.position or (None, 0)
            if epoch == message["epoch"] and message["sequence"] <= number:
                return True
            self.position = None
            return False
        for each in message["lists"]:
            if each[2] == REMOVED:
                for key in [key for key in self.lists if key == (each[0], each[1]) or each[1] is None
                            and key[0] == each[0]]:
                    del self.lists[key]
        for each in message["lists"]:
            if each[2] != REMOVED:
                self.lists[each[0], each[1]] = each
        self.position = (message["epoch"], message["sequence"])
        return True


def followers_hold_the_snapshots(history):
    """Between two snapshots of a stream, the messages of all ticks lead from the first one's lists to the
    second one's: their members, or their order too, or also their distances, as `on` says."""
    problems, messages, by_stream, pages, touches = [], {}, {}, {}, touches_of(history)
    for _, _, message in history.messages:
        messages.setdefault((message["epoch"], message["stream"], message["sequence"]), message)
    for line, reply, _, sent in history.replies:
        if reply["b"] != "SnapshotPage":
            continue
        known = pages.setdefault((sent["c"], sent.get("first", sent["i"])), [])
        known.append(reply["f"])
        if reply["f"]["next_page"]:
            continue
        head, lists = known[0], [one for page in known for one in page["lists"]]
        if len({content([page[name] for name in ("epoch", "tick", "sequence", "list_count")])
                for page in known}) > 1:
            problems.append(f"line {line + 1}: the pages of a snapshot are not of one tick")
        elif len(lists) != head["list_count"]:
            problems.append(f"line {line + 1}: a snapshot has {len(lists)} lists, and says "
                            f"{head['list_count']}")
        else:
            by_stream.setdefault((head["epoch"], head["stream"]), []).append((head["sequence"], line, lists))
    for (epoch, stream), known in by_stream.items():
        known.sort(key=lambda each: each[:2])
        for (number, first_line, lists), (later, line, expected) in zip(known, known[1:]):
            path = [messages.get((epoch, stream, at)) for at in range(number + 1, later + 1)]
            if not path or None in path:
                continue
            follower = Follower()
            follower.take_snapshot(epoch, number, lists)
            if not all(follower.take(message) for message in path):
                continue
            # What was put or removed meanwhile may show in a snapshot before its tick.
            behind = {query for name, query, first, last in touches
                      if name == stream and first < line and last > first_line}
            if None in behind:
                continue
            problems += compare_held(
                f"line {line + 1}, stream {stream!r} at number {later}", min(each["on"] for each in path),
                {key: each for key, each in follower.lists.items() if key[0] not in behind},
                {(each[0], each[1]): each for each in expected if each[0] not in behind})
    return problems


def touches_of(history):
    """Returns (stream, query or None for all, first line, last line) of each request that puts or removes
    queries: it is applied between the two lines."""
    spans = {}
    for line, event in enumerate(history.events):
        if event["e"] == "send" and event["as_"] == "change" and event["b"] in ("PutQueries", "RemoveQueries",
                                                                               "RemoveStream"):
            spans.setdefault((event["s"], event["q"]), [line, len(history.events), event])
    for line, _, _, sent in history.answers():
        span = spans.get((sent["s"], sent["q"]))
        if span:
            span[1] = min(span[1], line)
    touches = []
    for first, last, event in spans.values():
        fields = event["f"]
        if event["b"] == "RemoveStream":
            touches.append((fields["name"], None, first, last))
        for query in fields.get("ids", [row["id"] for row in fields.get("queries", [])]):
            touches.append((fields["stream"], query, first, last))
    return touches


def compare_held(where, on, held, expected):
    problems = [f"{where}: the follower holds list {key}, and the snapshot lacks it"
                for key in held.keys() - expected.keys()]
    for key, list_ in expected.items():
        if key not in held:
            problems.append(f"{where}: the snapshot has list {key}, and its follower has not")
            continue
        ids, known = list_[2], held[key][2]
        if (sorted(ids) != sorted(known) if on < ORDER else ids != known):
            problems.append(f"{where}: list {key} is {ids}, and its follower holds {known}")
        elif on > ORDER and list_[3] is not None and held[key][3] is not None and list_[3] != held[key][3]:
            problems.append(f"{where}: list {key} has distances {list_[3]}, and its follower holds "
                            f"{held[key][3]}")
    return problems


RULES = [runs_to_its_end, resends_are_answered_alike, probes_are_refused, sessions_go_on,
         messages_are_published_once, numbers_rise_by_one, messages_come_in_order, epochs_follow_starts,
         answers_are_recent, places_rise, reported_numbers_are_known, followers_hold_the_snapshots]
