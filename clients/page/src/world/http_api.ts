// SPDX-License-Identifier: Apache-2.0
// The JSON API of docs/http.md, of the server that the page came from.
import { check, jsonOf, list, member, number, numberIfAny, sentenceOf, text, textIfAny } from "./checked";
import type { TokenKeeper } from "./token";
import {
  Forbidden,
  type NeighborList,
  type ObjectInfo,
  type Playback,
  type PlaybackChange,
  type Question,
  type Road,
  type Space,
} from "./types";

const PLAYBACK = "/v1/playback";
const TIMEOUT_MS = 5000;
/** Roads are some megabytes, and come once. */
const ROADS_TIMEOUT_MS = 60_000;

/** Status codes of the token gate. 429 means too many wrong tokens in a short time. */
const TOKEN_REFUSED = [401, 429];
const NOT_FOUND = 404;
const FORBIDDEN = 403;

/** An answer of the server that is an error; the message is its sentence. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    sentence: string,
    readonly problem: ProblemBody = {},
  ) {
    super(sentence);
  }
}

interface ProblemBody {
  detail?: string;
  code?: string;
  /** Tick that lacks the object of the question. */
  tick?: number;
  time_us?: number;
}

async function problemOf(answer: Response): Promise<HttpError | Forbidden> {
  const problem = ((await jsonOf(answer).catch(() => null)) ?? {}) as ProblemBody;
  const sentence = sentenceOf(problem.detail, `the server answered ${answer.status}`);
  // Pages of foreign origins get this status too; a token does not help them.
  const isForbidden = answer.status === FORBIDDEN && problem.code === "not_allowed";
  return isForbidden ? new Forbidden(sentence) : new HttpError(answer.status, sentence, problem);
}

/** Returns the method and the first parts of the path; all objects share one route. */
function routeOf(path: string, request: RequestInit): string {
  return `${request.method ?? "GET"} ${path.split(/[/?]/, 3).join("/")}`;
}

interface NeighborsBody {
  tick: number;
  time_us: number;
  neighbors: unknown[];
}

function neighborsOf(body: unknown, k: number): NeighborsBody {
  const neighbors = list(body, "neighbors");
  check(neighbors.length <= k, `${neighbors.length} neighbours where ${k} were asked for`);
  return { tick: number(body, "tick"), time_us: number(body, "time_us"), neighbors };
}

const distanceOf = (row: unknown): number =>
  numberIfAny(row, "distance_m") ?? numberIfAny(row, "distance") ?? NaN;

/** The list of an object that the tick does not have is empty. */
function emptyIfUnknown(error: unknown): NeighborsBody {
  if (!(error instanceof HttpError) || error.problem.code !== "unknown_object") throw error;
  const tick = numberIfAny(error.problem, "tick") ?? 0;
  return { tick, time_us: numberIfAny(error.problem, "time_us") ?? 0, neighbors: [] };
}

/** The path and parameters of /v1/neighbors; also what "copy as curl" shows. */
export function neighborsPath({ anchor, k, filter }: Question, space: Space): string {
  const parameters = new URLSearchParams({ k: String(k) });
  if (anchor.kind === "object") {
    parameters.set("object", anchor.id);
  } else {
    const [x, y, z] = space === "wgs84" ? ["lon", "lat", "alt"] : ["x", "y", "z"];
    parameters.set(x, String(anchor.x));
    parameters.set(y, String(anchor.y));
    // The server wants z in planar3, and refuses it in planar2.
    if (space === "planar3" || (space === "wgs84" && anchor.z))
      parameters.set(z, String(anchor.z ?? 0));
  }
  if (filter.tagsRequired) parameters.set("tags_required", String(filter.tagsRequired));
  if (filter.tagsForbidden) parameters.set("tags_forbidden", String(filter.tagsForbidden));
  if (filter.distanceMaxM < Infinity) parameters.set("distance_max_m", String(filter.distanceMaxM));
  if (filter.ageMaxUs < Infinity) parameters.set("age_max", `${filter.ageMaxUs}us`);
  return `/v1/neighbors?${parameters}`;
}

const playbackOf = (body: unknown): Playback => ({
  timeUs: number(body, "time_us"),
  beginUs: number(body, "begin_us"),
  endUs: number(body, "end_us"),
  speed: number(body, "speed"),
  paused: member(body, "paused") === true,
});

/** Asks the server, with the keeper's token. */
export class HttpApi {
  /** Refusals by route, kept until begin(). The refusal of the token gate has the empty route. */
  private readonly refusals = new Map<string, Error>();

  /** Calls `refused` for each 401, 429 and 403, unless the token has changed since the request. */
  constructor(
    private readonly keeper: TokenKeeper,
    private readonly refused: (error: HttpError | Forbidden) => void,
  ) {}

  /** Forgets all refusals, so that refused routes are asked again. */
  begin(): void {
    this.refusals.clear();
  }

