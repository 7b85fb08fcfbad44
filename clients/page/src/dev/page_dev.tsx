// SPDX-License-Identifier: Apache-2.0
// The page over a FakeWorld, for development and the browser test: ?objects=1000&space=planar2&
// tick_ms=100&objects_max=50000.
import { render } from "preact";
import { Model } from "../model/model";
import { App } from "../ui/app";
import { FakeWorld } from "./fake_world";
import "../page.css";

const parameters = new URLSearchParams(location.search);
const number = (name: string, otherwise: number) => Number(parameters.get(name) ?? otherwise);
const world = new FakeWorld({
  space: parameters.get("space") === "planar2" ? "planar2" : "wgs84",
  count: number("objects", 1000),
  tickMs: number("tick_ms", 200),
  seed: number("seed", 1),
  objectsMax: number("objects_max", 200000),
});
const root = document.getElementById("page");
if (root) render(<App model={new Model(world)} />, root);
Object.assign(globalThis, { fakeWorld: world });
