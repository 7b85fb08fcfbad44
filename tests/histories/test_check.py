# SPDX-License-Identifier: Apache-2.0
"""Proves that the checker can fail: records histories of a real server, which must be right, and tells the
checker of servers that lie, each in one way. Also tests the oracle by hand. Arguments: the starling program,
flatc, the schema, a directory for flatc's output; then those of unittest.
"""

import copy
import os
import random
import subprocess
import sys
import unittest

import check
from oracle import World
from xxh64 import id_of_text, xxh64

PROGRAM, FLATC, SCHEMA, GENERATED = sys.argv[1:5]
HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = (1, 2, 3, 4, 5, 6, 8, 22)  # each lie has an occasion in two of them at least
STEPS_MAX = 4000  # enough for each right history; a wrong one may run out of them


def recorded():
    """Returns {seed: events} of right histories."""
    subprocess.run([FLATC, "--python", "-o", GENERATED, SCHEMA], check=True)
    histories = {}
    for seed in SEEDS:
        path = os.path.join(GENERATED, f"test-{seed}.jsonl")
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "record.py"), PROGRAM, GENERATED, "--seed",
                        str(seed),
                        "--out", path], check=True)
        histories[seed] = check.read_history(path)
        os.remove(path)
    return histories


# Each lie changes the events in place, or returns False if they give no occasion for it.

def messages(events, wanted=lambda fields: True):
    """Returns [[all copies of one message]], of ticks by which the first stream is settled."""
    by_tick = {}
    for event in events:
        if event["e"] == "tick" and wanted(event["f"]):
            by_tick.setdefault((event["f"]["epoch"], event["f"]["stream"], event["f"]["tick"]),
                               []).append(event["f"])
    return list(by_tick.values())


def choose(rng, choices):
    """Returns one of the choices, or an empty list if there are none."""
    return rng.choice(choices) if choices else []


def with_list(fields):
    return any(each[2] != "removed" and each[2] for each in fields["lists"])


def pick_list(events, rng, wanted=lambda each: True):
    """Returns all copies of a list that has neighbours."""
    choices = []
    for copies in messages(events, with_list):
        for at, each in enumerate(copies[0]["lists"]):
            if each[2] != "removed" and each[2] and wanted(each):
                choices.append([fields["lists"][at] for fields in copies])
    return choose(rng, choices)


def a_list_lacks_its_last_neighbour(events, rng):
    copies = pick_list(events, rng)
    for each in copies:
        each[2].pop()
        for at, size in ((3, 1), (4, 3), (5, 1)):
            if each[at]:
                del each[at][-size:]
    return copies


def two_neighbours_swap_places(events, rng):
    copies = pick_list(events, rng, lambda each: len(each[2]) > 1)
    for each in copies:
        each[2][0], each[2][1] = each[2][1], each[2][0]
    return copies


def a_distance_is_a_little_longer(events, rng):
    copies = pick_list(events, rng, lambda each: each[3] and each[3][0] > 0)
    for each in copies:
        each[3][0] *= 1 + 1e-9
    return copies


def a_neighbour_has_other_tags(events, rng):
    copies = pick_list(events, rng, lambda each: each[5])
    for each in copies:
        each[5][0] ^= 8
    return copies


def a_changed_list_is_not_reported(events, rng):
    choices = messages(events, with_list)
    copies = choose(rng, choices)
    for fields in copies:
        at = next(at for at, each in enumerate(fields["lists"]) if each[2] != "removed" and each[2])
        del fields["lists"][at]
        fields["list_count"] -= 1
    return copies


def a_removal_is_reported_in_vain(events, rng):
    copies = choose(rng, messages(events))
    for fields in copies:
        fields["lists"].append([77, None, "removed", None, None, None, -2**63, "none"])
        fields["removal_count"] += 1
    return copies


def one_subscriber_gets_another_message(events, rng):
    choices = [copies for copies in messages(events) if len(copies) > 1]
    if not choices:
        return False
    rng.choice(choices)[-1]["object_count"] += 1
    return True


