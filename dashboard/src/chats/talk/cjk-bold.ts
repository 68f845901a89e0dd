// Bold and emphasis that begin and end beside the punctuation of Chinese, Japanese and Korean: loaded with the
// first text in these.
import { useEffect } from "react";
import { Store, useStore } from "../../api/store.ts";

type Plugin = (this: { data(): object }) => void;

const loaded = new Store<Plugin | undefined>(undefined);
const cjk = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Gives the plugin once it is there, and `undefined` for a text that does not need it. */
export function useCjkBold(text: string): Plugin | undefined {
  const isNeeded = cjk.test(text);
  const plugin = useStore(loaded);
  useEffect(() => {
    if (isNeeded && loaded.get() === undefined) void load().catch(() => undefined);
  }, [isNeeded]);
  return isNeeded ? plugin : undefined;
}

async function load(): Promise<void> {
  const { cjkFriendlyExtension } = await import("micromark-extension-cjk-friendly");
  loaded.set(function addCjk() {
    const data: { micromarkExtensions?: unknown[] } = this.data();
    data.micromarkExtensions ??= [];
    data.micromarkExtensions.push(cjkFriendlyExtension());
  });
}
