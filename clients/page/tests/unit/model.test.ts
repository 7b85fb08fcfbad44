// SPDX-License-Identifier: Apache-2.0
// When the model asks its world, and which answers it keeps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeWorld } from "../../src/dev/fake_world";
import { Model } from "../../src/model/model";
import {
  NO_FILTER,
  type NeighborList,
  type Question,
  type WorldListener,
} from "../../src/world/types";

/** Answers a question when the test says so. */
class SlowWorld extends FakeWorld {
  told: WorldListener | null = null;
  asked: Question[] = [];
  private answers: ((list: NeighborList) => void)[] = [];

  constructor() {
    super({ space: "wgs84", count: 20, tickMs: 100, seed: 7, objectsMax: 1e6 });
  }

  override open(listener: WorldListener): void {
    this.told = listener;
  }

  override neighbors(question: Question): Promise<NeighborList> {
    this.asked.push(question);
    return new Promise((settle) => this.answers.push(settle));
  }

  async answer(tick: number, ids: string[] = []): Promise<void> {
    const neighbors = ids.map((id, i) => ({ id, name: null, distance: i }));
    this.answers.shift()?.({ tick, timeUs: tick * 1000, neighbors });
    await new Promise((settle) => setImmediate(settle));
  }

  send(tick: number): void {
    this.told?.onFrame({ ...this.frame(), tick, timeUs: tick * 1000 });
  }
}

const place = { kind: "place", x: 5, y: 55 } as const;

test("the model asks nothing before the server has told its space", () => {
  const world = new SlowWorld();
  const model = new Model(world);
  model.select(place);
  model.start();
  assert.equal(world.asked.length, 0);
  world.told?.onOpen({ space: "wgs84" });
  assert.deepEqual(world.asked, [{ anchor: place, k: model.k, filter: NO_FILTER }]);
});

test("a server of vectors is not asked for a link's place", () => {
  const world = new SlowWorld();
  const model = new Model(world);
  model.select(place);
  model.start();
  world.told?.onOpen({ space: "vector" });
  assert.equal(model.anchor, null);
  assert.equal(world.asked.length, 0);
});

test("an answer of the server's run before is not shown", async () => {
  const world = new SlowWorld();
  const model = new Model(world);
  model.start();
  world.told?.onOpen({ space: "wgs84" });
  model.select(place);
  world.told?.onForget();
  await world.answer(900);
  assert.equal(model.shownList(), null);
  model.setK(3);
  await world.answer(2);
  assert.equal(model.shownList()?.list.tick, 2);
});

/** A model that has asked for the neighbours of object 1, and a clock that the test moves. */
function follow(): { world: SlowWorld; model: Model; clock: { ms: number } } {
  const world = new SlowWorld();
  const clock = { ms: 0 };
  const model = new Model(world, () => clock.ms);
  model.start();
  world.told?.onOpen({ space: "wgs84" });
  model.select({ kind: "object", id: "1" });
  return { world, model, clock };
}

function shownTicks(model: Model): (number | undefined)[] {
  return [model.shownFrame()?.tick, model.shownList()?.list.tick];
}

test("the map and the list are of one tick while answers are late and early", async () => {
  const { world, model, clock } = follow();
  for (const tick of [1, 2, 3]) world.send(tick);
  assert.deepEqual(shownTicks(model), [3, undefined]);
  await world.answer(2);
  assert.deepEqual(shownTicks(model), [2, 2], "an answer that is late has its frame");
  clock.ms += 200;
  world.send(4);
  await world.answer(5);
  assert.deepEqual(shownTicks(model), [2, 2], "the frame of tick 5 has not come");
  world.send(5);
  assert.deepEqual(shownTicks(model), [5, 5]);
  clock.ms += 200;
  world.send(6);
  world.send(7);
  await world.answer(4);
  assert.deepEqual(shownTicks(model), [5, 5], "an older answer changes nothing");
});

test("the map goes on where frames and lists are never of one tick", async () => {
  const { world, model, clock } = follow();
  world.send(1);
  await world.answer(1);
  for (let tick = 2; tick < 40; tick += 2) {
    clock.ms += 200;
    world.send(tick);
    await world.answer(tick + 1);
    const [frame, list] = shownTicks(model);
    assert.equal(frame, list);
    assert.equal(model.shownList()?.isApproximate, frame !== 1);
  }
  assert.ok((model.shownFrame()?.tick ?? 0) > 35);
  clock.ms += 200;
  world.send(40);
  await world.answer(40);
  assert.deepEqual(shownTicks(model), [40, 40]);
  assert.equal(model.shownList()?.isApproximate, false);
});

test("lists go on, and are apart from the map, where frames cease to come", async () => {
  const { world, model, clock } = follow();
  world.send(1);
  await world.answer(1);
  for (let tick = 2; tick < 10; ++tick) {
    clock.ms += 1000;
    model.refresh();
    await world.answer(tick);
  }
  assert.deepEqual(shownTicks(model), [1, 9]);
  assert.ok(model.shownList()?.isApart);
});

test("a past moment never has the list of another", async () => {
  const { world, model, clock } = follow();
  world.send(1);
  await world.answer(1, ["7"]);
  clock.ms += 100;
  world.send(2);
  model.pause(2000);
  assert.deepEqual(shownTicks(model), [2, 2]);
  assert.ok(model.shownList()?.isApproximate);
  model.pause(1000);
  assert.deepEqual(model.shownList()?.list.neighbors[0].id, "7");
  assert.ok(!model.shownList()?.isApproximate);
});

test("why not is of the tick of the list", async () => {
  const { world, model, clock } = follow();
  const ids = Array.from({ length: 12 }, (_, i) => String(i + 2));
  world.send(1);
  await world.answer(1, ids);
  void model.hover("10");
  assert.equal(world.asked.at(-1)?.k, 1024);
  await world.answer(1, ids);
  assert.deepEqual([model.whyNot?.rank, model.whyNot?.distance], [9, 8]);
  assert.equal(model.shownList()?.list.neighbors.length, model.k);
  clock.ms += 300;
  world.send(2);
  await world.answer(3, ids.reverse());
  assert.equal(model.whyNot?.rank, 9, "the frame of tick 3 has not come");
  world.send(3);
  await new Promise((settle) => setImmediate(settle));
  assert.deepEqual([model.whyNot, model.shownList()?.list.neighbors[3].id], [null, "10"]);
});
