# SPDX-License-Identifier: Apache-2.0
"""What a server must hold and answer after each request, from protocol/README.md alone: brute force on whole
numbers. A World is the state of one epoch; each method that a request calls returns the reasons why the
recorded reply is wrong, or nothing.

Where the page leaves a freedom, the oracle takes each of the allowed answers: which of several faults of a
row is named, and which lists of a query that was put again are reported.
"""

import math
from collections import namedtuple
from fractions import Fraction

from lists import NO_LABEL, ORDER, List, Report, Stream, compare_list, mean_of, near, tags_of, votes_of
from xxh64 import id_of_text

TIME_MAX = 2**61
LATTICE = 2**30
COMPONENT_MAX = 2.0**56
NO_TIME = -2**63
NONE_BEFORE = -2**200
FIXED, FOLLOW, EVERY_OBJECT = range(3)
BATCHES = {"UpdateBatch", "UpdateTags", "RemoveObjects", "PutNames", "PutQueries", "RemoveQueries"}

Object = namedtuple("Object", "alive time place tags owned set_bits tag_time label value")
# The number of a stream's last message is base + count. Until a message shows it, base is None, and the number
# is at least floor and at most floor + slack.
Sequence = namedtuple("Sequence", "base count floor slack")
# What one tick left: the tick's time, {id: Object}, {stream: {key: List}}, {stream: Sequence}, {name: Stream},
# and all (stream, query).
Tick = namedtuple("Tick", "tau objects lists sequences streams queries")


def stream_of(fields):
    return Stream(fields.get("on", ORDER), fields.get("with_distance", True), fields.get("with_position",
                                                                                         False),
                  fields.get("with_tags", False))


class Space:
    """Positions as whole numbers, and distances of them."""

    def __init__(self, options):
        self.is_vector = options["space"] == "vector"
        self.dimension = options["dimension"]
        self.metric = options["metric"]
        self.resolution_m = options["resolution_m"]
        self.origin = options["origin"]

    def place(self, values):
        """Returns the place, or the set of reasons for which a row with it is rejected."""
        if self.is_vector:
            reasons = set()
            for value in values:
                if not math.isfinite(value):
                    reasons.add("component_not_finite")
                elif abs(value) > COMPONENT_MAX:
                    reasons.add("component_too_large")
            return reasons or tuple(int(value) for value in values)
        if not all(map(math.isfinite, values)):
            return {"position_not_finite", "position_out_of_range"}
        place = tuple(round((Fraction(value) - self.origin) / Fraction(self.resolution_m))
                      for value in values)
        if not all(-LATTICE <= each < LATTICE for each in place):
            return {"position_out_of_range"}
        return place

    def rank(self, a, b):
        """Returns the whole number by which distances are ordered."""
        differences = [abs(x - y) for x, y in zip(a, b)]
        if self.metric == "l1":
            return sum(differences)
        if self.metric == "chebyshev":
            return max(differences)
        if self.metric == "inner-product":
            return -sum(x * y for x, y in zip(a, b))
        return sum(each * each for each in differences)

    def distance(self, rank):
        if self.metric != "l2":
            return float(rank)
        return math.sqrt(rank) if self.is_vector else math.sqrt(rank) * self.resolution_m

    def metres(self, place):
        """Returns the three numbers of a reported position."""
        values = [self.origin + each * self.resolution_m for each in place]
        return values + [0.0] * (3 - len(values))


