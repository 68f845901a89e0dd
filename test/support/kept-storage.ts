import type { Storage } from "../../src/core/storage/storage.ts";
import { changed } from "./changed.ts";

/** A storage that its users cannot close: the next one goes on where the last one left off. */
export function kept(storage: Storage): Storage {
  const close = () => Promise.resolve();
  return changed(storage, { close, [Symbol.asyncDispose]: close });
}
