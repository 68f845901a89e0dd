import { useEffect, useState } from "react";
import { type Line, lines } from "./history-facts.ts";

const names = ["ink", "muted", "line", "edge", "surface", "accent", "danger", ...lines] as const;

/** The page's colours as the canvas takes them: those of the theme in force. */
export type ChartColors = Readonly<Record<(typeof names)[number] | Line, string>>;

/** A number that is another one after each change of the theme, by the system or on the page. */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const changed = () => setVersion((now) => now + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(changed);
    dark.addEventListener("change", changed);
    observer.observe(document.documentElement, {
      attributeFilter: ["class", "style", "data-theme"],
    });
    return () => {
      dark.removeEventListener("change", changed);
      observer.disconnect();
    };
  }, []);
  return version;
}

/** Reads the colours where they are used: a custom property alone would come unresolved. */
export function readColors(place: HTMLElement): ChartColors {
  const probe = document.createElement("span");
  probe.hidden = true;
  place.append(probe);
  const style = getComputedStyle(probe);
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, style.color] as const;
  });
  probe.remove();
  return Object.fromEntries(colors) as ChartColors;
}