def a_stream_skips_a_number(events, rng):
    """From a message on, which is not the first one, all of a stream have a number that is one higher."""
    by_stream = {}
    for copies in messages(events):
        by_stream.setdefault((copies[0]["epoch"], copies[0]["stream"]), []).append(copies)
    long = [each for each in by_stream.values() if len(each) > 4 and not any(
        copies[0]["stream_removed"] for copies in each)]
    if not long:
        return False
    each = rng.choice(long)
    for copies in each[rng.randrange(1, len(each)):]:
        for fields in copies:
            fields["sequence"] += 1
    return True


def a_tick_is_in_the_past(events, rng):
    choices = messages(events, lambda fields: fields["tick"] > 3)
    copies = choose(rng, choices)
    for fields in copies:
        fields["tau_us"] -= 10**9
    return copies


def a_place_goes_back(events, rng):
    choices = messages(events, lambda fields: fields["place"] > 40)
    copies = choose(rng, choices)
    for fields in copies:
        fields["place"] = 9
    return copies


def replies(events, *kinds, wanted=lambda event: True):
    return [event for event in events if event["e"] == "reply" and event["b"] in kinds and wanted(event)]


def sends_of(events, as_="change"):
    return {(event["c"], event["i"]): event
            for event in events if event["e"] == "send" and event["as_"] == as_}


def answers_by_request(events):
    """Returns {(session, number): [(send, reply)]} of changes that were answered."""
    sends, answers = sends_of(events), {}
    for event in replies(events, "BatchReply", "Done", "TickDone"):
        send = sends.get((event["c"], event["i"]))
        if send:
            answers.setdefault((send["s"], send["q"]), []).append((send, event))
    return answers


def append_exchange(events, send, kind, fields, **changes):
    """Adds a request like `send`, and its reply, before the server is ended."""
    at = max(number for number, event in enumerate(events) if event["e"] == "terminate")
    sent = {**copy.deepcopy(send), "i": 10**6, **changes}
    reply = {"e": "reply", "ms": events[at]["ms"], "c": send["c"], "i": 10**6, "q": sent["q"], "p": 0,
             "b": kind, "f": fields}
    events[at:at] = [sent, reply]


def a_resend_is_answered_otherwise(events, rng):
    pairs = rng.choice(list(answers_by_request(events).values()))
    append_exchange(events, pairs[0][0], "BatchReply", {"accepted": 99, "late": 0, "rejected": 0,
                                                        "reasons": {},
                                                 "first_rejected": []})
    return True


def a_resend_ticks_again(events, rng):
    """A second tick begins with a resend: all that follows has numbers that are one higher."""
    if events[0]["options"]["ticks"] != "manual":
        return False
    dones = replies(events, "TickDone")
    begin = events.index(rng.choice(dones[:-2])) if len(dones) > 4 else None
    if begin is None:
        return False
    for event in events[begin + 1:]:
        fields = event.get("f") or {}
        if event["e"] == "tick" or event["e"] == "reply" and event["b"] in ("TickDone", "Neighbors",
                                                                            "SnapshotPage"):
            fields["tick"] += 1
    return True


def an_acknowledged_row_is_lost(events, rng):
    """An object of its own was acknowledged, and no list or read ever has it."""
    choices = [pairs for pairs in answers_by_request(events).values()
               if pairs[0][0]["b"] == "UpdateTags" or pairs[0][0]["b"] == "RemoveObjects"]
    if not choices:
        return False
    options = events[0]["options"]
    size = options["dimension"]
    for send, reply in rng.choice(choices):
        send["b"] = "UpdateBatch"
        time_us = 1_700_000_000_000_000 if options["ticks"] == "manual" else events[0]["begin_us"] + 900_000
        send["f"] = {"ids": [555], "times_us": [time_us], "components": size, "dimension": size,
                     "coordinates": [float(options["origin"])] * size}
        reply["f"] = {"accepted": 1, "late": 0, "rejected": 0, "reasons": {}, "first_rejected": []}
    sent = {(event["s"], event["q"]) for event in events
            if event["e"] == "send" and event["f"].get("ids") == [555]}
    for event in events:
        if event["e"] == "send" and event["as_"] == "change" and (event["s"], event["q"]) in sent:
            event["b"], event["f"] = "UpdateBatch", {
                "ids": [555], "times_us": [time_us], "components": size, "dimension": size,
                "coordinates": [float(options["origin"])] * size}
    return options["ttl_us"] == 0


