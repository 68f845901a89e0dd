// Light or dark: as the system has it, until a person chooses on this page.
import { Store, useStore } from "../api/store.ts";

type Theme = "light" | "dark";

const storageKey = "throughline-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const shown = new Store<Theme>(systemTheme());
dark.addEventListener("change", () => shown.set(chosenTheme() ?? systemTheme()));

/** What is shown now. */
export function useTheme(): Theme {
  return useStore(shown);
}

/** Shows the other one from now on; where that is what the system has, follows the system again. */
export function toggleTheme(): void {
  const next = shown.get() === "dark" ? "light" : "dark";
  const { dataset } = document.documentElement;
  if (next === systemTheme()) {
    delete dataset["theme"];
    localStorage.removeItem(storageKey);
  } else {
    dataset["theme"] = next;
    localStorage.setItem(storageKey, next);
  }
  shown.set(next);
}

/** Applies what was chosen before. Call it before the first render. */
export function restoreTheme(): void {
  const kept = localStorage.getItem(storageKey);
  if (kept !== "light" && kept !== "dark") return;
  document.documentElement.dataset["theme"] = kept;
  shown.set(kept);
}

function chosenTheme(): Theme | undefined {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : undefined;
}

function systemTheme(): Theme {
  return dark.matches ? "dark" : "light";
}
