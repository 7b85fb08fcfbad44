// SPDX-License-Identifier: Apache-2.0
// Numbers and times as the page writes them.
export function timeText(timeUs: number): string {
  return new Date(timeUs / 1000).toISOString().slice(11, 21);
}

export function dateText(timeUs: number): string {
  return `${new Date(timeUs / 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

export function countText(count: number): string {
  return Math.round(count).toLocaleString("en");
}

export function rateText(perS: number): string {
  if (perS >= 1e6) return `${(perS / 1e6).toFixed(2)} M/s`;
  if (perS >= 1e4) return `${(perS / 1e3).toFixed(1)} k/s`;
  return `${perS >= 100 ? perS.toFixed(0) : perS.toFixed(1)} /s`;
}

export function msText(ms: number): string {
  return ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(2)} ms`;
}
