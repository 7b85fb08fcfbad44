// SPDX-License-Identifier: Apache-2.0
// The server that the page came from: positions over its WebSocket, questions over its JSON API. It
// connects again by itself when the server is gone.
import { ByteBuffer } from "flatbuffers";
import { HelloReply } from "../../generated/starling/wire/hello-reply";
import { Queries } from "../../generated/starling/wire/queries";
import type { Reply } from "../../generated/starling/wire/reply";
import { ReplyBody } from "../../generated/starling/wire/reply-body";
import { Space as WireSpace } from "../../generated/starling/wire/space";
import { ViewRaster } from "../../generated/starling/wire/view-raster";
import { ViewTick } from "../../generated/starling/wire/view-tick";
import {
  getNeighbors,
  getObject,
  getPlayback,
  getRoads,
  getStats,
  getStreams,
  isAnswering,
  putPlayback,
} from "./http_api";
import {
  errorOf,
  helloMessage,
  identifierOf,
  listQueriesMessage,
  readQueries,
  readReply,
  viewMessage,
} from "./messages";
import {
  ObjectTable,
  type NeighborList,
  type Question,
  type Rectangle,
  type Space,
  type StandingQuery,
  type World,
  type WorldListener,
} from "./types";
import { readRaster, ViewState } from "./view_state";

const VIEW = {
  ticksPerS: 20,
  bytesPerS: 8_000_000,
  objectsMax: 120_000,
  rasterColumns: 320,
  rasterRows: 200,
};
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 5000;
const REPLY_TIMEOUT_MS = 5000;
/** Readings of /v1/stats that fail one after another until the connection counts as lost. */
const SILENT_READINGS_MAX = 3;
/** Objects that the page remembers; beyond that it forgets all and begins anew. */
const OBJECTS_MAX = 2_000_000;
const QUERIES_MAX = 1000;
const STREAMS_MAX = 20;
/** A close code for messages that cannot be read. */
const CLOSED_BY_PAGE = 4000;

const GONE = "The server is gone. Trying again …";
const FULL = "The server answers, but it takes no further page (--http-views-max).";

type Waiting = { settle: (reply: Reply) => void; fail: (why: Error) => void };

export class SocketWorld implements World {
  readonly objects = new ObjectTable();
  readonly object = getObject;
  readonly playback = getPlayback;
  readonly changePlayback = putPlayback;
  readonly roads = getRoads;
  private readonly state = new ViewState(this.objects);
  private readonly waiting = new Map<bigint, Waiting>();
  private listener: WorldListener | null = null;
  private socket: WebSocket | null = null;
  private space: Space | null = null;
  private session = 0n;
  private epoch: bigint | null = null;
  private rectangle: Rectangle | null = null;
  private view = 0n;
  private requestId = 0n;
  private retryMs = RETRY_MS_MIN;
  private silentReadings = 0;

  /** Tests give their own socket and their own clock. */
  constructor(
    private readonly makeSocket: () => WebSocket = socketOfPage,
    private readonly later: (act: () => void, ms: number) => void = (act, ms) =>
      setTimeout(act, ms),
  ) {}

  open(listener: WorldListener): void {
    this.listener = listener;
    this.connect();
  }

  close(): void {
    this.listener = null;
    this.socket?.close();
  }

