// Light or dark: as the system has it, or as a person chose on this page.
import { Store, useStore } from "../api/store.ts";

export type ThemeChoice = "system" | "light" | "dark";

/** `public/theme.js` reads it before the page is drawn for the first time. */
const storageKey = "throughline-theme";
const chosen = new Store<ThemeChoice>(keptChoice());

export function useThemeChoice(): ThemeChoice {
  return useStore(chosen);
}

/** Shows this from now on, and after a reload. */
export function chooseTheme(choice: ThemeChoice): void {
  const { dataset } = document.documentElement;
  if (choice === "system") {
    delete dataset["theme"];
    localStorage.removeItem(storageKey);
  } else {
    dataset["theme"] = choice;
    localStorage.setItem(storageKey, choice);
  }
  chosen.set(choice);
}

function keptChoice(): ThemeChoice {
  const { theme } = document.documentElement.dataset;
  return theme === "light" || theme === "dark" ? theme : "system";
}