class World:
    def __init__(self, options, first_sequences, kept_ticks):
        self.space = Space(options)
        self.options = options
        self.limits = options["limits"]
        self.manual = options["ticks"] == "manual"
        self.objects, self.names, self.streams, self.queries = {}, {}, {}, {}
        self.tick, self.tau = 0, None
        self.history = {0: Tick(None, {}, {}, {}, {}, frozenset())}
        self.defined = {}   # {stream: [(the last tick, Stream that was put then)]}
        self.removed = {}   # {name: Stream} of streams that were removed since the last tick
        self.has_removed = False  # whether a stream was removed: then new ones begin with any number
        # A stream that is put while a tick runs has a message of this tick: protocol/README.md leaves it
        # open.
        self.tick_may_run = self.ticks_are_unseen = False
        self.put = set()    # (stream, query) put since the last tick
        self.touched = {}   # (stream, query) or stream: the last tick before it was put or removed
        self.sequences = {}
        self.last_lists = 0  # a hash of the lists of the last tick
        self.trace = 0  # a hash of the kept ticks, of which snapshots may tell later
        self.kept_ticks = kept_ticks
        self.newest = NO_TIME  # of all updates that were accepted
        self.next = first_sequences  # {session: its next number}

    def copy(self):
        other = World.__new__(World)
        other.__dict__.update(self.__dict__)
        for name in ("objects", "names", "streams", "queries", "history", "removed", "defined", "touched",
                     "sequences",
                     "next"):
            setattr(other, name, dict(getattr(self, name)))
        other.put = set(self.put)
        return other

    def key(self):
        """What makes two worlds the same for all that follows."""
        return hash((self.tick, self.tau if self.manual else 0, self.last_lists, self.trace, self.newest,
                     self.history[self.tick].queries,
                     frozenset(self.touched.items()), frozenset(self.objects.items()), frozenset(self.names),
                     frozenset(self.streams.items()), frozenset((key, repr(row)) for key, row in
                                                                self.queries.items()),
                     frozenset(self.removed), frozenset(self.put), frozenset(self.sequences.items())))

    # Requests that change something.

    def apply(self, body, fields, reply):
        """Applies a request. `reply` is the recorded (body, fields), or None. Returns what is wrong with
        it."""
        codes = self.refusals(body, fields)
        if codes:
            return self.compare_refusal(codes, reply)
        result = getattr(self, body)(fields)
        if reply is None:
            return []
        if body in BATCHES:
            return self.compare_rows(result, reply)
        if reply[0] != "Done":
            return [f"{body} must be done, and the reply is {reply}"]
        return []

    def refusals(self, body, fields):
        """Returns the codes with one of which the request must be refused; empty if it must not."""
        codes = set()
        rows = len(fields.get("ids", fields.get("queries", [])))
        if rows > self.limits["rows-max"]:
            codes.add("too_many_rows")
        if body == "UpdateBatch":
            per_row = self.space.dimension
            if (len(fields["times_us"]) != rows
                    or len(fields.get("coordinates", fields.get("coordinates_f32"))) != per_row * rows):
                codes.add("array_mismatch")
        if body in ("PutQueries", "RemoveQueries") and fields["stream"] not in self.streams:
            codes.add("unknown_stream")
        if body == "RemoveStream":
            name = fields["name"]
            if name not in self.streams:
                codes.add("unknown_stream")
            if sum(stream == name for stream, _ in self.queries) > self.limits["rows-max"]:
                codes.add("too_many_rows")
        if body == "PutQueries":
            for row in fields["queries"]:
                if not 1 <= row["k"] <= self.limits["k-max"]:
                    codes.add("k_out_of_range")
                if row.get("lease_ms") and self.tick == 0 and self.manual:
                    codes.add("bad_value")
        return codes

    @staticmethod
    def compare_refusal(codes, reply):
        if reply is None or reply[0] == "Error" and reply[1]["code"] in codes:
            return []
        return [f"the reply must be a refusal with {sorted(codes)}, and is {reply}"]

    @staticmethod
    def compare_rows(outcomes, reply):
        """Compares a BatchReply with the sets of allowed outcomes of the rows."""
        if reply[0] != "BatchReply":
            return [f"the batch must be taken, and the reply is {reply}"]
        fields, wrong = reply[1], []
        rejected = dict(map(tuple, fields["first_rejected"]))
        for index, allowed in enumerate(outcomes):
            if index in rejected:
                if rejected[index] not in allowed:
                    wrong.append(f"row {index} is rejected as {rejected[index]}, and must be one of "
                                 f"{sorted(allowed)}")
            elif not allowed & {"accepted", "late"}:
                wrong.append(f"row {index} is not rejected, and must be as one of {sorted(allowed)}")
        late = sum("late" in allowed for index, allowed in enumerate(outcomes) if index not in rejected)
        counts = (fields["accepted"], fields["late"], fields["rejected"])
        expected = (len(outcomes) - late - len(rejected), late, len(rejected))
        if counts != expected:
            wrong.append(f"accepted, late and rejected must be {expected}, and are {counts}")
        reasons = {}
        for reason in rejected.values():
            reasons[reason] = reasons.get(reason, 0) + 1
        if reasons != fields["reasons"]:
            wrong.append(f"the reasons {fields['reasons']} do not count {reasons}")
        return wrong

    def time_faults(self, time_us):
        faults = {"time_out_of_range"} if abs(time_us) > TIME_MAX else set()
        future_us = self.options["future_us"]
        if self.manual:
            if future_us is not None and self.tau is not None and time_us > self.tau + future_us:
                faults.add("future")
        elif time_us > self.tau_bound + 10_000_000:
            faults.add("future")
        return faults

    @property
    def tau_bound(self):
        """With the wall clock, rows are far from the bound: some seconds or some hours ahead."""
        return (self.tau or self.options["begin_us"]) + 60_000_000

    def UpdateBatch(self, fields):
        outcomes, size = [], self.space.dimension
        values = fields.get("coordinates", fields.get("coordinates_f32"))
        for row, number in enumerate(fields["ids"]):
            time_us = fields["times_us"][row]
            place = self.space.place(values[row * size:(row + 1) * size])
            faults = self.time_faults(time_us) | (place if isinstance(place, set) else set())
            value = fields["values"][row] if "values" in fields else None
            if value is not None and math.isinf(value):
                faults.add("value_infinite")
            old = self.objects.get(number)
            if old and time_us < old.time and not faults:
                outcomes.append({"late"})
                continue
            if faults:
                outcomes.append(faults | ({"late"} if old and time_us < old.time else set()))
                continue
            outcomes.append({"accepted"})
            old = old or Object(False, 0, None, 0, 0, 0, NONE_BEFORE, None, None)
            new = old._replace(alive=True, time=time_us, place=place)
            self.newest = max(self.newest, time_us)
            if "tags" in fields:
                new = new._replace(tags=fields["tags"][row])
            if "labels" in fields:
                label = fields["labels"][row]
                new = new._replace(label=None if label == NO_LABEL else label)
            if value is not None:
                new = new._replace(value=None if math.isnan(value) else value)
            self.objects[number] = new
        return outcomes

    def UpdateTags(self, fields):
        outcomes = []
        for number, time_us, set_bits, clear in zip(fields["ids"], fields["times_us"], fields["set"],
                                                    fields["clear"]):
            faults, old = self.time_faults(time_us), self.objects.get(number)
            if old is None:
                faults = faults | {"unknown_object"}
            if faults:
                outcomes.append(faults)
            elif time_us < old.tag_time:
                outcomes.append({"late"})
            else:
                outcomes.append({"accepted"})
                self.objects[number] = old._replace(owned=old.owned | set_bits | clear, tag_time=time_us,
                                                    set_bits=old.set_bits & ~clear | set_bits)
        return outcomes

    def RemoveObjects(self, fields):
        outcomes = []
        for number, time_us in zip(fields["ids"], fields["times_us"]):
            faults, old = self.time_faults(time_us), self.objects.get(number)
            if faults:
                outcomes.append(faults)
            elif old and time_us < old.time:
                outcomes.append({"late"})
            else:
                outcomes.append({"accepted"})
                tag_time = max(time_us, old.tag_time) if old else time_us
                self.objects[number] = Object(False, time_us, None, 0, 0, 0, tag_time, None, None)
        return outcomes

    def PutNames(self, fields):
        outcomes = []
        for number, text in zip(fields["ids"], fields["texts"]):
            if id_of_text(text) != number:
                outcomes.append({"text_is_not_its_id"})
                continue
            outcomes.append({"accepted"})
            if not text.isdigit():
                self.names[number] = text
        return outcomes

    def PutStream(self, fields):
        name = fields["name"]
        if name not in self.streams and name not in self.removed:
            last = self.sequences.get(name)
            floor = last.floor if last else 0
            if self.has_removed or self.ticks_are_unseen:
                self.sequences[name] = Sequence(None, 0, floor, math.inf)
            else:
                self.sequences[name] = Sequence(None, 0, 0, 1) if self.tick_may_run else Sequence(0, 0, 0, 0)
        self.streams[name] = stream_of(fields)
        self.defined[name] = (*self.defined.get(name, ()), (self.tick, self.streams[name]))

    def RemoveStream(self, fields):
        name = fields["name"]
        self.removed[name], self.has_removed = self.streams.pop(name), True
        for key in [key for key in self.queries if key[0] == name]:
            del self.queries[key]
            self.touched[key] = self.tick
            self.put.discard(key)

    def PutQueries(self, fields):
        outcomes = []
        for row in fields["queries"]:
            key = (fields["stream"], row["id"])
            row = dict(row)
            if row.get("anchor", FIXED) == FIXED:
                place = self.space.place((row.get("vector") or row["position"])[:self.space.dimension])
                if isinstance(place, set):
                    outcomes.append(place)
                    continue
                row["place"] = place
            row["ends"] = self.tau + 1000 * row["lease_ms"] if row.get("lease_ms") else None
            outcomes.append({"accepted"})
            self.queries[key] = row
            self.put.add(key)
            self.touched[key] = self.tick
        return outcomes

    def RemoveQueries(self, fields):
        outcomes = []
        for number in fields["ids"]:
            key = (fields["stream"], number)
            outcomes.append({"accepted" if key in self.queries else "unknown_query"})
            if self.queries.pop(key, None):
                self.put.discard(key)
                self.touched[key] = self.tick
        return outcomes

    # Ticks.

    def advance(self, tau):
        """Begins a tick. Returns {stream: what its message must have}, as Report has it."""
        self.tick, self.tau = self.tick + 1, tau
        ttl_us = self.options["ttl_us"]
        if ttl_us:
            for number, each in self.objects.items():
                if each.alive and tau - each.time > ttl_us:
                    self.objects[number] = each._replace(alive=False)
        for key, row in list(self.queries.items()):
            if row["ends"] is not None and tau > row["ends"]:
                del self.queries[key]
        old = self.history[self.tick - 1]
        alive = {number: each for number, each in self.objects.items() if each.alive}
        lists, reports = {}, {}
        for name, stream in self.streams.items():
            lists[name] = {key: value for (owner, _), row in self.queries.items() if owner == name
                           for key, value in self.lists_of(row, alive, tau)}
            reports[name] = Report(stream, old.lists.get(name, {}), lists[name],
                                   {query for owner, query in self.put if owner == name},
                                   self.touched_queries(name, self.tick - 1), self.gone_queries(old,
                                                                                                name), False)
            last = self.sequences[name]
            self.sequences[name] = last._replace(count=last.count + 1)
        for name in self.removed:
            if name not in self.streams:
                reports[name] = Report(self.removed[name], old.lists.get(name, {}), {}, set(), set(),
                                       self.gone_queries(old, name), True)
                last = self.sequences[name]
                self.sequences[name] = last._replace(count=last.count + 1)
        self.history[self.tick] = Tick(tau, alive, lists, dict(self.sequences), dict(self.streams),
                                       frozenset(self.queries))
        for name in self.removed.keys() - self.streams.keys():
            last = self.sequences[name]
            floor = last.count + (last.floor if last.base is None else last.base)
            self.sequences[name] = last._replace(floor=floor)
        self.last_lists = hash(tuple(sorted((name, hash(frozenset(each.items())))
                                            for name, each in lists.items())))
        if self.tick in self.kept_ticks:
            self.trace = hash((self.trace, self.last_lists, frozenset(alive.items())))
        self.put, self.removed = set(), {}
        return reports

    def gone_queries(self, old, name):
        return {query for owner, query in old.queries if owner == name and (owner, query) not in self.queries}

    def touched_queries(self, name, tick):
        """Returns the queries of a stream that were put or removed after a tick."""
        return {key[1] for key, since in self.touched.items()
                if isinstance(key, tuple) and key[0] == name and since >= tick}

    def lists_of(self, row, alive, tau):
        """Yields (key, List) of a query."""
        anchor, query = row.get("anchor", FIXED), row["id"]
        if anchor == FIXED:
            yield (query, None), self.nearest(row, row["place"], None, alive, tau)
        elif anchor == FOLLOW:
            target = alive.get(row["object"])
            yield (query, None), (self.nearest(row, target.place, row["object"], alive, tau) if target
                                  else self.nearest(row, None, None, {}, tau))
        else:
            for number, each in alive.items():
                tags = tags_of(each)
                required = row.get("subject_tags_required", 0)
                if tags & required == required and not tags & row.get("subject_tags_forbidden", 0):
                    yield (query, number), self.nearest(row, each.place, number, alive, tau)

    def nearest(self, row, place, without, alive, tau):
        required, forbidden = row.get("tags_required", 0), row.get("tags_forbidden", 0)
        distance_max, age_max = row.get("distance_max_m", math.inf), row.get("age_max_us", math.inf)
        found = []
        for number, each in alive.items():
            tags = tags_of(each)
            if (number != without and tags & required == required and not tags & forbidden
                    and tau - each.time <= age_max):
                rank = self.space.rank(place, each.place)
                if self.space.distance(rank) <= distance_max:
                    found.append((rank, number))
        found = sorted(found)[:row["k"]]
        ids = tuple(number for _, number in found)
        distances = tuple(self.space.distance(rank) for rank, _ in found)
        return List(ids, distances, votes_of(row, ids, distances, alive), mean_of(row, ids, alive))

    # Answers.

    def number_of(self, name, tick, seen, of_message=True):
        """Learns a stream's number at a tick from one that was seen in a message or a snapshot. Returns what
        is wrong with it."""
        now = self.sequences.get(name)
        at_tick = self.history[tick].sequences.get(name)
        if at_tick is None or not of_message and name not in self.history[tick].streams:
            at_tick = now and now._replace(count=0)  # put after the tick: the number before its first one
        if at_tick is None:
            return [f"stream {name!r} has number {seen}, and was never put"]
        if at_tick.base is None and at_tick.floor == now.floor:
            at_tick = at_tick._replace(base=now.base)
        if at_tick.base is not None:
            expected = at_tick.base + at_tick.count
            return [] if seen == expected else [f"stream {name!r} has number {seen}, and must have "
                                                f"{expected}"]
        base = seen - at_tick.count
        if not at_tick.floor <= base <= at_tick.floor + at_tick.slack:
            return [f"stream {name!r} begins with number {base + 1}, and must with {at_tick.floor + 1} "
                    f"or up to {at_tick.slack} more"]
        if at_tick.floor == now.floor:
            self.sequences[name] = now._replace(base=base)
        return []

    def answer(self, tick, fields, reply):
        """Compares the answer to one-shot questions with a tick."""
        then, wrong = self.history[tick], []
        if then.tau != reply["tau_us"] and tick:
            wrong.append(f"tau is {reply['tau_us']}, and must be {then.tau}")
        unknown, given = [], {each[0]: each for each in reply["lists"]}
        for index, question in enumerate(fields["questions"]):
            row = {**question, "id": index}
            if row.get("anchor", FIXED) == FIXED:
                row["place"] = self.space.place((row.get("vector") or row["position"])[:self.space.dimension])
            elif row["object"] not in then.objects:
                unknown.append(index)
            (_, expected), = self.lists_of(row, then.objects if tick else {}, then.tau or 0)
            if index not in given:
                wrong.append(f"question {index} has no answer")
                continue
            wrong += [f"question {index}: {each}" for each in
                      compare_list(expected, given[index], Stream(ORDER, True, False, False), then.objects,
                                   self.space)]
        if reply["unknown"] != unknown:
            wrong.append(f"unknown must be {unknown}, and is {reply['unknown']}")
        return wrong

    def snapshot(self, reply, lists):
        """Compares all pages of a snapshot, taken now, with its tick."""
        name, then = reply["stream"], self.history[reply["tick"]]
        if name not in self.streams:
            return [f"stream {name!r} is removed"]
        if reply["tick"] and then.tau != reply["tau_us"]:
            return [f"tau is {reply['tau_us']}, and must be {then.tau}"]
        stream = Stream(None, reply["with_distance"], reply["with_position"], reply["with_tags"])
        definitions = [self.streams[name]] + ([then.streams[name]] if name in then.streams else [])
        definitions += [each for since, each in self.defined.get(name, ()) if since >= reply["tick"]]
        # After a new definition and before the next tick, each part is carried as one of them says.
        if not all(given in {each[at] for each in definitions} for at, given in enumerate(stream) if at):
            return [f"the snapshot carries {stream}, and the stream {definitions}"]
        expected = then.lists.get(name, {})
        touched = self.touched_queries(name, reply["tick"])
        given = {(each[0], each[1]): each for each in lists}
        wrong = self.number_of(name, reply["tick"], reply["sequence"], of_message=False)
        if len(given) != len(lists) or reply["list_count"] != len(lists):
            wrong.append(f"{reply['list_count']} lists are announced, and {len(lists)} came")
        for key in expected.keys() | given.keys():
            if key not in given:
                if key[0] not in touched:
                    wrong.append(f"list {key} is missing")
            elif key not in expected:
                wrong.append(f"list {key} must not be there")
            else:
                wrong += [f"list {key}: {each}" for each in
                          compare_list(expected[key], given[key], stream, then.objects, self.space)]
        return wrong

    def check_objects(self, fields, rows, reply):
        """Compares objects, from all pages together, with those of now."""
        alive = {number: each for number, each in self.objects.items() if each.alive}
        if "object_ids" in fields:
            expected = [number for number in fields["object_ids"] if number in alive]
            missing = [number for number in fields["object_ids"] if number not in alive]
            if [row[0] for row in rows] != expected or reply["missing_ids"] != missing:
                return [f"objects {expected} must be there and {missing} missing, and the reply has "
                        f"{[row[0] for row in rows]} and {reply['missing_ids']}"]
        elif sorted(row[0] for row in rows) != sorted(alive):
            return [f"objects {sorted(alive)} must be there, and {sorted(row[0] for row in rows)} are"]
        wrong = []
        if reply["object_count"] != len(alive):
            wrong.append(f"object_count must be {len(alive)}, and is {reply['object_count']}")
        for number, time_us, metres, tags, name in rows:
            each = alive[number]
            if (time_us, tags, name) != (each.time, tags_of(each), self.names.get(number, "")):
                wrong.append(f"object {number} is {(time_us, tags, name)}, and must be "
                             f"{(each.time, tags_of(each), self.names.get(number, ''))}")
            if metres is not None and not near(metres, self.space.metres(each.place), self.space):
                wrong.append(f"object {number} is at {metres}, and must be at "
                             f"{self.space.metres(each.place)}")
        return wrong

    def check_names(self, fields, reply):
        texts = [self.names.get(number, "") for number in fields["object_ids"]]
        if reply["texts"] != texts or reply["name_count"] != len(self.names):
            return [f"the names must be {texts}, {len(self.names)} in all, and are {reply['texts']}, "
                    f"{reply['name_count']}"]
        return []

    def check_streams(self, rows, reply):
        expected = {name: (*stream, sum(owner == name for owner, _ in self.queries))
                    for name, stream in self.streams.items()}
        given = {row["name"]: (row["on"], row["with_distance"], row["with_position"], row["with_tags"],
                               row["query_count"]) for row in rows}
        if given != expected or len(rows) != len(given) or reply["stream_count"] != len(expected):
            return [f"the streams must be {expected}, and are {given}"]
        return []

    def check_queries(self, fields, rows, reply):
        name = fields["stream"]
        if name not in self.streams:
            return [f"stream {name!r} is unknown"]
        expected = {query: row for (owner, query), row in self.queries.items() if owner == name}
        given = {row["id"]: row for row in rows}
        if (given.keys() != expected.keys() or len(given) != len(rows)
                or reply["query_count"] != len(expected)):
            return [f"the queries must be {sorted(expected)}, and are {sorted(given)}"]
        wrong = []
        for query, row in expected.items():
            seen = given[query]
            for field, value in (("k", None), ("anchor", FIXED), ("tags_required", 0), ("tags_forbidden", 0),
                                 ("subject_tags_required", 0), ("subject_tags_forbidden", 0),
                                 ("age_max_us", 2**63 - 1)):
                if row.get("anchor", FIXED) != EVERY_OBJECT and field.startswith("subject"):
                    continue
                if seen[field] != row.get(field, value):
                    wrong.append(f"query {query} has {field} {seen[field]}, and must have "
                                 f"{row.get(field, value)}")
            if row.get("anchor") == FOLLOW and seen["object"] != row["object"]:
                wrong.append(f"query {query} follows {seen['object']}, and must follow {row['object']}")
            if "place" in row:
                is_right = (tuple(seen["vector"]) == row["place"] if self.space.is_vector
                            else seen["position"] and near(seen["position"], self.space.metres(row["place"]),
                                                           self.space))
                if not is_right:
                    wrong.append(f"query {query} is at another place than {row['place']}")
            if bool(seen["lease_ms"]) != (row["ends"] is not None):
                wrong.append(f"query {query} has {seen['lease_ms']} ms of its lease left, and ends at "
                             f"{row['ends']}")
        return wrong