  /**
   * Sends a request that every principal may send. Returns null if the server does not answer.
   * Otherwise `sentence` is the server's refusal, or null if it did not refuse.
   */
  async probe(): Promise<{ sentence: string | null } | null> {
    try {
      await this.getJson(PLAYBACK);
    } catch (error) {
      if (!(error instanceof HttpError || error instanceof Forbidden)) return null;
      const isMissing = error instanceof HttpError && error.status === NOT_FOUND;
      if (!isMissing) return { sentence: error.message };
    }
    return { sentence: null };
  }

  private getJson(path: string, timeoutMs = TIMEOUT_MS): Promise<unknown> {
    return this.askJson(path, { headers: { Accept: "application/json" } }, timeoutMs);
  }

  private async askJson(
    path: string,
    request: RequestInit,
    timeoutMs = TIMEOUT_MS,
  ): Promise<unknown> {
    const { token } = this.keeper;
    const route = routeOf(path, request);
    const refusal = this.refusals.get("") ?? this.refusals.get(route);
    if (refusal) throw refusal;
    const headers = { ...request.headers, ...this.keeper.headers() };
    const signal = AbortSignal.timeout(timeoutMs);
    // No route of a server redirects, and a token is meant for this server alone.
    const answer = await fetch(path, { ...request, headers, signal, redirect: "error" });
    if (answer.ok) return jsonOf(answer);
    const error = await problemOf(answer);
    const isGate = error instanceof HttpError && TOKEN_REFUSED.includes(error.status);
    // The user may have logged in or out meanwhile.
    if ((isGate || error instanceof Forbidden) && token === this.keeper.token) {
      this.refusals.set(isGate ? "" : route, error);
      this.refused(error);
    }
    throw error;
  }

  async getNeighbors(question: Question, space: Space): Promise<NeighborList> {
    const path = neighborsPath(question, space);
    const body = await this.getJson(path)
      .then((found) => neighborsOf(found, question.k))
      .catch(emptyIfUnknown);
    return {
      tick: body.tick,
      timeUs: body.time_us,
      neighbors: body.neighbors.map((row) => ({
        id: text(row, "id"),
        name: textIfAny(row, "name"),
        distance: distanceOf(row),
      })),
    };
  }

  async getObject(idOrName: string): Promise<ObjectInfo | null> {
    try {
      const body = await this.getJson(`/v1/objects/${encodeURIComponent(idOrName)}`);
      const either = (one: string, other: string) =>
        numberIfAny(body, one) ?? numberIfAny(body, other);
      return {
        id: text(body, "id"),
        name: textIfAny(body, "name"),
        x: either("lon", "x") ?? NaN,
        y: either("lat", "y") ?? NaN,
        z: either("alt", "z") ?? 0,
        timeUs: number(body, "time_us"),
        tags: number(body, "tags"),
      };
    } catch (error) {
      if (error instanceof HttpError && error.status === NOT_FOUND) return null;
      throw error;
    }
  }

  async getStreams(): Promise<string[]> {
    const streams = list(await this.getJson("/v1/streams"), "streams");
    return streams.map((stream) => text(stream, "name"));
  }

  async getStats(): Promise<Map<string, number>> {
    const counters = member(await this.getJson("/v1/stats"), "counters");
    check(typeof counters === "object" && counters !== null, "an answer without counters");
    const isNumber = (entry: [string, unknown]): entry is [string, number] =>
      Number.isFinite(entry[1]);
    return new Map(Object.entries(counters as object).filter(isNumber));
  }

  async getRoads(): Promise<Road[]> {
    const lines = list(await this.getJson("/v1/network", ROADS_TIMEOUT_MS), "lines");
    const isRoad = (line: unknown) => Array.isArray(line) && line.every(Number.isFinite);
    check(lines.every(isRoad), "a road that is not made of numbers");
    return lines as Road[];
  }

  /** Null: the server plays no recording. */
  async getPlayback(): Promise<Playback | null> {
    // A browser logs each status 404 as an error, so /v1/stats is asked first.
    const counters = await this.getStats().catch((error: unknown) => {
      if (error instanceof Forbidden) return null;
      throw error;
    });
    if (counters && counters.get("starling_recording") !== 1) return null;
    try {
      return playbackOf(await this.getJson(PLAYBACK));
    } catch (error) {
      if (error instanceof HttpError && error.status === NOT_FOUND) return null;
      throw error;
    }
  }

  async putPlayback(change: PlaybackChange): Promise<Playback> {
    const { timeUs, speed, paused } = change;
    const body = await this.askJson(PLAYBACK, {
      method: "PUT",
      headers: { Accept: "application/json", "Content-Type": "application/json" },
      body: JSON.stringify({ time: timeUs, speed, paused }),
    });
    return playbackOf(body);
  }
}
