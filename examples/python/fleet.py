# SPDX-License-Identifier: Apache-2.0
"""A fleet in process: taxis drive about Oslo for a minute, and each of three stands keeps the two
nearest free taxis. Prints each change of these lists."""

import numpy as np
import starling

OCCUPIED = 1  # the meaning of the tag bits is the program's own
SECOND = np.timedelta64(1, "s")

random = np.random.default_rng(1)
taxis = [f"taxi-{i}" for i in range(200)]
places = random.uniform([10.70, 59.90], [10.80, 59.94], size=(200, 2))  # longitude, latitude
stands = {"opera": (10.753, 59.907), "castle": (10.727, 59.917), "park": (10.702, 59.927)}

engine = starling.Engine("wgs84", object_ttl=np.timedelta64(1, "m"))
engine.put_stream("free taxis", on="membership")
engine.put_queries("free taxis", list(stands), k=2, at=list(stands.values()), tags_forbidden=OCCUPIED,
                   distance_max=2000)

now = np.datetime64("2026-01-01T12:00:00")
for step in range(60):
    places += random.normal(scale=2e-4, size=places.shape)
    engine.update(taxis, places, now, tags=random.random(200) < 0.3)
    for found in engine.tick(now).streams["free taxis"]:
        near = ", ".join(f"{taxi} in {metres:.0f} m" for taxi, metres in zip(found.texts, found.distances))
        print(f"{now} {engine.names.text_of(found.query)}: {near}")
    now += SECOND
