// Whether this browser is let in. The server decides; this remembers its last word.
import { useSyncExternalStore } from "react";

let isOut = false;
const listeners = new Set<() => void>();

/** The server asked for a sign-in. */
export function signedOut(): void {
  set(true);
}

/** A code was taken. */
export function signedIn(): void {
  set(false);
}

export function isSignedOut(): boolean {
  return isOut;
}

export function useIsSignedOut(): boolean {
  return useSyncExternalStore(onSignInChange, isSignedOut);
}

/** @returns what ends it. */
export function onSignInChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(value: boolean): void {
  if (isOut === value) return;
  isOut = value;
  for (const listener of listeners) listener();
}
