// The receipt of the chat that was forgotten last. It outlives the place where that was asked for,
// which goes with the chat.
import { useSyncExternalStore } from "react";
import type { ForgetReceipt } from "../api/openapi-types.ts";

export interface NamedReceipt {
  /** As the chat was called. */
  readonly name: string;
  readonly receipt: ForgetReceipt;
}

let shown: NamedReceipt | undefined;
const listeners = new Set<() => void>();

/** Shows a receipt; `undefined`: it was read. */
export function showReceipt(receipt: NamedReceipt | undefined): void {
  shown = receipt;
  for (const listener of listeners) listener();
}

export function useReceipt(): NamedReceipt | undefined {
  return useSyncExternalStore(subscribe, () => shown);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
