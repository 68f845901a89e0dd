// Unsaved edits of the memory, by name: one for all that show it. The browser keeps them for this tab, so
// that a reload loses nothing. A browser that stores nothing keeps them as long as the page is open.
import type { SetStateAction } from "react";
import { Store, useStore } from "../../api/store.ts";

const prefix = "throughline-edit-";
// biome-ignore lint/suspicious/noExplicitAny: each name has a type of its own
const edits = new Map<string, Store<any>>();

/** A value that outlives the view and a reload; `undefined`: there is none. */
export function useKeptEdit<Value>(
  name: string,
): readonly [Value | undefined, (change: SetStateAction<Value | undefined>) => void] {
  return [useStore(editOf<Value>(name)), (change) => keepEdit(name, change)];
}

export function keepEdit<Value>(name: string, change: SetStateAction<Value | undefined>): void {
  const edit = editOf<Value>(name);
  edit.set(change instanceof Function ? change(edit.get()) : change);
  write(name, edit.get());
}

/** Removes an edit. @returns it. */
export function takeEdit<Value>(name: string): Value | undefined {
  const edit = editOf<Value>(name).get();
  keepEdit(name, undefined);
  return edit;
}

function editOf<Value>(name: string): Store<Value | undefined> {
  const edit = edits.get(name) ?? new Store(read(name));
  edits.set(name, edit);
  return edit;
}

function read(name: string): unknown {
  try {
    const stored = sessionStorage.getItem(prefix + name);
    return stored === null ? undefined : JSON.parse(stored);
  } catch {
    return undefined; // this browser stores nothing
  }
}

function write(name: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(prefix + name);
    else sessionStorage.setItem(prefix + name, JSON.stringify(value));
  } catch {
    // as in `read`
  }
}
