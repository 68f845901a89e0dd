// Unsaved edits of the memory, by name. The browser keeps them for this tab, so that a reload loses
// nothing. A browser that stores nothing keeps them as long as the view is open.
import { type SetStateAction, useRef, useState } from "react";

const prefix = "throughline-edit-";

/** A value that outlives a reload; `undefined`: there is none. */
export function useKeptEdit<Value>(
  name: string,
): readonly [Value | undefined, (change: SetStateAction<Value | undefined>) => void] {
  const [value, setValue] = useState(() => read<Value>(name));
  const latest = useRef(value);
  const set = (change: SetStateAction<Value | undefined>) => {
    latest.current = change instanceof Function ? change(latest.current) : change;
    setValue(latest.current);
    write(name, latest.current);
  };
  return [value, set];
}

function read<Value>(name: string): Value | undefined {
  try {
    const stored = sessionStorage.getItem(prefix + name);
    return stored === null ? undefined : (JSON.parse(stored) as Value);
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
