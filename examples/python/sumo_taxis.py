# SPDX-License-Identifier: Apache-2.0
"""SUMO as the world: Starling dispatches the taxis of a SUMO simulation.

Every simulated second, the positions of all taxis go into an engine, and a tag says which taxis are free.
Each open reservation is a standing query for the nearest free taxis. The oldest reservation comes first. It
gets the nearest taxi of its list that no other reservation got in the same second. Prints a summary, and ends
with 1 if a passenger was not picked up. Needs SUMO (Debian: sumo and sumo-tools)."""

import argparse
import contextlib
import decimal
import io
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from typing import Iterator, Mapping
import xml.etree.ElementTree

import starling

os.environ.setdefault("SUMO_HOME", "/usr/share/sumo")  # Debian sets it in login shells only
sys.path.append(os.path.join(os.environ["SUMO_HOME"], "tools"))
try:
    import traci
    from traci.constants import INVALID_DOUBLE_VALUE, VAR_POSITION
except ImportError:
    sys.exit("SUMO's Python tools are not installed. On Debian: apt install sumo sumo-tools")

STREAM = "reservations"
FREE = 1  # the meaning of the tag bits is the program's own
EMPTY = 0  # for getTaxiFleet: taxis without a passenger and without an order
NEW = 1  # for getTaxiReservations: reservations that it has not returned before

Place = tuple[float, float]
Taxis = list[tuple[str, float]]  # (taxi, distance in metres), nearest first


