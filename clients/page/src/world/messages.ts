// SPDX-License-Identifier: Apache-2.0
// The messages that the page sends over its WebSocket, and how it reads replies. protocol/README.md
// describes them.
import { Builder, ByteBuffer, type Offset } from "flatbuffers";
import { AnchorKind } from "../../generated/starling/wire/anchor-kind";
import { Error as WireError } from "../../generated/starling/wire/error";
import { ErrorCode } from "../../generated/starling/wire/error-code";
import { Hello } from "../../generated/starling/wire/hello";
import { ListQueries } from "../../generated/starling/wire/list-queries";
import type { Queries } from "../../generated/starling/wire/queries";
import { Rectangle as WireRectangle } from "../../generated/starling/wire/rectangle";
import { Reply } from "../../generated/starling/wire/reply";
import { ReplyBody } from "../../generated/starling/wire/reply-body";
import { Request } from "../../generated/starling/wire/request";
import { RequestBody } from "../../generated/starling/wire/request-body";
import { SocketBody } from "../../generated/starling/wire/socket-body";
import { SocketRequest } from "../../generated/starling/wire/socket-request";
import type { Vec3 } from "../../generated/starling/wire/vec3";
import { View } from "../../generated/starling/wire/view";
import { check, sentenceOf } from "./checked";
import { Forbidden, type Anchor, type Rectangle, type StandingQuery } from "./types";

const VERSION = 1;
const AGE_UNLIMITED_US = 9223372036854775807n;

export interface ViewTerms {
  rectangle: Rectangle;
  ticksPerS: number;
  bytesPerS: number;
  objectsMax: number;
  rasterColumns: number;
  rasterRows: number;
}

function finishRequest(
  builder: Builder,
  requestId: bigint,
  session: bigint,
  type: RequestBody,
  body: Offset,
): Uint8Array<ArrayBuffer> {
  Request.startRequest(builder);
  Request.addVersion(builder, VERSION);
  Request.addRequestId(builder, requestId);
  Request.addSession(builder, session);
  Request.addBodyType(builder, type);
  Request.addBody(builder, body);
  builder.finish(Request.endRequest(builder), "STRQ");
  return builder.asUint8Array().slice();
}

export function helloMessage(): Uint8Array<ArrayBuffer> {
  const builder = new Builder(256);
  const body = Hello.createHello(builder, builder.createString("page"), 0, 0n, 1n);
  return finishRequest(builder, 0n, 0n, RequestBody.Hello, body);
}

export function listQueriesMessage(
  requestId: bigint,
  session: bigint,
  stream: string,
  rowsMax: number,
): Uint8Array<ArrayBuffer> {
  const builder = new Builder(512);
  const name = builder.createString(stream);
  const body = ListQueries.createListQueries(builder, name, 0n, rowsMax);
  return finishRequest(builder, requestId, session, RequestBody.ListQueries, body);
}

export function viewMessage(requestId: bigint, terms: ViewTerms): Uint8Array<ArrayBuffer> {
  const builder = new Builder(256);
  const { xMin, yMin, xMax, yMax } = terms.rectangle;
  View.startView(builder);
  View.addRectangle(builder, WireRectangle.createRectangle(builder, xMin, yMin, xMax, yMax));
  View.addTicksPerS(builder, terms.ticksPerS);
  View.addBytesPerS(builder, BigInt(terms.bytesPerS));
  View.addObjectsMax(builder, terms.objectsMax);
  View.addRasterColumns(builder, terms.rasterColumns);
  View.addRasterRows(builder, terms.rasterRows);
  const view = View.endView(builder);
  const root = SocketRequest.createSocketRequest(
    builder,
    VERSION,
    requestId,
    SocketBody.View,
    view,
  );
  builder.finish(root, "STWS");
  return builder.asUint8Array().slice();
}

/** Returns a message's file identifier: bytes 4 to 7. */
export function identifierOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(4, 8));
}

/** Returns the error in a reply; null if it has another body. */
export function errorOf(reply: Reply): Error | null {
  if (reply.bodyType() !== ReplyBody.Error) return null;
  const error = reply.body(new WireError()) as WireError | null;
  const sentence = sentenceOf(error?.sentence(), "The server refused a request.");
  return error?.code() === ErrorCode.not_allowed ? new Forbidden(sentence) : new Error(sentence);
}

export function readReply(bytes: Uint8Array): Reply {
  const reply = Reply.getRootAsReply(new ByteBuffer(bytes));
  check(reply.version() === VERSION, "a reply of another protocol version");
  return reply;
}

function placeOf(position: Vec3 | null | undefined): Anchor {
  const [x, y, z] = [position?.x() ?? 0, position?.y() ?? 0, position?.z() ?? 0];
  return z ? { kind: "place", x, y, z } : { kind: "place", x, y };
}

/**
 * Returns the queries that have a place, or follow an object. Throws if there are more than
 * `countMax` queries.
 */
export function readQueries(stream: string, page: Queries, countMax: number): StandingQuery[] {
  const queries: StandingQuery[] = [];
  const count = page.queriesLength();
  check(count <= countMax, `${count} queries where at most ${countMax} were asked for`);
  for (let i = 0; i < count; ++i) {
    const query = page.queries(i);
    const position = query?.position();
    if (!query || query.anchor() === AnchorKind.every_object) continue;
    if (query.anchor() === AnchorKind.fixed && !position) continue;
    const ageMaxUs = query.ageMaxUs();
    queries.push({
      stream,
      id: query.id().toString(),
      question: {
        anchor:
          query.anchor() === AnchorKind.follow
            ? { kind: "object", id: query.object().toString() }
            : placeOf(position),
        k: query.k(),
        filter: {
          tagsRequired: query.tagsRequired(),
          tagsForbidden: query.tagsForbidden(),
          distanceMaxM: query.distanceMaxM(),
          ageMaxUs: ageMaxUs === AGE_UNLIMITED_US ? Infinity : Number(ageMaxUs),
        },
      },
    });
  }
  return queries;
}
