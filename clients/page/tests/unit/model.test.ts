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

  async answer(tick: number): Promise<void> {
    this.answers.shift()?.({ tick, timeUs: tick * 1000, neighbors: [] });
    await new Promise((settle) => setImmediate(settle));
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
  assert.equal(model.lists.at(1e12), null);
  model.setK(3);
  await world.answer(2);
  assert.equal(model.lists.last?.list.tick, 2);
});

test("why not is asked again while the pointer rests and the objects move", async () => {
  const world = new FakeWorld({
    space: "planar2",
    count: 50,
    tickMs: 100,
    seed: 7,
    objectsMax: 1e6,
  });
  const model = new Model(world);
  model.start();
  model.select({ kind: "object", id: "1" });
  const far = (await world.neighbors({ ...model.asked()!, k: 49 })).neighbors[40].id;
  await model.hover(far);
  const before = model.whyNot?.distance;
  assert.ok(before);
  world.advance();
  model.refresh();
  await new Promise((settle) => setImmediate(settle));
  assert.notEqual(model.whyNot?.distance, before);
  world.close();
});