def main() -> None:
    options = parse_options()
    for program in ("sumo", "netgenerate"):
        if shutil.which(program) is None:
            sys.exit(f"The program {program} is not installed. On Debian: apt install sumo sumo-tools")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_world(folder, options)
        with sumo(folder, options.seed), starling.Engine("planar2", threads=1) as engine:
            dispatcher = Dispatcher(engine, options.k, options.check)
            for _ in range(options.seconds):
                dispatcher.step()
    served, checked = len(dispatcher.pickups_m), dispatcher.lists_checked
    print(f"{options.seconds} s, {options.taxis} taxis, {options.reservations} reservations, "
          f"{served} served")
    if served:
        print(f"mean distance to the pick-up, as the crow flies: {sum(dispatcher.pickups_m) / served:.0f} m")
    if options.check:
        print(f"{checked} lists checked against SUMO's positions")
    if served < options.reservations:
        sys.exit(f"Not served within {options.seconds} s: {options.reservations - served} of "
                 f"{options.reservations} reservations. More taxis or more seconds may help.")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Starling dispatches the taxis of a SUMO simulation.")
    parser.add_argument("--seconds", type=int, default=600, help="simulated time (600)")
    parser.add_argument("--taxis", type=int, default=50, help="how many there are (50)")
    parser.add_argument("--reservations", type=int, default=100,
                        help="how many are made, in the first two thirds of the time (100)")
    parser.add_argument("--k", type=int, default=8, help="length of each list (8)")
    parser.add_argument("--seed", type=int, default=1, help="of places and times (1)")
    parser.add_argument("--check", action="store_true",
                        help="compare each list with a brute-force search of SUMO's positions")
    options = parser.parse_args()
    for name in ("seconds", "taxis", "reservations", "k"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    return options


def write_world(folder: pathlib.Path, options: argparse.Namespace) -> None:
    """Writes a grid of streets, the taxis, and the passengers, who appear at random places."""
    subprocess.run(["netgenerate", "--grid", "--grid.number=8", "--grid.length=150", "--output-file",
                    folder / "net.xml"], check=True, stdout=subprocess.DEVNULL)
    network = xml.etree.ElementTree.parse(folder / "net.xml")
    edges = [edge.attrib["id"] for edge in network.iter("edge") if edge.get("function") != "internal"]
    chance = random.Random(options.seed)
    taxis = [f"""
  <vehicle id="taxi-{number}" type="taxi" depart="0" departPos="random_free">
    <route edges="{chance.choice(edges)}"/>
  </vehicle>""" for number in range(options.taxis)]
    last_s = max(1, options.seconds * 2 // 3)
    departures_s = sorted(chance.randint(1, last_s) for _ in range(options.reservations))
    passengers = [f"""
  <person id="passenger-{number}" depart="{depart_s}" departPos="{chance.uniform(20, 110):.2f}">
    <ride from="{start}" to="{end}" lines="taxi" arrivalPos="{chance.uniform(20, 110):.2f}"/>
  </person>""" for number, depart_s in enumerate(departures_s) for start, end in [chance.sample(edges, 2)]]
    (folder / "routes.xml").write_text(f"""<routes>
  <vType id="taxi" vClass="taxi"><param key="has.taxi.device" value="true"/></vType>
{"".join(taxis + passengers)}
</routes>""")


@contextlib.contextmanager
def sumo(folder: pathlib.Path, seed: int) -> Iterator[None]:
    """Runs SUMO with steps of one second. Free taxis cruise."""
    with contextlib.redirect_stdout(io.StringIO()):  # TraCI prints each attempt to connect
        traci.start(["sumo", "--net-file", str(folder / "net.xml"),
                     "--route-files", str(folder / "routes.xml"), "--device.taxi.dispatch-algorithm",
                     "traci", "--device.taxi.idle-algorithm", "randomCircling", "--time-to-teleport", "-1",
                     "--seed", str(seed), "--no-step-log", "--no-warnings"], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        traci.close()


class Dispatcher:
    """Keeps the taxis and the open reservations in an engine, and the lists that it reported."""

    def __init__(self, engine: starling.Engine, k: int, is_checking: bool) -> None:
        self.pickups_m: list[float] = []  # distance at the dispatch, for each passenger picked up
        self.lists_checked = 0
        self._engine = engine
        self._k = k
        self._is_checking = is_checking
        self._passengers: dict[str, str] = {}  # by open reservation, oldest first
        self._lists: dict[str, Taxis] = {}  # by open reservation
        self._awaited: dict[str, tuple[str, float]] = {}  # by passenger: dispatched taxi and distance
        self._on_road: set[str] = set()  # the taxis in the engine
        engine.put_stream(STREAM, on="distance")

    def step(self) -> None:
        """Simulates a second, and dispatches taxis to the open reservations."""
        traci.simulationStep()
        self._note_pickups()
        self._update_lists()
        if self._is_checking and self._lists:
            self._check_lists()
        self._dispatch()

    def _note_pickups(self) -> None:
        for passenger, (taxi, distance_m) in list(self._awaited.items()):
            vehicle = traci.person.getVehicle(passenger)
            if vehicle == taxi:
                self.pickups_m.append(distance_m)
                del self._awaited[passenger]
            elif vehicle:
                sys.exit(f"{passenger} is in {vehicle}, although {taxi} was dispatched.")

    def _update_lists(self) -> None:
        now_us = round(traci.simulation.getTime() * 1e6)
        self._update_taxis(now_us)
        reservations = traci.person.getTaxiReservations(NEW)
        if reservations:
            self._passengers.update((each.id, each.persons[0]) for each in reservations)
            demand_all_rows(self._engine.put_queries(
                STREAM, [each.id for each in reservations], self._k, tags_required=FREE,
                at=[traci.person.getPosition(each.persons[0]) for each in reservations]))
        for found in self._engine.tick(now_us).streams[STREAM]:
            if not found.is_removed:
                assert found.distances is not None  # the stream reports them
                taxis = list(zip(found.texts.tolist(), found.distances.tolist()))
                self._lists[self._engine.names.text_of(found.query)] = taxis

    def _update_taxis(self, now_us: int) -> None:
        for taxi in traci.simulation.getDepartedIDList():
            traci.vehicle.subscribe(taxi, [VAR_POSITION])
        rows = traci.vehicle.getAllSubscriptionResults()
        places = {taxi: row[VAR_POSITION] for taxi, row in rows.items() if is_on_road(row[VAR_POSITION])}
        free = set(traci.vehicle.getTaxiFleet(EMPTY))
        if places:
            tags = [FREE if taxi in free else 0 for taxi in places]
            demand_all_rows(self._engine.update(list(places), list(places.values()), now_us, tags))
        gone = list(self._on_road - places.keys())
        if gone:
            demand_all_rows(self._engine.remove(gone, now_us))
        self._on_road = set(places)

    def _check_lists(self) -> None:
        """Ends the program if a list differs from that of a brute-force search."""
        places = {taxi: traci.vehicle.getPosition(taxi) for taxi in traci.vehicle.getTaxiFleet(EMPTY)}
        free = {taxi: place for taxi, place in places.items() if is_on_road(place)}
        for reservation, found in self._lists.items():
            place = traci.person.getPosition(self._passengers[reservation])
            expected = nearest(place, free, self._k)
            if found != expected:
                sys.exit(f"At {traci.simulation.getTime():.0f} s, the list of reservation {reservation} is "
                         f"{found}. By SUMO's positions, it is {expected}.")
            self.lists_checked += 1

    def _dispatch(self) -> None:
        taken: set[str] = set()
        for reservation, passenger in list(self._passengers.items()):
            for taxi, distance_m in self._lists[reservation]:
                if taxi not in taken:
                    traci.vehicle.dispatchTaxi(taxi, [reservation])
                    taken.add(taxi)
                    self._awaited[passenger] = (taxi, distance_m)
                    self._engine.remove_queries(STREAM, [reservation])
                    del self._passengers[reservation], self._lists[reservation]
                    break


def is_on_road(place: Place) -> bool:
    """Returns False for the place of a vehicle that SUMO has taken off the road for some seconds."""
    return bool(place[0] != INVALID_DOUBLE_VALUE)


def demand_all_rows(batch: starling.Batch) -> None:
    """Ends the program if the engine did not accept a row."""
    if batch.late or batch.rejected:
        sys.exit(f"{batch.late} rows were late and {batch.rejected} were rejected: {batch.reasons()}.")


def nearest(place: Place, places: Mapping[str, Place], k: int) -> Taxis:
    """Returns the k nearest taxis. Positions are rounded to 1 cm. The order is by exact squared distance, and
    then by id."""
    x, y = to_centimetres(place)
    ranked = []
    for taxi, where in places.items():
        taxi_x, taxi_y = to_centimetres(where)
        ranked.append(((taxi_x - x) ** 2 + (taxi_y - y) ** 2, starling.text_id(taxi), taxi))
    return [(taxi, math.sqrt(distance_sq) * 0.01) for distance_sq, _, taxi in sorted(ranked)[:k]]


def to_centimetres(place: Place) -> list[int]:
    """Rounds to the nearest whole number, and halves away from zero."""
    return [int(decimal.Decimal(metres / 0.01).to_integral_value(decimal.ROUND_HALF_UP)) for metres in place]


if __name__ == "__main__":
    main()
