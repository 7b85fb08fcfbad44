// SPDX-License-Identifier: Apache-2.0
// The page: the map, and over it the search, the chosen object's list, the server's numbers and the
// time line.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { LiveMap } from "../map/map";
import { formatLink, parseLink } from "../model/link";
import type { Model } from "../model/model";
import { HiddenNotes } from "./hidden_notes";
import { Legend } from "./legend";
import { LoginButton, LoginForm } from "./login_form";
import { MapView } from "./map_view";
import { NeighborPanel } from "./neighbor_panel";
import { RecordingPanel, useRecording } from "./recording_panel";
import { SearchBox } from "./search_box";
import { ServerPanel } from "./server_panel";
import { Status } from "./status";
import { Timeline } from "./timeline";
import { useKeys } from "./use_keys";
import { useModel } from "./use_model";

const WRITE_LINK_EVERY_MS = 500;
const READ_QUERIES_EVERY_MS = 5000;
const REFRESH_EVERY_MS = 1000;

export function App({ model }: { model: Model }) {
  useModel(model);
  const map = useRef<LiveMap | null>(null);
  const [link, setLink] = useState(() => parseLink(location.hash));
  const [showsServer, setShowsServer] = useState(() => innerWidth > 720);

  const writeLink = useCallback(() => {
    if (!map.current || model.terms === null) return;
    const { anchor, k, filter, pausedAtUs } = model;
    const view = model.hasMap ? map.current.view() : null;
    const hash = formatLink({ view, anchor, k, filter, timeUs: pausedAtUs });
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }, [model]);

  useEffect(() => {
    model.k = link.k;
    model.select(link.anchor, link.filter);
    if (link.view) map.current?.goTo(link.view);
  }, [model, link]);

  useEffect(() => {
    model.start();
    setTimeout(() => void model.readQueries(), WRITE_LINK_EVERY_MS);
    const timers = [
      setInterval(writeLink, WRITE_LINK_EVERY_MS),
      setInterval(() => void model.readQueries(), READ_QUERIES_EVERY_MS),
      setInterval(() => model.refresh(), REFRESH_EVERY_MS),
    ];
    return () => timers.forEach(clearInterval);
  }, [model, writeLink]);

  useEffect(() => {
    // A link that is typed into the address bar changes only the hash, and the browser does not
    // reload.
    const follow = () => setLink(parseLink(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  useKeys(model, map);
  const recording = useRecording(model);
  const isLocked = model.connection.state === "locked";
  return (
    <main>
      <header class="bar">
        <h1>Starling</h1>
        {!isLocked && <SearchBox model={model} map={map} />}
        <Status model={model} playback={recording.playback} />
        <LoginButton model={model} />
        {!isLocked && (
          <button
            type="button"
            class="quiet"
            aria-expanded={showsServer}
            aria-controls="server"
            onClick={() => setShowsServer(!showsServer)}
          >
            Server
          </button>
        )}
      </header>
      <div class="middle">
        <MapView model={model} map={map} />
        {isLocked ? (
          <LoginForm model={model} />
        ) : (
          <div class="panels">
            {model.anchor && <NeighborPanel model={model} map={map} />}
            <RecordingPanel model={model} recording={recording} />
            <ServerPanel model={model} isShown={showsServer} />
          </div>
        )}
        <HiddenNotes model={model} />
        {!model.hasMap && (
          <p class="notice panel">
            This server holds vectors, which have no place on a map. Search for one to see its list.
          </p>
        )}
      </div>
      <footer class="bar">
        <Legend model={model} />
        <Timeline model={model} link={link} isRecording={recording.playback !== null} />
      </footer>
    </main>
  );
}
