// SPDX-License-Identifier: Apache-2.0
// stub
import { getNeighbors, getObject, getStats, getStreams } from "./http_api";
import { ObjectTable, type Anchor, type Rectangle, type World, type WorldListener } from "./types";
export class SocketWorld implements World {
  readonly objects = new ObjectTable();
  open(_listener: WorldListener): void {}
  close(): void {}
  setView(_rectangle: Rectangle): void {}
  neighbors(anchor: Anchor, k: number) {
    return getNeighbors(anchor, k, true);
  }
  object = getObject;
  streams = getStreams;
  stats = getStats;
}
