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
import { check } from "./checked";
import { HttpApi } from "./http_api";
import {
  errorOf,
  helloMessage,
  identifierOf,
  listQueriesMessage,
  readQueries,
  readReply,
  viewMessage,
} from "./messages";
import { faultOfToken, storageOfTab, TokenKeeper } from "./token";
import {
  Forbidden,
  ObjectTable,
  type Access,
  type NeighborList,
  type ObjectInfo,
  type Playback,
  type PlaybackChange,
  type Question,
  type Rectangle,
  type Road,
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
/** Longer messages are refused. A server sends some megabytes at most (bytesPerS). */
const MESSAGE_BYTES_MAX = 64 << 20;
/** The close code of the page: it hangs up, or cannot use a message. */
const CLOSED_BY_PAGE = 4000;
/** The server's close code for clients that break a rule, and for tokens that were revoked. */
const CLOSED_BY_RULE = 1008;

const GONE = "The server is gone. Trying again …";
const FULL = "The server answers, but it takes no further page (--http-views-max).";
const LOGGED_OUT = "You have logged out.";
const NEVER_LOGGED_IN = "Enter a token that the server's operator has given you.";

export interface SocketWorldParts {
  keeper?: TokenKeeper;
  /** The protocols are those of TokenKeeper. */
  makeSocket?: (protocols: string[]) => WebSocket;
  later?: (act: () => void, ms: number) => void;
}

type Waiting = { settle: (reply: Reply) => void; fail: (why: Error) => void };

export class SocketWorld implements World {
  readonly objects = new ObjectTable();
  readonly access: Access;
  private readonly api: HttpApi;
  private readonly keeper: TokenKeeper;
  private readonly makeSocket: (protocols: string[]) => WebSocket;
  private readonly later: (act: () => void, ms: number) => void;
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
  /** Counts connections and hang-ups. A change ends the wait for the next connection. */
  private attempt = 0;
  /** The server has refused the view, and would refuse it again. */
  private isViewForbidden = false;

  /** Tests give their own parts. */
  constructor(parts: SocketWorldParts = {}) {
    this.keeper = parts.keeper ?? new TokenKeeper(storageOfTab());
    this.makeSocket = parts.makeSocket ?? socketOfPage;
    this.later = parts.later ?? ((act, ms) => setTimeout(act, ms));
    const hasToken = this.keeper.token !== null;
    this.access = { hasKeys: hasToken, hasToken, worksWithoutToken: false };
    this.api = new HttpApi(this.keeper, (error) => {
      this.access.hasKeys = true;
      if (!(error instanceof Forbidden)) this.lock(error.message);
    });
  }

  open(listener: WorldListener): void {
    this.listener = listener;
    this.connect();
  }

  close(): void {
    this.listener = null;
    this.socket?.close();
  }

  async logIn(token: string | null): Promise<void> {
    const fault = token === null ? null : faultOfToken(token);
    if (fault) return this.lock(fault);
    this.hangUp("The page logs in anew.");
    this.setToken(token);
    this.api.begin();
    const { attempt } = this;
    // A browser does not say why a WebSocket was refused, so another request goes first.
    await this.api.probe();
    if (attempt !== this.attempt) return;
    this.retryMs = RETRY_MS_MIN;
    this.connect();
  }

  logOut(): void {
    this.lock(this.access.hasToken ? LOGGED_OUT : NEVER_LOGGED_IN);
  }

  private setToken(token: string | null): void {
    this.keeper.keep(token);
    this.access.hasToken = token !== null;
  }

  /** Ends the connection, and forgets what only this user may see. */
  private lock(sentence: string): void {
    this.hangUp(sentence);
    this.setToken(null);
    this.access.hasKeys = true;
    this.forget();
    this.listener?.onLocked(sentence);
  }

  /** Ends the connection, or the wait for one. */
  private hangUp(why: string): void {
    ++this.attempt;
    const { socket } = this;
    this.end(why);
    socket?.close(CLOSED_BY_PAGE);
  }

  private connect(): void {
    ++this.attempt;
    const socket = this.makeSocket(this.keeper.protocols());
    let wasOpen = false;
    let why = GONE;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      wasOpen = true;
      if (socket === this.socket) socket.send(helloMessage());
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      if (socket !== this.socket) return;
      try {
        check(data instanceof ArrayBuffer, "a message of text");
        check(data.byteLength <= MESSAGE_BYTES_MAX, `a message of ${data.byteLength} bytes`);
        this.receive(new Uint8Array(data));
      } catch (error) {
        const { message } = error as Error;
        const isForbidden = error instanceof Forbidden;
        why = isForbidden ? message : `A message of the server cannot be used: ${message}`;
        socket.close(CLOSED_BY_PAGE);
      }
    };
    socket.onclose = ({ code }: CloseEvent) => {
      if (socket === this.socket) void this.closed(wasOpen, code, why);
    };
    this.socket = socket;
  }

  /** Forgets the connection; its requests fail. */
  private end(why: string): void {
    this.socket = null;
    this.session = 0n;
    for (const { fail } of this.waiting.values()) fail(new Error(why));
    this.waiting.clear();
  }

  private async closed(wasOpen: boolean, code: number, why: string): Promise<void> {
    const { attempt } = this;
    this.end(why);
    this.listener?.onGone(why);
    if (!wasOpen || code === CLOSED_BY_RULE) {
      const answer = await this.api.probe();
      if (attempt !== this.attempt) return; // the server has refused the token
      if (answer && !wasOpen) this.listener?.onGone(answer.sentence ?? FULL);
    }
    this.later(() => {
      if (this.listener && attempt === this.attempt) this.connect();
    }, this.retryMs);
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
      const { rasterColumns, rasterRows } = VIEW;
      this.listener?.onFrame(readRaster(buffer, rasterColumns * rasterRows));
    } else {
      check(false, "a message of an unknown kind");
    }
  }

  private take(reply: Reply): void {
    const id = reply.requestId();
    const waiting = this.waiting.get(id);
    const error = errorOf(reply);
    if (error instanceof Forbidden) this.access.hasKeys = true;
    if (waiting) {
      this.waiting.delete(id);
      if (error) waiting.fail(error);
      else waiting.settle(reply);
    } else if (error instanceof Forbidden && this.session !== 0n && id === this.view) {
      this.isViewForbidden = true;
      this.listener?.onForbidden(error.message);
    } else if (error) {
      throw error;
    } else if (reply.bodyType() === ReplyBody.HelloReply) {
      check(this.session === 0n, "a second reply to Hello");
      this.greet(reply.body(new HelloReply()) as HelloReply);
    }
  }

  private greet(terms: HelloReply): void {
    const space = WireSpace[terms.space()] as Space | undefined;
    check(space !== undefined && terms.session() !== 0n, "no space, or the session 0");
    this.retryMs = RETRY_MS_MIN;
    this.silentReadings = 0;
    this.isViewForbidden = false;
    this.api.begin();
    if (!this.access.hasToken) this.access.worksWithoutToken = true;
    this.session = terms.session();
    this.space = space as Space;
    if (this.epoch !== null && this.epoch !== terms.epoch()) this.forget();
    this.epoch = terms.epoch();
    this.listener?.onOpen({ space: space as Space });
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
    if (this.isViewForbidden) return;
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
    return this.api.getNeighbors(question, this.space ?? "planar2");
  }

  object(idOrName: string): Promise<ObjectInfo | null> {
    return this.api.getObject(idOrName);
  }

  roads(): Promise<Road[]> {
    return this.api.getRoads();
  }

  playback(): Promise<Playback | null> {
    return this.api.getPlayback();
  }

  changePlayback(change: PlaybackChange): Promise<Playback> {
    return this.api.putPlayback(change);
  }

  async queries(): Promise<StandingQuery[]> {
    if (this.session === 0n || this.space === "vector") return [];
    const found: StandingQuery[] = [];
    for (const stream of (await this.api.getStreams()).slice(0, STREAMS_MAX)) {
      const rest = QUERIES_MAX - found.length;
      if (rest <= 0) break;
      const make = (id: bigint) => listQueriesMessage(id, this.session, stream, rest);
      const reply = await this.reply(make);
      check(reply.bodyType() === ReplyBody.Queries, "a reply of another type than was asked for");
      found.push(...readQueries(stream, reply.body(new Queries()) as Queries, rest));
    }
    return found;
  }

  async stats(): Promise<Map<string, number>> {
    try {
      const stats = await this.api.getStats();
      this.silentReadings = 0;
      return stats;
    } catch (error) {
      if (error instanceof Forbidden) this.silentReadings = 0;
      else if (++this.silentReadings >= SILENT_READINGS_MAX) this.socket?.close(CLOSED_BY_PAGE);
      throw error;
    }
  }
}

function socketOfPage(protocols: string[]): WebSocket {
  const address = new URL("v1/ws", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  return new WebSocket(address, protocols);
}
