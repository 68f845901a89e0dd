import { misconfigured } from "../../core/options.ts";
import type { Serializer } from "./langgraph-types.ts";

let loading: Promise<Serializer> | undefined;
let loaded: Serializer | undefined;

/** LangGraph's own serialiser, loaded when it is first used: a program that has a graph has it already. */
export const langGraphSerializer: Serializer = {
  // Once it is loaded, as by `getTuple` at the start of each run, a value is read before this returns.
  dumpsTyped: (value) => loaded?.dumpsTyped(value) ?? load().then((own) => own.dumpsTyped(value)),
  loadsTyped: async (type, bytes) => (await load()).loadsTyped(type, bytes),
};

/** Loads it, so that values are read at once from then on. */
export function load(): Promise<Serializer> {
  loading ??= import("@langchain/langgraph-checkpoint").then(
    ({ MemorySaver }) => {
      loaded = new MemorySaver().serde;
      return loaded;
    },
    (cause: unknown) => {
      loading = undefined;
      const packages = "@langchain/langgraph-checkpoint @langchain/core";
      throw misconfigured(`LangGraph's checkpoints need packages: npm install ${packages}`, cause);
    },
  );
  return loading;
}
