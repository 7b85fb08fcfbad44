// SPDX-License-Identifier: Apache-2.0
// The button that chooses light or dark. Until it is used, the page follows the system's choice.
import { useEffect, useState } from "preact/hooks";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Returns the rules of colours.css that apply if the system wants dark pages. */
function darkRules(): CSSMediaRule[] {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .filter((rule) => rule instanceof CSSMediaRule)
    .filter((rule) => rule.conditionText.includes("prefers-color-scheme"));
}

/**
 * Changes the condition of the dark rules, so that the style sheet has the dark colours only once.
 */
function choose(rules: CSSMediaRule[], isDark: boolean): void {
  for (const rule of rules) rule.media.mediaText = isDark ? "all" : "not all";
  document.documentElement.style.colorScheme = isDark ? "dark" : "light";
}

export function ThemeSwitch() {
  const [rules] = useState(darkRules);
  const [chosen, setChosen] = useState<boolean | null>(null);
  const [wanted, setWanted] = useState(dark.matches);
  useEffect(() => {
    const follow = () => setWanted(dark.matches);
    dark.addEventListener("change", follow);
    return () => dark.removeEventListener("change", follow);
  }, []);
  const isDark = chosen ?? wanted;
  const change = () => {
    choose(rules, !isDark);
    setChosen(!isDark);
  };
  return (
    <button type="button" onClick={change}>
      {isDark ? "Light" : "Dark"}
    </button>
  );
}
