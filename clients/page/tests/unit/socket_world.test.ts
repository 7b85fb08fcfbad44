// SPDX-License-Identifier: Apache-2.0
// Speaks with SocketWorld as a server does, through a socket that is none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBuffer } from "flatbuffers";
import { Request } from "../../generated/starling/wire/request";
import { RequestBody } from "../../generated/starling/wire/request-body";
import { SocketBody } from "../../generated/starling/wire/socket-body";
import { SocketRequest } from "../../generated/starling/wire/socket-request";
import { View } from "../../generated/starling/wire/view";
import { identifierOf } from "../../src/world/messages";
import { SocketWorld } from "../../src/world/socket_world";
import type { Frame, ObjectFrame } from "../../src/world/types";
import { helloReplyBytes, viewTickBytes } from "./wire_messages";

class FakeSocket {
  static readonly OPEN = 1;
  readyState = 0;
  binaryType = "";
  sent: Uint8Array[] = [];
  onopen = () => {};
  onmessage = (_event: { data: ArrayBuffer }) => {};
  onclose = () => {};

  send(bytes: Uint8Array): void {
    this.sent.push(bytes);
  }

  close(): void {
    this.readyState = 3;
    this.onclose();
  }

  accept(): void {
    this.readyState = FakeSocket.OPEN;
    this.onopen();
  }

  say(bytes: Uint8Array): void {
    this.onmessage({ data: bytes.slice().buffer });
  }

  lastView(): { id: bigint; view: View } {
    const bytes = this.sent.at(-1) as Uint8Array;
    assert.equal(identifierOf(bytes), "STWS");
    const request = SocketRequest.getRootAsSocketRequest(new ByteBuffer(bytes));
    assert.equal(request.bodyType(), SocketBody.View);
    return { id: request.requestId(), view: request.body(new View()) as View };
  }
}

Object.assign(globalThis, { WebSocket: FakeSocket });

function open() {
  const sockets: FakeSocket[] = [];
  const events: string[] = [];
  const frames: Frame[] = [];
  const later: (() => void)[] = [];
  const world = new SocketWorld(
    () => {
      sockets.push(new FakeSocket());
      return sockets.at(-1) as unknown as WebSocket;
    },
    (act) => later.push(act),
  );
  world.open({
    onOpen: ({ space }) => events.push(`open ${space}`),
    onFrame: (frame) => frames.push(frame),
    onForget: () => events.push("forget"),
    onGone: (sentence) => events.push(sentence),
  });
  const last = () => sockets.at(-1) as FakeSocket;
  return { world, sockets, events, frames, last, later };
}

const rectangle = { xMin: 1, yMin: 2, xMax: 3, yMax: 4 };
const one = { slots: [0], ids: [5n], xy: [1, 2], tags: [0] };

test("it says hello, then asks for the view, and takes messages of that view alone", () => {
  const { world, events, frames, last } = open();
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
  const { world, sockets, events, last, later } = open();
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
  const { world, events, last } = open();
  world.setView(rectangle);
  last().accept();
  last().say(helloReplyBytes(1n));
  last().say(viewTickBytes({ view: last().lastView().id, tick: 2, left: [3] }));
  assert.equal(events.at(-1), "A message of the server cannot be used: slot 3 is not held");
  world.close();
});