def is_alone(events, pairs):
    """Whether no other change was under way, so that no other order of the two explains another answer."""
    first, last = events.index(pairs[0][0]), events.index(pairs[0][1])
    for others in answers_by_request(events).values():
        if others is not pairs and others[0][0] != pairs[0][0] and (
                events.index(others[0][0]) < last and events.index(others[0][1]) > first):
            return False
    return all(event["e"] != "send" or event["as_"] != "change" or event["q"] == pairs[0][0]["q"]
               for event in events[first:last])


def a_late_row_is_counted_as_accepted(events, rng):
    choices = [pairs for pairs in answers_by_request(events).values()
               if pairs[0][1]["b"] == "BatchReply" and pairs[0][1]["f"]["late"] > 0 and is_alone(events,
                                                                                                 pairs)]
    if not choices:
        return False
    for _, reply in rng.choice(choices):
        reply["f"]["late"] -= 1
        reply["f"]["accepted"] += 1
    return True


def a_gap_is_accepted(events, rng):
    send = rng.choice(list(sends_of(events).values()))
    append_exchange(events, send, "Done", {"sequence": 0}, q=send["q"] + 1000, as_="gap")
    return True


def a_read_shows_another_time(events, rng):
    found = replies(events, "Objects", wanted=lambda event: event["f"]["times_us"]
                    and not event["f"]["next_page"])
    single = [event for event in found if "object_ids" in
              next(each for each in events if each["e"] == "send" and (each["c"], each["i"]) ==
                   (event["c"], event["i"]))["f"]]
    if not single:
        return False
    rng.choice(single)["f"]["times_us"][0] += 1
    return True


def an_answer_lacks_a_neighbour(events, rng):
    found = [each for event in replies(events, "Neighbors") for each in event["f"]["lists"] if each[2]]
    if not found:
        return False
    each = rng.choice(found)
    each[2].pop()
    each[3].pop()
    return True


def an_answer_is_of_an_old_tick(events, rng):
    """The answer is right, and of a tick before one that was seen."""
    asked = sends_of(events, "read")
    found = replies(events, "Neighbors", wanted=lambda event: not asked[event["c"],
                                                                        event["i"]]["f"].get("has_at"))
    newest = {}
    for event in found + [event for event in events if event["e"] == "tick"]:
        epoch = event["f"]["epoch"]
        newest[epoch] = max(event["f"]["tick"], newest.get(epoch, 0))
    old = [event for event in found if event["f"]["tick"] < newest[event["f"]["epoch"]]]
    if not old:
        return False
    event = rng.choice(old)
    append_exchange(events, asked[event["c"], event["i"]], "Neighbors", copy.deepcopy(event["f"]))
    return True


def a_snapshot_lacks_a_list(events, rng):
    """A list of a query that stands all the time, in the last snapshot."""
    for event in reversed(replies(events, "SnapshotPage")):
        if event["f"]["stream"] == "s" and not event["f"]["next_page"] and any(
                each[0] == 100 for each in event["f"]["lists"]):
            event["f"]["lists"] = [each for each in event["f"]["lists"] if each[0] != 100]
            event["f"]["list_count"] -= 1
            return True
    return False


def the_epoch_changes_with_a_log(events, rng):
    if events[0]["options"]["durability"] == "off":
        return False
    rng.choice(replies(events, "Neighbors", "Names", "Streams", "Objects"))["f"]["epoch"] += 1
    return True


def an_old_epoch_is_back(events, rng):
    """Without a log: after a restart an answer is of the epoch before."""
    epochs = []
    for event in replies(events, "HelloReply"):
        if event["f"]["epoch"] not in epochs:
            epochs.append(event["f"]["epoch"])
    later = [reply for reply in replies(events, "Names", "Streams", "Objects") if reply["f"]["epoch"] in epochs[1:]]
    if not later:
        return False
    later[-1]["f"]["epoch"] = epochs[0]
    return True


