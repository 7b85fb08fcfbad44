// SPDX-License-Identifier: Apache-2.0
// The k nearest of the chosen object or place: ranks, changes, and why another object is not among
// them.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { LiveMap } from "../map/map";
import { K_MAX } from "../model/link";
import type { ListChange } from "../model/list_changes";
import type { Model, ShownList } from "../model/model";
import { distanceText, whyNotSentence } from "../model/why_not";
import { filterText } from "../world/filter";
import { neighborsPath } from "../world/http_api";
import type { ObjectId } from "../world/types";
import { countText, timeText } from "./text";

type Timed = ListChange & { timeUs: number };

const MARKS = {
  entered: { sign: "+", word: "entered" },
  nearer: { sign: "▲", word: "nearer" },
  farther: { sign: "▼", word: "farther" },
  left: { sign: "−", word: "left" },
};

export function NeighborPanel({ model, map }: { model: Model; map: RefObject<LiveMap | null> }) {
  const shown = model.shownList();
  const { anchor, filter } = model;
  const hasList = shown !== null;
  useEffect(() => {
    const place =
      anchor?.kind === "object" ? model.positions([anchor.id]).get(anchor.id) : undefined;
    if (place && hasList) map.current?.reveal(...place);
  }, [anchor, hasList, map, model]);
  if (!anchor) return null;
  const showList = () => {
    const ids = shown?.list.neighbors.map((row) => row.id) ?? [];
    if (anchor.kind === "object") ids.push(anchor.id);
    const places = [...model.positions(ids).values()];
    if (anchor.kind === "place") places.push([anchor.x, anchor.y]);
    map.current?.showPlaces(places);
  };
  return (
    <section class="panel" aria-label="Nearest neighbours" tabIndex={0}>
      <div class="head">
        <h2>{titleOf(model)}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => model.select(null)}>
          ✕
        </button>
      </div>
      <div class="row">
        <label>
          k{" "}
          <input
            type="number"
            min={1}
            max={K_MAX}
            value={model.k}
            onChange={(event) => model.setK(Number(event.currentTarget.value))}
          />
        </label>
        {model.hasMap && (
          <button type="button" class="quiet" onClick={showList}>
            Zoom to list
          </button>
        )}
        <CopyButton model={model} />
      </div>
      {filterText(filter) && <p class="hint">Only objects {filterText(filter)}.</p>}
      {model.refusal && (
        <p class="error" role="alert">
          {model.refusal}
        </p>
      )}
      {shown && <RankTable model={model} shown={shown} />}
      {!shown && model.pausedAtUs !== null && (
        <p class="hint">This page has no list for this moment.</p>
      )}
      {model.hasMap && <WhyNotText model={model} />}
      {shown && <Changes changes={shown.changes} />}
    </section>
  );
}

function titleOf(model: Model): string {
  const { anchor, anchorInfo, query } = model;
  const object = anchor?.kind === "object" ? (anchorInfo?.name ?? model.label(anchor.id)) : "";
  if (query) return `Query ${query.id} of ${query.stream}${object && ` follows ${object}`}`;
  if (anchor?.kind === "place") return `${anchor.x.toFixed(4)}, ${anchor.y.toFixed(4)}`;
  return object;
}

function RankTable({ model, shown }: { model: Model; shown: ShownList }) {
  const marks = new Map<ObjectId, Timed>();
  for (const change of shown.changes) if (!marks.has(change.id)) marks.set(change.id, change);
  return (
    <>
      {shown.isApproximate && (
        <p class="hint">
          Computed by this page from its rounded positions
          {model.terms?.space !== "planar2" && ", without heights"}: it has no list of the server for
          this moment.
        </p>
      )}
      {shown.isApart && model.shownFrame() && (
        <p class="hint">
          This list is of tick {countText(shown.list.tick)}. The map shows another tick, without
          ranks.
        </p>
      )}
      <div class="scroll">
        <table id="neighbors" data-tick={shown.list.tick}>
          <thead>
            <tr>
              <th scope="col">Rank</th>
              <th scope="col">Object</th>
              <th scope="col">Distance</th>
              <th scope="col">
                <span class="unseen">Change</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.list.neighbors.map((row, i) => {
              const mark = marks.get(row.id);
              const kind = mark && mark.change !== "left" ? mark.change : null;
              return (
                <tr key={row.id} data-id={row.id} class={kind ?? ""}>
                  <td>{i + 1}</td>
                  <td>
                    <button
                      type="button"
                      class="name"
                      onClick={() => model.select({ kind: "object", id: row.id })}
                    >
                      {row.name ?? row.id}
                    </button>
                  </td>
                  <td>{distanceText(row.distance, model.hasMap)}</td>
                  <td title={kind ? MARKS[kind].word : ""}>
                    {kind && <span aria-label={MARKS[kind].word}>{MARKS[kind].sign}</span>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {shown.list.neighbors.length === 0 && (
        <p class="hint">
          {model.isAnchorMissing ? "The server does not have this object." : "No object is near."}
        </p>
      )}
    </>
  );
}

function WhyNotText({ model }: { model: Model }) {
  const { whyNot, hovered } = model;
  return (
    <p id="why-not" class="hint" aria-live="polite">
      {whyNot
        ? whyNotSentence(whyNot, model.label(whyNot.id), model.hasMap)
        : hovered
          ? ""
          : "Point at another object to see why it is not in the list."}
    </p>
  );
}

const CHANGES_MAX = 5;

function Changes({ changes }: { changes: Timed[] }) {
  return (
    <ul class="changes" aria-label="Latest changes">
      {changes.slice(0, CHANGES_MAX).map((one) => (
        <li key={`${one.id}-${one.timeUs}`} class={one.change}>
          {timeText(one.timeUs)} {one.name ?? one.id} {changeText(one)}
        </li>
      ))}
    </ul>
  );
}

function changeText(one: ListChange): string {
  if (one.change === "entered") return `entered as number ${one.rankAfter}`;
  if (one.change === "left") return `left, was number ${one.rankBefore}`;
  return `is ${one.change}: ${one.rankBefore} → ${one.rankAfter}`;
}

function CopyButton({ model }: { model: Model }) {
  const [word, setWord] = useState("Copy as curl");
  const copy = async () => {
    const question = model.asked();
    if (!question || !model.terms) return;
    const path = neighborsPath(question, model.terms.space);
    // The user puts the token into the environment; a clipboard is no place for it.
    const header = model.world.access.hasToken ? '-H "Authorization: Bearer $TOKEN" ' : "";
    const command = `curl ${header}'${location.origin}${path.replaceAll("'", "%27")}'`;
    await navigator.clipboard.writeText(command).then(
      () => setWord("Copied"),
      () => setWord("The browser did not allow it"),
    );
    setTimeout(() => setWord("Copy as curl"), 1500);
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      {word}
    </button>
  );
}