  private connect(): void {
    const socket = this.makeSocket();
    let wasOpen = false;
    let why = GONE;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      wasOpen = true;
      socket.send(helloMessage());
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      try {
        this.receive(new Uint8Array(data));
      } catch (error) {
        why = `A message of the server cannot be used: ${(error as Error).message}`;
        socket.close(CLOSED_BY_PAGE);
      }
    };
    socket.onclose = () => void this.closed(wasOpen, why);
    this.socket = socket;
  }

  private async closed(wasOpen: boolean, why: string): Promise<void> {
    this.socket = null;
    this.session = 0n;
    for (const { fail } of this.waiting.values()) fail(new Error(why));
    this.waiting.clear();
    this.listener?.onGone(why);
    if (!wasOpen && (await isAnswering())) this.listener?.onGone(FULL);
    this.later(() => this.listener && this.connect(), this.retryMs);
    this.retryMs = Math.min(RETRY_MS_MAX, 2 * this.retryMs);
  }

  private receive(bytes: Uint8Array): void {
    const kind = identifierOf(bytes);
    if (kind === "STRP") return this.take(readReply(bytes));
    const buffer = new ByteBuffer(bytes);
    if (kind === "STVT") {
      const message = ViewTick.getRootAsViewTick(buffer);
      if (message.view() !== this.view) return;
      this.listener?.onFrame(this.state.apply(message));
      if (this.objects.count > OBJECTS_MAX) this.forget();
    } else if (kind === "STVR") {
      if (ViewRaster.getRootAsViewRaster(buffer).view() !== this.view) return;
      this.listener?.onFrame(readRaster(buffer));
    }
  }

  private take(reply: Reply): void {
    const waiting = this.waiting.get(reply.requestId());
    const sentence = errorOf(reply);
    if (waiting) {
      this.waiting.delete(reply.requestId());
      if (sentence) waiting.fail(new Error(sentence));
      else waiting.settle(reply);
    } else if (sentence) {
      throw new Error(sentence);
    } else if (reply.bodyType() === ReplyBody.HelloReply) {
      this.greet(reply.body(new HelloReply()) as HelloReply);
    }
  }

  private greet(terms: HelloReply): void {
    this.retryMs = RETRY_MS_MIN;
    this.silentReadings = 0;
    this.session = terms.session();
    this.space = WireSpace[terms.space()] as Space;
    if (this.epoch !== null && this.epoch !== terms.epoch()) this.forget();
    this.epoch = terms.epoch();
    this.listener?.onOpen({ space: this.space });
    this.sendView();
  }

  private forget(): void {
    this.objects.clear();
    this.state.clear();
    this.listener?.onForget();
    this.sendView();
  }

  setView(rectangle: Rectangle): void {
    this.rectangle = rectangle;
    this.sendView();
  }

  private sendView(): void {
    if (!this.rectangle || this.session === 0n || this.space === "vector") return;
    this.view = ++this.requestId;
    this.send(viewMessage(this.view, { rectangle: this.rectangle, ...VIEW }));
  }

  private send(message: Uint8Array<ArrayBuffer>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(message);
  }

  private reply(make: (requestId: bigint) => Uint8Array<ArrayBuffer>): Promise<Reply> {
    const id = ++this.requestId;
    return new Promise((settle, fail) => {
      this.waiting.set(id, { settle, fail });
      this.later(() => {
        if (this.waiting.delete(id)) fail(new Error("The server did not answer in time."));
      }, REPLY_TIMEOUT_MS);
      this.send(make(id));
    });
  }

  neighbors(question: Question): Promise<NeighborList> {
    return getNeighbors(question, this.space ?? "planar2");
  }

  async queries(): Promise<StandingQuery[]> {
    if (this.session === 0n || this.space === "vector") return [];
    const found: StandingQuery[] = [];
    for (const stream of (await getStreams()).slice(0, STREAMS_MAX)) {
      const rest = QUERIES_MAX - found.length;
      if (rest <= 0) break;
      const make = (id: bigint) => listQueriesMessage(id, this.session, stream, rest);
      const page = (await this.reply(make)).body(new Queries()) as Queries;
      found.push(...readQueries(stream, page));
    }
    return found;
  }

  async stats(): Promise<Map<string, number>> {
    try {
      const stats = await getStats();
      this.silentReadings = 0;
      return stats;
    } catch (error) {
      if (++this.silentReadings >= SILENT_READINGS_MAX) this.socket?.close(CLOSED_BY_PAGE);
      throw error;
    }
  }
}

function socketOfPage(): WebSocket {
  const address = new URL("v1/ws", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  return new WebSocket(address);
}
