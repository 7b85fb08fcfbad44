// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLink, K_DEFAULT, parseLink, type Link } from "../../src/model/link";
import { NO_FILTER } from "../../src/world/types";

test("a link comes back as it was", () => {
  const links: Link[] = [
    { view: null, anchor: null, k: K_DEFAULT, filter: NO_FILTER, timeUs: null },
    {
      view: { x: 10.75, y: -59.91, zoom: 17.25 },
      anchor: { kind: "object", id: "16869592477710931413" },
      k: 7,
      filter: { ...NO_FILTER, tagsForbidden: 4294967295, distanceMaxM: 250.5 },
      timeUs: 1772366403000000,
    },
    {
      view: null,
      anchor: { kind: "place", x: -1.5, y: 48.86, z: 120.5 },
      k: 3,
      filter: NO_FILTER,
      timeUs: null,
    },
    {
      view: null,
      anchor: { kind: "place", x: -1.5, y: 48.86 },
      k: 100,
      filter: NO_FILTER,
      timeUs: null,
    },
  ];
  for (const link of links) assert.deepEqual(parseLink(formatLink(link)), link);
});

test("an id may have any characters", () => {
  const anchor = { kind: "object" as const, id: "taxi #1 & 'two', ü" };
  const link = { view: null, anchor, k: 1, filter: NO_FILTER, timeUs: null };
  assert.deepEqual(parseLink(formatLink(link)), link);
});

test("what cannot be read is as if it were not there", () => {
  const nothing = { view: null, anchor: null, k: K_DEFAULT, filter: NO_FILTER, timeUs: null };
  const hashes = [
    "",
    "#",
    "#at=1&zoom=x",
    "#at=a,b&zoom=3",
    "#time=soon",
    "#at=1,2",
    "#at=,&zoom=1",
    "#at=1,2,3&zoom=1",
    "#place=1",
    "#place=1,2,3,4",
  ];
  for (const hash of [...hashes, "#distance_max_m=-1", "#tags_required=x"])
    assert.deepEqual(parseLink(hash), nothing);
  assert.notEqual(parseLink("#at=1,2&zoom=3").view, null);
  assert.equal(parseLink("#k=0").k, 1);
  assert.equal(parseLink("#k=99999").k, 1024);
  assert.equal(parseLink("#k=many").k, K_DEFAULT);
});
