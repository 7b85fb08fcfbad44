// SPDX-License-Identifier: Apache-2.0
// Notes on the map: what the map does not show, because the user lacks a role.
import type { Hidden, Model } from "../model/model";

const NAMES: Record<Hidden, string> = {
  positions: "No positions",
  queries: "No standing queries",
};

export function HiddenNotes({ model }: { model: Model }) {
  if (model.hidden.size === 0) return null;
  return (
    <ul class="hidden-notes panel" aria-label="Not shown" aria-live="polite">
      {[...model.hidden].map(([what, sentence]) => (
        <li key={what}>
          <strong>{NAMES[what]}:</strong> {sentence}
        </li>
      ))}
    </ul>
  );
}
