// Light or dark: as the system has it, until a person says otherwise on this page.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const storageKey = "throughline-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** What is shown now. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, theme);
}

/** Shows the other one from now on; where that is what the system has, follows the system again. */
export function toggleTheme(): void {
  const next = theme() === "dark" ? "light" : "dark";
  apply(next === systemTheme() ? undefined : next);
  for (const listener of listeners) listener();
}

/** Applies what was chosen before. Call it before the first render. */
export function restoreTheme(): void {
  const kept = localStorage.getItem(storageKey);
  if (kept === "light" || kept === "dark") document.documentElement.dataset["theme"] = kept;
}

function theme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : systemTheme();
}

function systemTheme(): Theme {
  return dark.matches ? "dark" : "light";
}

function apply(chosen: Theme | undefined): void {
  const { dataset } = document.documentElement;
  if (chosen === undefined) {
    delete dataset["theme"];
    localStorage.removeItem(storageKey);
  } else {
    dataset["theme"] = chosen;
    localStorage.setItem(storageKey, chosen);
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  dark.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    dark.removeEventListener("change", listener);
  };
}
