// SPDX-License-Identifier: Apache-2.0
// The JSON API of docs/http.md, of the server that the page came from.
import type {
  NeighborList,
  ObjectInfo,
  Playback,
  PlaybackChange,
  Question,
  Road,
  Space,
} from "./types";

const TIMEOUT_MS = 5000;
/** Roads are some megabytes, and come once. */
const ROADS_TIMEOUT_MS = 60_000;

/** An answer of the server that is an error; the message is its sentence. */
export class HttpError extends Error {
  constructor(
    readonly status: number,
    sentence: string,
  ) {
    super(sentence);
  }
}

async function getJson<Body>(path: string, timeoutMs = TIMEOUT_MS): Promise<Body> {
  return askJson<Body>(path, { headers: { Accept: "application/json" } }, timeoutMs);
}

async function askJson<Body>(
  path: string,
  request: RequestInit,
  timeoutMs = TIMEOUT_MS,
): Promise<Body> {
  const answer = await fetch(path, { ...request, signal: AbortSignal.timeout(timeoutMs) });
  if (answer.ok) return (await answer.json()) as Body;
  const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
  throw new HttpError(answer.status, problem.detail ?? `the server answered ${answer.status}`);
}

interface NeighborsBody {
  tick: number;
  time_us: number;
  neighbors: { id: string; distance_m?: number; distance?: number; name?: string }[];
}

interface ObjectBody {
  id: string;
  name?: string;
  lon?: number;
  lat?: number;
  alt?: number;
  x?: number;
  y?: number;
  z?: number;
  time_us: number;
  tags: number;
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

export async function getNeighbors(question: Question, space: Space): Promise<NeighborList> {
  const body = await getJson<NeighborsBody>(neighborsPath(question, space));
  return {
    tick: body.tick,
    timeUs: body.time_us,
    neighbors: body.neighbors.map((row) => ({
      id: row.id,
      name: row.name ?? null,
      distance: row.distance_m ?? row.distance ?? NaN,
    })),
  };
}

export async function getObject(idOrName: string): Promise<ObjectInfo | null> {
  try {
    const body = await getJson<ObjectBody>(`/v1/objects/${encodeURIComponent(idOrName)}`);
    return {
      id: body.id,
      name: body.name ?? null,
      x: body.lon ?? body.x ?? NaN,
      y: body.lat ?? body.y ?? NaN,
      z: body.alt ?? body.z ?? 0,
      timeUs: body.time_us,
      tags: body.tags,
    };
  } catch (error) {
    if (error instanceof HttpError && error.status === 404) return null;
    throw error;
  }
}

/** Returns whether the server answers at all. */
export async function isAnswering(): Promise<boolean> {
  return getStats().then(
    () => true,
    () => false,
  );
}

export async function getStreams(): Promise<string[]> {
  const body = await getJson<{ streams: { name: string }[] }>("/v1/streams");
  return body.streams.map((stream) => stream.name);
}

export async function getStats(): Promise<Map<string, number>> {
  const body = await getJson<{ counters: Record<string, number> }>("/v1/stats");
  return new Map(Object.entries(body.counters));
}

export async function getRoads(): Promise<Road[]> {
  return (await getJson<{ lines: Road[] }>("/v1/network", ROADS_TIMEOUT_MS)).lines;
}

interface PlaybackBody {
  time_us: number;
  begin_us: number;
  end_us: number;
  speed: number;
  paused: boolean;
}

const playbackOf = (body: PlaybackBody): Playback => ({
  timeUs: body.time_us,
  beginUs: body.begin_us,
  endUs: body.end_us,
  speed: body.speed,
  paused: body.paused,
});

export async function getPlayback(): Promise<Playback | null> {
  const counters = await getStats();
  if (counters.get("starling_recording") !== 1) return null;
  return playbackOf(await getJson<PlaybackBody>("/v1/playback"));
}

export async function putPlayback(change: PlaybackChange): Promise<Playback> {
  const { timeUs, speed, paused } = change;
  const body = await askJson<PlaybackBody>("/v1/playback", {
    method: "PUT",
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ time: timeUs, speed, paused }),
  });
  return playbackOf(body);
}
