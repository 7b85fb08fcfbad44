// SPDX-License-Identifier: Apache-2.0
// The server's rates, the stages of its tick, and limits that are nearly reached, read once a
// second.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model } from "../model/model";
import { serverNumbers, type ServerNumbers } from "../model/server_numbers";
import { Forbidden } from "../world/types";
import { StageChart } from "./stage_chart";
import { countText, msText, rateText } from "./text";

const READ_EVERY_MS = 1000;
const READINGS_MAX = 300;

/** Returns the numbers, and the server's sentence if the user may not see them. */
function useNumbers(model: Model): [ServerNumbers[], string | null] {
  const [refusal, setRefusal] = useState<string | null>(null);
  const [history, setHistory] = useState<ServerNumbers[]>([]);
  const before = useRef<{ reading: Map<string, number>; ms: number } | null>(null);
  useEffect(() => {
    const read = async () => {
      let forbidden: string | null = null;
      const reading = await model.world.stats().catch((error: unknown) => {
        if (error instanceof Forbidden) forbidden = error.message;
        return null;
      });
      setRefusal(forbidden);
      const ms = performance.now();
      const last = before.current;
      before.current = reading && { reading, ms };
      if (!reading || !last) return;
      const numbers = serverNumbers(last.reading, reading, (ms - last.ms) / 1000);
      setHistory((old) => [...old.slice(1 - READINGS_MAX), numbers]);
    };
    const timer = setInterval(() => void read(), READ_EVERY_MS);
    void read();
    return () => clearInterval(timer);
  }, [model]);
  return [history, refusal];
}

export function ServerPanel({ model, isShown }: { model: Model; isShown: boolean }) {
  const [history, refusal] = useNumbers(model);
  const now = refusal === null ? history.at(-1) : undefined;
  return (
    <section id="server" class="panel" aria-label="Server" tabIndex={0} hidden={!isShown}>
      <h2>Server</h2>
      {!now && <p class="hint">{refusal ?? "Waiting for its numbers …"}</p>}
      {now && <Numbers now={now} />}
      {now?.limits.map(({ name, used, limit }) => (
        <p key={name} class="error" role="alert">
          {name} is near its end: {countText(used)} of {countText(limit)}.
        </p>
      ))}
      {isShown && refusal === null && <StageChart history={history} />}
    </section>
  );
}

function Numbers({ now }: { now: ServerNumbers }) {
  const rows: [string, string][] = [
    ["Objects", countText(now.objects)],
    ["Queries", countText(now.queries)],
    ["Ticks", rateText(now.ticksPerS)],
    ["Rows", rateText(now.rowsPerS)],
    ["Tick takes", msText(now.stagesMs["total"] ?? 0)],
    ["Subscriptions", countText(now.subscriptions)],
    ["Lost ticks", countText(now.lostTicks)],
    ["Overruns", countText(now.overruns)],
  ];
  if (now.failedTicks > 0) rows.push(["Failed ticks", countText(now.failedTicks)]);
  for (const [reason, perS] of now.refused) rows.push([reason, rateText(perS)]);
  return (
    <dl class="numbers">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
