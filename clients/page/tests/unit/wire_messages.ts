// SPDX-License-Identifier: Apache-2.0
// Builds messages of a server, for tests.
import { Builder, ByteBuffer } from "flatbuffers";
import { Error as WireError } from "../../generated/starling/wire/error";
import { ErrorCode } from "../../generated/starling/wire/error-code";
import { HelloReply } from "../../generated/starling/wire/hello-reply";
import { Rectangle } from "../../generated/starling/wire/rectangle";
import { Reply } from "../../generated/starling/wire/reply";
import { ReplyBody } from "../../generated/starling/wire/reply-body";
import { Space } from "../../generated/starling/wire/space";
import { ViewRaster } from "../../generated/starling/wire/view-raster";
import { ViewTick } from "../../generated/starling/wire/view-tick";

export interface TickParts {
  view?: bigint;
  tick: number;
  isWhole?: boolean;
  left?: number[];
  entered?: { slots: number[]; ids: bigint[]; xy: number[]; tags: number[]; names?: string[] };
  moved?: { slots: number[]; xy: number[] };
  tagged?: { slots: number[]; tags: number[] };
}

function idVector(builder: Builder, ids: bigint[]): number {
  builder.startVector(8, ids.length, 8);
  for (const id of [...ids].reverse()) builder.addInt64(id);
  return builder.endVector();
}

export function viewTickBytes(parts: TickParts): Uint8Array {
  const builder = new Builder(1024);
  const { left, entered, moved, tagged } = parts;
  const names = entered?.names?.map((name) => builder.createString(name));
  const fields = {
    left: left && ViewTick.createLeftVector(builder, left),
    entered: entered && ViewTick.createEnteredVector(builder, entered.slots),
    ids: entered && idVector(builder, entered.ids),
    enteredXy: entered && ViewTick.createEnteredXyVector(builder, entered.xy),
    enteredTags: entered && ViewTick.createEnteredTagsVector(builder, entered.tags),
    names: names && ViewTick.createEnteredNamesVector(builder, names),
    moved: moved && ViewTick.createMovedVector(builder, moved.slots),
    movedXy: moved && ViewTick.createMovedXyVector(builder, moved.xy),
    tagged: tagged && ViewTick.createTaggedVector(builder, tagged.slots),
    tags: tagged && ViewTick.createTagsVector(builder, tagged.tags),
  };
  ViewTick.startViewTick(builder);
  ViewTick.addView(builder, parts.view ?? 1n);
  ViewTick.addTick(builder, BigInt(parts.tick));
  ViewTick.addRectangle(builder, Rectangle.createRectangle(builder, 0, 0, 100, 100));
  ViewTick.addIsWhole(builder, parts.isWhole ?? false);
  if (fields.left) ViewTick.addLeft(builder, fields.left);
  if (fields.entered) ViewTick.addEntered(builder, fields.entered);
  if (fields.ids) ViewTick.addEnteredIds(builder, fields.ids);
  if (fields.enteredXy) ViewTick.addEnteredXy(builder, fields.enteredXy);
  if (fields.enteredTags) ViewTick.addEnteredTags(builder, fields.enteredTags);
  if (fields.names) ViewTick.addEnteredNames(builder, fields.names);
  if (fields.moved) ViewTick.addMoved(builder, fields.moved);
  if (fields.movedXy) ViewTick.addMovedXy(builder, fields.movedXy);
  if (fields.tagged) ViewTick.addTagged(builder, fields.tagged);
  if (fields.tags) ViewTick.addTags(builder, fields.tags);
  builder.finish(ViewTick.endViewTick(builder), "STVT");
  return builder.asUint8Array().slice();
}

export function viewTick(parts: TickParts): ViewTick {
  return ViewTick.getRootAsViewTick(new ByteBuffer(viewTickBytes(parts)));
}

export function viewRaster(columns: number, rows: number, counts: number[]): ByteBuffer {
  const builder = new Builder(1024);
  const vector = ViewRaster.createCountsVector(builder, counts);
  ViewRaster.startViewRaster(builder);
  ViewRaster.addRectangle(builder, Rectangle.createRectangle(builder, 0, 0, 100, 100));
  ViewRaster.addColumns(builder, columns);
  ViewRaster.addRows(builder, rows);
  ViewRaster.addCounts(builder, vector);
  builder.finish(ViewRaster.endViewRaster(builder), "STVR");
  return new ByteBuffer(builder.asUint8Array().slice());
}

export function helloReplyBytes(epoch: bigint): Uint8Array {
  const builder = new Builder(1024);
  HelloReply.startHelloReply(builder);
  HelloReply.addSession(builder, 77n);
  HelloReply.addEpoch(builder, epoch);
  HelloReply.addSpace(builder, Space.wgs84);
  const body = HelloReply.endHelloReply(builder);
  Reply.startReply(builder);
  Reply.addVersion(builder, 1);
  Reply.addBodyType(builder, ReplyBody.HelloReply);
  Reply.addBody(builder, body);
  builder.finish(Reply.endReply(builder), "STRP");
  return builder.asUint8Array().slice();
}

/** A refusal for lack of a role. */
export function notAllowedBytes(requestId: bigint, sentence: string): Uint8Array {
  const builder = new Builder(1024);
  const text = builder.createString(sentence);
  WireError.startError(builder);
  WireError.addCode(builder, ErrorCode.not_allowed);
  WireError.addSentence(builder, text);
  const body = WireError.endError(builder);
  Reply.startReply(builder);
  Reply.addVersion(builder, 1);
  Reply.addRequestId(builder, requestId);
  Reply.addBodyType(builder, ReplyBody.Error);
  Reply.addBody(builder, body);
  builder.finish(Reply.endReply(builder), "STRP");
  return builder.asUint8Array().slice();
}
