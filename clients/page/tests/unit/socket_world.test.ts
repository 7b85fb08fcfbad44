// SPDX-License-Identifier: Apache-2.0
// Speaks with SocketWorld as a server does, through a FakeSocket.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBuffer } from "flatbuffers";
import { Request } from "../../generated/starling/wire/request";
import { RequestBody } from "../../generated/starling/wire/request-body";
import type { ObjectFrame } from "../../src/world/types";
import { openWorld } from "./fake_socket";
import { helloReplyBytes, viewTickBytes } from "./wire_messages";

const rectangle = { xMin: 1, yMin: 2, xMax: 3, yMax: 4 };
const one = { slots: [0], ids: [5n], xy: [1, 2], tags: [0] };

test("it says hello, then asks for the view, and takes messages of that view alone", () => {
  const { world, events, frames, last } = openWorld();
  world.setView(rectangle);
  last().accept();
  const hello = Request.getRootAsRequest(new ByteBuffer(last().sent[0]));
  assert.equal(hello.bodyType(), RequestBody.Hello);
  last().say(helloReplyBytes(1n));
  assert.deepEqual(events, ["open wgs84"]);
  const { id, view } = last().lastView();
  assert.equal(view.rectangle()?.xMax(), 3);
  last().say(viewTickBytes({ view: id + 9n, tick: 1, isWhole: true, entered: one }));
  assert.equal(frames.length, 0);
  last().say(viewTickBytes({ view: id, tick: 2, isWhole: true, entered: one }));
  assert.equal(world.objects.id((frames[0] as ObjectFrame).objects[0]), "5");
  world.close();
});

test("it connects again when the server is gone, and forgets another run's objects", () => {
  const { world, sockets, events, last, later } = openWorld();
  world.setView(rectangle);
  last().accept();
  last().say(helloReplyBytes(1n));
  last().say(viewTickBytes({ view: last().lastView().id, tick: 2, isWhole: true, entered: one }));
  last().close();
  assert.equal(events.at(-1), "The server is gone. Trying again …");
  later.pop()?.();
  assert.equal(sockets.length, 2);
  last().accept();
  last().say(helloReplyBytes(2n));
  assert.deepEqual(events.slice(2), ["forget", "open wgs84"]);
  assert.equal(world.objects.count, 0);
  assert.equal(last().lastView().view.rectangle()?.yMin(), 2);
  world.close();
});

test("a message that cannot be used closes the connection with a sentence", () => {
  const { world, events, last } = openWorld();
  world.setView(rectangle);
  last().accept();
  last().say(helloReplyBytes(1n));
  last().say(viewTickBytes({ view: last().lastView().id, tick: 2, left: [3] }));
  assert.equal(events.at(-1), "A message of the server cannot be used: slot 3 is not held");
  world.close();
});
