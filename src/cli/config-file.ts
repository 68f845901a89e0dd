import { join } from "node:path";
import { isThroughlineError } from "../core/errors.ts";
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
    const file = resolveOptions("the file", jsonIn(text, path), noKeys, checks);
    const said = keys.map(([name, key]) => [name, file[key as keyof typeof file]] as const);
    const { prices: given, ...rest }: { readonly prices?: object } = Object.fromEntries(said);
    return { ...rest, prices: given && toPrices(given) };
  });
}

/** Parses a file, and names the line that is no JSON where the parser tells it. */
function jsonIn(text: string, path: string): object {
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    const [, line] = /\(line (\d+)/.exec(String(error)) ?? [];
    // Without its cause, which quotes the file.
    throw misconfigured(`${line === undefined ? path : `${path}:${line}`}: it is not JSON`);
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
