# SPDX-License-Identifier: Apache-2.0
# Taxi 12 of three taxis moves between two ticks, as in examples/tick.cpp. Each tick prints the lists that it
# changed.
import starling

engine = starling.Engine("wgs84")
engine.put_stream("riders")
engine.put_queries("riders", ids=1, k=2, at=(10.753, 59.907))
engine.update([11, 12, 13], [[10.75, 59.91], [10.76, 59.92], [10.74, 59.90]])
for longitude in (10.753, 10.754):
    for found in engine.tick().streams["riders"]:
        near = zip(found.ids, found.distances)
        print(f"rider {found.query}:" + "".join(f"  taxi {taxi} in {metres:g} m" for taxi, metres in near))
    engine.update(12, (longitude, 59.907))
