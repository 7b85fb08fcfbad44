# SPDX-License-Identifier: Apache-2.0
"""Random requests over few objects, queries and streams, so that clients meet often. The recorder asks for
them; each is (body, fields), as wire.encode_request takes them.
"""

import math
import struct
import time

from xxh64 import id_of_text

START_US = 1_700_000_000_000_000
MEMBERSHIP, ORDER, DISTANCE = range(3)
FIXED, FOLLOW, EVERY_OBJECT = range(3)
L2, INNER_PRODUCT, L1, CHEBYSHEV = 0, 4, 5, 6
TEXTS = ["abc", "taxi 7", "a name of more than thirty-two bytes, to be hashed in lanes", "ü", "007"]


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Workload:
    def __init__(self, rng, options):
        self.rng = rng
        self.options = options
        self.manual = options["ticks"] == "manual"
        self.tau_us = START_US
        self.reach = rng.choice([1, 3, 20, 100_000])
        self.ids = [rng.randrange(1, 2**64) if rng.random() < 0.2 else number
                    for number in range(1, options["objects"] + 1)]
        self.ids += [id_of_text(text) for text in TEXTS]
        self.streams = ["s", "st", "stream three"][:options["streams"]]
        limits = options["limits"]
        self.rows_max, self.k_max = limits["rows-max"], limits["k-max"]
        self.questions_max = limits["questions-max"]
        self.page_rows_max = limits["page-rows-max"]

    def pick(self, most):
        return [self.rng.choice(self.ids) for _ in range(self.rng.randint(1, most))]

    def now_us(self):
        return self.tau_us if self.manual else time.time_ns() // 1000

    def event_time(self):
        rng = self.rng
        if self.manual:
            time_us = self.tau_us + rng.choice([-3000, -1000, -1, 0, 0, 0, 1, 1000, 3000])
            return time_us if rng.random() < 0.97 else self.tau_us + rng.choice([-10**9, 10**6, 2**61])
        if rng.random() < 0.03:
            return self.now_us() + rng.choice([-3600, 3600]) * 10**6
        # Whole 100 ms, so that equal times are common.
        return (self.now_us() // 100_000 + rng.randint(-10, 5)) * 100_000

    def coordinate(self):
        rng = self.rng
        if self.options["space"] == "vector":
            return float(rng.randint(-min(self.reach, 20), min(self.reach, 20)))
        lattice = rng.randint(-self.reach, self.reach) + rng.choice([0, 0, 0.25, -0.375])
        return self.options["origin"] + lattice * self.options["resolution_m"]

    def place(self):
        values = [self.coordinate() for _ in range(self.options["dimension"])]
        if self.rng.random() < 0.01:
            values[0] = self.rng.choice([math.nan, math.inf, 1e12
                                         if self.options["space"] != "vector" else 1e18])
        return values

    def anchor(self):
        """Returns the fields of a random anchor."""
        rng = self.rng
        kind = rng.choice([FIXED, FIXED, FOLLOW])
        if kind == FOLLOW:
            return {"anchor": FOLLOW, "object": rng.choice(self.ids)}
        values = self.place()
        if self.options["space"] == "vector":
            return {"vector": values}
        return {"position": values + [0.0] * (3 - len(values))}

    def filters(self):
        rng, fields = self.rng, {}
        if rng.random() < 0.25:
            fields["tags_required"] = rng.choice([1, 2, 3])
        if rng.random() < 0.25:
            fields["tags_forbidden"] = rng.choice([1, 4])
        if rng.random() < 0.25:
            unit = 1 if self.options["space"] == "vector" else self.options["resolution_m"]
            fields["distance_max_m"] = math.sqrt(rng.randint(0, 2 * self.reach**2)) * unit
        if rng.random() < 0.15:
            fields["age_max_us"] = rng.choice([0, 1000, 4000]) if self.manual else rng.choice([50_000,
                                                                                               400_000])
        return fields

    def query(self, number):
        rng = self.rng
        fields = {"id": number, "k": rng.randint(1, self.k_max), **self.filters()}
        if rng.random() < 0.25:
            fields["anchor"] = EVERY_OBJECT
            fields["k"] = rng.randint(1, 2)
            if rng.random() < 0.5:
                fields["subject_tags_required"] = rng.choice([1, 2])
            if rng.random() < 0.3:
                fields["subject_tags_forbidden"] = 4
        else:
            fields.update(self.anchor())
        if self.manual and rng.random() < 0.15:
            fields["lease_ms"] = rng.randint(1, 5)
        if self.options["space"] == "vector":
            if rng.random() < 0.3:
                fields["vote"] = True
            if rng.random() < 0.3:
                fields["regress"] = 1
        if rng.random() < 0.02:
            fields["k"] = rng.choice([0, self.k_max + 1])
        return fields

    def update(self):
        rng = self.rng
        ids = self.pick(self.rows_max + (rng.random() < 0.03))
        fields = {"ids": ids, "times_us": [self.event_time() for _ in ids]}
        values = [value for _ in ids for value in self.place()]
        if self.options["space"] == "vector":
            fields["dimension"] = self.options["dimension"]
            fields["coordinates_f32"] = [float32(value) for value in values]
            if rng.random() < 0.6:
                fields["labels"] = [rng.choice([-2**63, 1, 2, 3]) for _ in ids]
            if rng.random() < 0.6:
                fields["values"] = [rng.choice([math.nan, 1.0, 2.0, -4.0, math.inf
                                                if rng.random() < 0.05 else 8.0])
                                    for _ in ids]
        else:
            fields["components"] = self.options["dimension"]
            if rng.random() < 0.3 and self.reach < 1000:
                fields["coordinates_f32"] = [float32(value) for value in values]
            else:
                fields["coordinates"] = values
        if rng.random() < 0.6:
            fields["tags"] = [rng.randrange(8) for _ in ids]
        if rng.random() < 0.01:
            fields["times_us"] = fields["times_us"][1:]
        return "UpdateBatch", fields

    def update_tags(self):
        ids = self.pick(min(4, self.rows_max))
        return "UpdateTags", {"ids": ids, "times_us": [self.event_time() for _ in ids],
                              "set": [self.rng.randrange(8) for _ in ids],
                              "clear": [self.rng.randrange(8) for _ in ids]}

    def remove_objects(self):
        ids = self.pick(min(3, self.rows_max))
        return "RemoveObjects", {"ids": ids, "times_us": [self.event_time() for _ in ids]}

    def put_names(self):
        texts = [self.rng.choice(TEXTS) for _ in range(self.rng.randint(1, 2))]
        ids = [id_of_text(text) if self.rng.random() < 0.8 else self.rng.choice(self.ids) for text in texts]
        return "PutNames", {"ids": ids, "texts": texts}

    def put_stream(self):
        rng = self.rng
        return "PutStream", {"name": rng.choice(self.streams), "on": rng.choice([MEMBERSHIP, ORDER, DISTANCE,
                                                                                 DISTANCE]),
                             "with_distance": rng.random() < 0.8,
                             "with_position": self.options["space"] != "vector" and rng.random() < 0.5,
                             "with_tags": rng.random() < 0.5}

    def remove_stream(self):
        """Ticks by the clock are seen only in messages, so their first stream stays."""
        if not self.manual:
            return "RemoveStream", {"name": self.rng.choice([*self.streams[1:], "none"])}
        return "RemoveStream", {"name": self.rng.choice(self.streams)}

    def put_queries(self):
        rows = [self.query(self.rng.randint(1, 8)) for _ in range(self.rng.randint(1, min(3, self.rows_max)))]
        return "PutQueries", {"stream": self.rng.choice(self.streams), "queries": rows}

    def remove_queries(self):
        ids = [self.rng.randint(1, 9) for _ in range(self.rng.randint(1, 2))]
        return "RemoveQueries", {"stream": self.rng.choice(self.streams), "ids": ids}

    def advance(self):
        rng = self.rng
        if not self.manual:
            return "AdvanceTick", {"tau_us": self.now_us()}
        self.tau_us += rng.choice([0, 1, 500, 1000, 2500])
        early = rng.choice([1, 5000]) if rng.random() < 0.05 else 0
        return "AdvanceTick", {"tau_us": self.tau_us - early}

    def change(self):
        kinds = [(36, self.update), (8, self.update_tags), (6, self.remove_objects), (3, self.put_names),
                 (5, self.put_stream), (2, self.remove_stream), (12, self.put_queries),
                 (5, self.remove_queries), (18 if self.manual else 0.3, self.advance)]
        return self.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]()

    def read(self):
        rng = self.rng
        kind = rng.choices(["neighbors", "past", "objects", "snapshot", "streams", "queries", "names",
                            "stats", "rectangle"], [6, 1, 5, 6, 2, 2, 2, 0.5, 2])[0]
        if kind in ("neighbors", "past"):
            fields = {"questions": [{"k": rng.randint(1, self.k_max), **self.anchor(), **self.filters()}
                                    for _ in range(rng.randint(1, min(3, self.questions_max)))]}
            for question in fields["questions"]:
                for name in ("position", "vector"):
                    if name in question and not all(abs(value) < 1e11 for value in question[name]):
                        question[name] = [0.0] * len(question[name])
            if kind == "past":
                back_us = rng.choice([0, 1000, 5000]) if self.manual else rng.randrange(300_000)
                fields.update(has_at=True, at_us=self.now_us() - back_us)
            return "GetNeighbors", fields
        if kind == "objects":
            return "GetObjects", {"object_ids": self.pick(self.page_rows_max)}
        if kind == "rectangle" and self.options["space"] != "vector":
            return self.objects_everywhere()
        if kind == "snapshot":
            return self.snapshot(rng.choice(self.streams))
        if kind == "streams":
            return "ListStreams", {"page": 0}
        if kind == "queries":
            return "ListQueries", {"stream": rng.choice(self.streams), "page": 0}
        if kind == "names":
            return "GetNames", {"object_ids": [id_of_text(text) for text in TEXTS] + self.pick(2)}
        return "GetStats", {}

    @staticmethod
    def snapshot(stream):
        return "GetSnapshot", {"stream": stream, "page": 0}

    @staticmethod
    def objects_everywhere():
        return "GetObjects", {"rectangle": [-math.inf, -math.inf, math.inf, math.inf], "page": 0}