def a_session_is_forgotten(events, rng):
    if events[0]["options"]["durability"] == "off":
        return False
    ended, answered, found = set(), set(), []
    sends = sends_of(events)
    for event in events:
        if event["e"] == "send" and event["b"] == "EndSession":
            ended.add(event["s"])
        elif event["e"] == "reply" and (event["c"], event["i"]) in sends and event["b"] != "Error":
            answered.add(sends[event["c"], event["i"]]["s"])
        elif event["e"] == "reply" and event["b"] == "HelloReply" and event["f"]["resumed"] and (
                event["f"]["session"] in answered - ended):
            found.append(event)
    if not found:
        return False
    found[-1]["f"]["resumed"] = False
    return True


def a_request_is_never_answered(events, rng):
    events.insert(len(events) - 1, {"e": "stuck", "ms": 0, "what": "a request is not answered"})
    return True


def the_server_ends_with_an_error(events, rng):
    [event for event in events if event["e"] == "exit"][-1]["status"] = 1
    return True


LIES = [
    a_list_lacks_its_last_neighbour, two_neighbours_swap_places, a_distance_is_a_little_longer,
    a_neighbour_has_other_tags, a_changed_list_is_not_reported, a_removal_is_reported_in_vain,
    one_subscriber_gets_another_message, a_stream_skips_a_number, a_tick_is_in_the_past, a_place_goes_back,
    a_resend_is_answered_otherwise, a_resend_ticks_again, an_acknowledged_row_is_lost,
    a_late_row_is_counted_as_accepted, a_gap_is_accepted, a_read_shows_another_time,
    an_answer_lacks_a_neighbour, an_answer_is_of_an_old_tick, a_snapshot_lacks_a_list,
    the_epoch_changes_with_a_log, an_old_epoch_is_back, a_session_is_forgotten, a_request_is_never_answered,
    the_server_ends_with_an_error]


class LiesTest(unittest.TestCase):
    # A history is recorded anew in each run. In a few, a lie has another explanation: a late row that is counted
    # as accepted may be the only fix of its object, if the request before it was never answered.
    def test_each_lie_is_found_in_nearly_all_histories(self):
        check.STEPS_MAX = STEPS_MAX
        told = dict.fromkeys(LIES, 0)
        found = dict.fromkeys(LIES, 0)
        for seed, events in recorded().items():
            with self.subTest(seed=seed, lie="none"):
                self.assertEqual(check.check(copy.deepcopy(events)), [])
            for lie in LIES:
                lied = copy.deepcopy(events)
                if lie(lied, random.Random(seed)):
                    told[lie] += 1
                    found[lie] += check.check(lied) != []
        self.assertEqual([lie.__name__ for lie in LIES if found[lie] < max(1, told[lie] - 1)], [])


