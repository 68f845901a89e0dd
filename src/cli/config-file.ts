import { join } from "node:path";
import { isThroughlineError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Prices } from "../core/models/prices.ts";
import { misconfigured, resolveOptions } from "../core/options.ts";
import { number, object, optional, Place, record, type Shape } from "../core/shape.ts";
import { readOwnFile } from "./own-file.ts";
import { type Said, settings, settingsIn } from "./settings-table.ts";

export const configName = "throughline.config.json";

const keys = settingsIn("key");
const noKeys = Object.fromEntries(keys.map(([, key]) => [key, undefined]));
const checks = Object.fromEntries(keys.map(([name, key]) => [key, settings[name].check]));

/**
 * Reads a home's configuration. A home without one has an empty one.
 *
 * @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: it cannot be read, or holds an unknown key or
 * a bad value; the message names the file and the key.
 */
export function readConfig(home: string): Said {
  const path = join(home, configName);
  const text = readOwnFile(path);
  if (text === undefined) return {};
  return at(path, () => {
    const line = brokenLine(text);
    if (line !== undefined) throw misconfigured(`${path}:${line}: it is not JSON from here on`);
    const file = resolveOptions("the file", parseJson(text, path) as object, noKeys, checks);
    const said = keys.map(([name, key]) => [name, file[key as keyof typeof file]] as const);
    const { prices: given, ...rest }: { readonly prices?: object } = Object.fromEntries(said);
    return { ...rest, prices: given && toPrices(given) };
  });
}

/** Finds the line at which a text stops being JSON: no word or text of JSON goes over the end of a line. */
function brokenLine(text: string): number | undefined {
  if (parseError(text) === undefined) return undefined;
  const lines = text.split("\n");
  for (let count = 1; count <= lines.length; count++) {
    const begin = lines.slice(0, count).join("\n").trimEnd();
    const error = parseError(begin) ?? "";
    const position = Number(/at position (\d+)/.exec(error)?.[1]);
    const isOnlyCutOff = error.includes("end of JSON input") || position >= begin.length;
    if (error !== "" && (!isOnlyCutOff || error.includes("Unterminated"))) return count;
  }
  return lines.length;
}

function parseError(text: string): string | undefined {
  try {
    // The result is used: bundlers drop a call that is made only for what it throws.
    return JSON.parse(text) === undefined ? "nothing" : undefined;
  } catch (error) {
    return String(error);
  }
}

const usd = number(0, 1e6);
const prices: Shape<Prices> = record(
  object({
    inputPerMillionUsd: ["input_per_million_usd", usd],
    outputPerMillionUsd: ["output_per_million_usd", usd],
    cachedInputPerMillionUsd: ["cached_input_per_million_usd", optional(usd)],
  }),
);

function toPrices(given: object): Prices {
  const at = new Place();
  const read = prices.read(given, at);
  const [problem] = at.problems;
  if (problem === undefined) return read;
  throw misconfigured(`prices.${problem.path.join(": ")} ${problem.says}`);
}

/** Names the place in what is wrong there. */
function at<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isThroughlineError(cause)) throw cause;
    const { message } = cause;
    throw misconfigured(message.startsWith(place) ? message : `${place}: ${message}`, cause);
  }
}
