# SPDX-License-Identifier: Apache-2.0
"""The lists of a tick: what each must hold, and which of them the message of a stream must report."""

import math
from collections import namedtuple

NO_LABEL = -2**63
MEMBERSHIP, ORDER, DISTANCE = range(3)

Stream = namedtuple("Stream", "on with_distance with_position with_tags")
# A list: ids, distances in metres, the votes that are right, the mean.
List = namedtuple("List", "ids distances votes mean")


def tags_of(thing):
    return thing.tags & ~thing.owned | thing.set_bits


def close(a, b):
    return a == b or math.isclose(a, b, rel_tol=1e-12, abs_tol=0)


class Report:
    """What the message of a stream must have at a tick."""

    def __init__(self, stream, old, new, put, touched, gone_queries, is_last):
        self.stream, self.old, self.new, self.is_last = stream, old, new, is_last
        self.gone_queries = gone_queries
        self.free = touched | put  # queries that were put again or removed and put: some freedom
        self.updates = {key for key in new if self.has_changed(key, stream.on)}
        self.may_update = {key for key in new if key[0] in put}
        self.gone = {key for key in old if key not in new}

    def has_changed(self, key, on):
        old, new = self.old.get(key), self.new[key]
        if old is None:
            return True
        if not old.votes & new.votes or old.mean != new.mean:
            return True
        if on == MEMBERSHIP:
            return set(old.ids) != set(new.ids)
        return old.ids != new.ids or on == DISTANCE and old.distances != new.distances

    def is_exact(self):
        return not self.free

    def removal_count(self):
        return len(self.gone_queries) + sum(key[0] not in self.gone_queries for key in self.gone)

    def compare(self, message, objects, space, later):
        """`later` are definitions of the stream that may have been put while the tick ran. Each part of the
        message may be as one of them says."""
        wrong, updates, may_update = [], self.updates, self.may_update
        definition = Stream(message["on"], message["with_distance"], message["with_position"],
                            message["with_tags"])
        if definition != self.stream and later:
            by_both = {key for key in self.new if self.has_changed(key, definition.on)}
            updates, may_update = updates & by_both, updates | by_both | may_update
        if not all(part in {each[at] for each in (self.stream, *later)}
                   for at, part in enumerate(definition)):
            wrong.append(f"the message carries {definition}, and the stream {self.stream}")
        if message["stream_removed"] != self.is_last and not (self.is_last and later):
            wrong.append(f"stream_removed is {message['stream_removed']}, and must be {self.is_last}")
        held, updated, removed, removals = dict(self.old), {}, set(), 0
        for each in message["lists"]:
            key = (each[0], each[1])
            if each[2] == "removed":
                removals += 1
                known = [one for one in held if one == key or key[1] is None and one[0] == key[0]]
                for one in known:
                    del held[one]
                removed.add(key)
                if key[0] not in self.free and not (key[1] is None and key[0] in self.gone_queries
                                                    or key in self.gone and key[0] not in self.gone_queries):
                    wrong.append(f"list {key} is reported as removed, and is not")
        for each in message["lists"]:
            key = (each[0], each[1])
            if each[2] == "removed":
                continue
            if key in updated:
                wrong.append(f"list {key} is reported twice")
            updated[key] = each
            held[key] = self.new.get(key)
            if key not in self.new:
                wrong.append(f"list {key} is reported, and must not be there")
                continue
            if key not in updates and key not in may_update:
                wrong.append(f"list {key} is reported, and has not changed")
            wrong += [f"list {key}: {one}" for one in
                      compare_list(self.new[key], each, definition, objects, space)]
        for key in updates - updated.keys():
            wrong.append(f"list {key} has changed and is not reported: it must be {self.new[key].ids}")
        for query in self.gone_queries:
            if (query, None) not in removed:
                wrong.append(f"query {query} is gone, and its removal is not reported")
        for key in held.keys() - self.new.keys():
            wrong.append(f"list {key} is gone, and its removal is not reported")
        for key in self.new.keys() - held.keys():
            wrong.append(f"list {key} is removed, and must be there")
        if (message["list_count"], message["removal_count"]) != (len(updated), removals):
            wrong.append(f"the header counts {message['list_count']} lists and {message['removal_count']} "
                         f"removals")
        if message["chunks"] != message["chunk_count"]:
            wrong.append(f"{message['chunk_count']} chunks are announced, and {message['chunks']} came")
        return wrong


def near(metres, expected, space):
    return all(abs(a - b) <= space.resolution_m * 1e-6 for a, b in zip(metres, expected))


def votes_of(row, ids, distances, alive):
    """Returns the labels that may win; None stands for no vote."""
    if not row.get("vote"):
        return frozenset([None])
    counts, sums = {}, {}
    for number, distance in zip(ids, distances):
        label = alive[number].label
        if label is not None:
            counts[label] = counts.get(label, 0) + 1
            sums[label] = sums.get(label, 0.0) + distance
    if not counts:
        return frozenset([None])
    leaders = [label for label in counts if counts[label] == max(counts.values())]
    least = min(sums[label] for label in leaders)
    # Sums that differ only by rounding may be in either order.
    nearest = [label for label in leaders if math.isclose(sums[label], least, rel_tol=1e-12, abs_tol=1e-12)]
    if all(sums[label] == least for label in nearest):
        return frozenset([min(nearest)])
    return frozenset(nearest)


def mean_of(row, ids, alive):
    values = [alive[number].value for number in ids if alive[number].value is not None]
    return sum(values) / len(values) if row.get("regress") and values else "none"


def compare_list(expected, given, stream, objects, space):
    """Compares a list of a chunk, as wire.chunk_of writes it, with the oracle's."""
    _, _, ids, distances, positions, tags, vote, mean = given
    wrong = []
    if tuple(ids) != expected.ids:
        return [f"it is {ids}, and must be {list(expected.ids)}"]
    if ids:
        carried = (distances is not None, positions is not None, tags is not None)
        if carried != stream[1:]:
            wrong.append(f"it carries distances, positions, tags {carried}, and must carry {stream[1:]}")
            return wrong
    if ids and distances is not None and not all(map(close, distances, expected.distances)):
        wrong.append(f"its distances are {distances}, and must be {list(expected.distances)}")
    if ids and positions is not None:
        for at, number in enumerate(ids):
            if not near(positions[3 * at:3 * at + 3], space.metres(objects[number].place), space):
                wrong.append(f"object {number} is at {positions[3 * at:3 * at + 3]}, and must be at "
                             f"{space.metres(objects[number].place)}")
    if ids and tags is not None and tags != [tags_of(objects[number]) for number in ids]:
        wrong.append(f"its tags are {tags}, and must be {[tags_of(objects[number]) for number in ids]}")
    if (None if vote == NO_LABEL else vote) not in expected.votes:
        wrong.append(f"its vote is {vote}, and must be one of {expected.votes}")
    if mean != expected.mean:
        wrong.append(f"its mean is {mean}, and must be {expected.mean}")
    return wrong