class OracleTest(unittest.TestCase):
    def world(self, **options):
        limits = {"k-max": 4, "rows-max": 9, "questions-max": 4, "page-rows-max": 4, "unanswered-max": 8}
        return World({"space": "planar2", "dimension": 2, "metric": "l2", "resolution_m": 0.5, "origin": 10,
                      "ticks": "manual", "future_us": 100, "ttl_us": 0, "limits": limits,
                      "begin_us": 0, **options},
                     {}, set())

    def put(self, world, ids, times, coordinates, **fields):
        return world.UpdateBatch({"ids": ids, "times_us": times, "coordinates": coordinates, **fields})

    def test_ids_of_texts_are_those_of_the_page(self):
        self.assertEqual(id_of_text("abc"), 0x44BC2CF5AD770999)
        self.assertEqual(id_of_text("007"), 7)
        self.assertEqual(xxh64(b""), 0xEF46DB3751D8E999)

    def test_positions_are_rounded_once_and_ties_go_to_the_smaller_id(self):
        world = self.world()
        self.put(world, [9, 2, 5], [0, 0, 0], [10.7, 10, 10, 10.6, 13, 14])
        world.PutStream({"name": "s"})
        world.PutQueries({"stream": "s", "queries": [{"id": 1, "k": 3, "position": [10, 10, 0]}]})
        report = world.advance(0)["s"]
        list_ = report.new[1, None]
        self.assertEqual(list_.ids, (2, 9, 5))
        self.assertEqual(list_.distances, (0.5, 0.5, 5.0))
        self.assertEqual(report.updates, {(1, None)})
        self.assertEqual(world.advance(1)["s"].updates, set())

    def test_event_time_decides_and_a_removal_keeps_older_rows_out(self):
        world = self.world()
        self.assertEqual(self.put(world, [1, 1, 1], [5, 4, 5], [10] * 6), [{"accepted"}, {"late"},
                                                                           {"accepted"}])
        self.assertEqual(world.RemoveObjects({"ids": [1, 2], "times_us": [7, 3]}), [{"accepted"},
                                                                                    {"accepted"}])
        self.assertEqual(self.put(world, [1, 1, 2], [6, 7, 2], [10] * 6), [{"late"}, {"accepted"}, {"late"}])
        world.advance(0)
        self.assertEqual(self.put(world, [1], [101], [10, 10]), [{"future"}])

    def test_tags_of_tag_updates_belong_to_them(self):
        world = self.world()
        self.put(world, [1], [5], [10, 10], tags=[3])
        self.assertEqual(world.UpdateTags({"ids": [1, 2], "times_us": [1, 1], "set": [4, 1], "clear": [5,
                                                                                                       0]}),
                         [{"accepted"}, {"unknown_object"}])
        self.put(world, [1], [6], [10, 10], tags=[1])
        world.advance(6)
        world.streams["s"] = None
        self.assertEqual(world.check_objects({"object_ids": [1]}, [[1, 6, [10.0, 10.0, 0.0], 4, ""]],
                                             {"object_count": 1, "missing_ids": []}), [])


class SearchTest(unittest.TestCase):
    """Tick 2 of three ticks by the clock is not seen."""
    T = 1_700_000_000_000_000

    def problems(self, tau_us, changed):
        """Two queries have an age limit of 50 ms. Object 1 leaves its list 20 ms after tick 1, and object 2
        70 ms after it. Tick 3 at `tau_us` reports the lists of `changed`."""
        limits = {"k-max": 4, "rows-max": 9, "questions-max": 4, "page-rows-max": 4, "unanswered-max": 8}
        options = {"space": "planar2", "dimension": 2, "metric": "l2", "resolution_m": 0.5, "origin": 0,
                   "ticks": "50ms", "future_us": None, "ttl_us": 0, "durability": "off", "limits": limits,
                   "begin_us": self.T}
        events = [{"e": "header", "options": options, "begin_us": self.T}]

        def exchange(number, as_, body, fields, answer, reply):
            events.append({"e": "send", "c": "c0", "i": number + 1, "s": 5 if number else 0, "q": number,
                           "as_": as_, "b": body, "f": fields})
            events.append({"e": "reply", "c": "c0", "i": number + 1, "q": number, "p": 0, "b": answer,
                           "f": reply})

        def tick(number, tau_us, lists):
            events.append({"e": "tick", "u": 0, "f": {
                "epoch": 9, "tick": number, "tau_us": tau_us, "newest_time_us": self.T + 20_000,
                "sequence": number, "failed": False, "object_count": 2, "chunk_count": 1, "chunks": 1,
                "list_count": len(lists), "removal_count": 0, "on": 0, "with_distance": False,
                "with_position": False, "with_tags": False, "stream_removed": False, "run_before": 0,
                "place": 0, "run": None, "stream": "s",
                "lists": [[query, None, list(ids), None, None, None, -2**63, "none"]
                          for query, ids in lists.items()]}})

        taken = {"accepted": 2, "late": 0, "rejected": 0, "reasons": {}, "first_rejected": []}
        exchange(0, "hello", "Hello", {"first_sequence": 1},
                 "HelloReply", {"session": 5, "epoch": 9, "resumed": False, "runs": []})
        exchange(1, "change", "PutStream", {"name": "s", "on": 0, "with_distance": False},
                 "Done", {"sequence": 0})
        exchange(2, "change", "PutQueries", {"stream": "s", "queries": [
            {"id": tag, "k": 2, "position": [0, 0, 0], "tags_required": tag, "age_max_us": 50_000}
            for tag in (1, 2)]}, "BatchReply", taken)
        exchange(3, "change", "UpdateBatch", {
            "ids": [1, 2], "times_us": [self.T - 30_000, self.T + 20_000], "components": 2,
            "coordinates": [0.0] * 4, "tags": [1, 2]}, "BatchReply", taken)
        tick(1, self.T, {1: [1], 2: [2]})
        tick(3, tau_us, changed)
        for line, event in enumerate(events):
            event["ms"] = line
        (epoch,) = check.epochs_of(events).values()
        return check.Search(options, epoch, check.Clock(events)).run()

    def test_a_tick_that_is_not_seen_may_end_the_age_of_some_objects(self):
        self.assertEqual(self.problems(self.T + 100_000, {1: [], 2: []}), [])
        self.assertEqual(self.problems(self.T + 100_000, {2: []}), [])
        self.assertEqual(self.problems(self.T + 100_000, {}), [])
        self.assertEqual(self.problems(self.T + 71_000, {2: []}), [])

    def test_it_does_not_end_the_age_of_newer_ones_alone(self):
        self.assertNotEqual(self.problems(self.T + 100_000, {1: []}), [])
        self.assertNotEqual(self.problems(self.T + 60_000, {2: []}), [])


class UnseenTest(unittest.TestCase):
    """Ticks 1, 10 and 11 are seen, and those between them are not."""
    T = 1_700_000_000_000_000

    def problems(self, number):
        """Stream t is put after tick 1, and a snapshot of tick 10 says that its number is `number`."""
        limits = {"k-max": 4, "rows-max": 9, "questions-max": 4, "page-rows-max": 4, "unanswered-max": 8}
        options = {"space": "planar2", "dimension": 2, "metric": "l2", "resolution_m": 0.5, "origin": 0,
                   "ticks": "50ms", "future_us": None, "ttl_us": 0, "durability": "off", "limits": limits,
                   "begin_us": self.T}
        events = [{"e": "header", "options": options, "begin_us": self.T}]
        form = {"with_distance": True, "with_position": False, "with_tags": False}

        def exchange(request, sequence, as_, body, fields, answer, reply):
            both = {"c": "c0", "i": request, "q": sequence}
            events.append({"e": "send", **both, "s": 0 if body == "Hello" else 5, "as_": as_, "b": body,
                           "f": fields})
            events.append({"e": "reply", **both, "p": 0, "b": answer, "f": reply})

        def tick(stream, tick, sequence):
            events.append({"e": "tick", "u": 0, "f": {
                "epoch": 9, "tick": tick, "tau_us": self.T + 50_000 * tick, "newest_time_us": -2**63,
                "sequence": sequence, "failed": False, "object_count": 0, "chunk_count": 0, "chunks": 0,
                "list_count": 0, "removal_count": 0, "on": 1, **form, "stream_removed": False,
                "run_before": 0, "place": 0, "run": None, "stream": stream, "lists": []}})

        def snapshot(request, tick, sequence):
            exchange(request, 0, "read", "GetSnapshot", {"stream": "t"}, "SnapshotPage", {
                "stream": "t", "epoch": 9, "tick": tick, "tau_us": self.T + 50_000 * tick,
                "sequence": sequence, "next_page": 0, "list_count": 0, **form, "lists": []})

        exchange(1, 0, "hello", "Hello", {"first_sequence": 1},
                 "HelloReply", {"session": 5, "epoch": 9, "resumed": False, "runs": []})
        exchange(2, 1, "change", "PutStream", {"name": "s"}, "Done", {"sequence": 0})
        tick("s", 1, 1)
        exchange(3, 2, "change", "PutStream", {"name": "t"}, "Done", {"sequence": 0})
        snapshot(4, 1, 0)
        tick("s", 10, 10)
        snapshot(5, 10, number)
        tick("s", 11, 11)
        tick("t", 11, number + 1)
        for line, event in enumerate(events):
            event["ms"] = line
        (epoch,) = check.epochs_of(events).values()
        return check.Search(options, epoch, check.Clock(events)).run()

    def test_a_stream_may_begin_before_ticks_that_are_not_seen(self):
        self.assertEqual(self.problems(9), [])
        self.assertNotEqual(self.problems(10), [])
        self.assertNotEqual(self.problems(11), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
