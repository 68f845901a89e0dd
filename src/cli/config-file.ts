import { join } from "node:path";
import { isThroughlineError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Prices } from "../core/models/prices.ts";
import { amount, type Check, type Checks, misconfigured, resolveOptions } from "../core/options.ts";
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
    const { prices, ...rest }: { readonly prices?: object } = Object.fromEntries(said);
    return { ...rest, prices: prices && toPrices(prices) };
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

interface PriceInFile {
  readonly input_per_million_usd: number;
  readonly output_per_million_usd: number;
  readonly cached_input_per_million_usd?: number | undefined;
}

const usd: Check = [
  "a number from 0 to 1000000",
  (value) => amount("from 0")[1](value) && (value as number) <= 1e6,
];
const noPrice = { cached_input_per_million_usd: undefined };
const priceChecks: Checks<PriceInFile> = {
  input_per_million_usd: usd,
  output_per_million_usd: usd,
  cached_input_per_million_usd: usd,
};

function toPrices(prices: object): Prices {
  const entries = Object.entries(prices).map(([name, price]) => {
    const place = `prices.${name}`;
    const read = at(place, () =>
      resolveOptions<PriceInFile, typeof noPrice>(place, price, noPrice, priceChecks),
    );
    const translated = {
      inputPerMillionUsd: read.input_per_million_usd,
      outputPerMillionUsd: read.output_per_million_usd,
      cachedInputPerMillionUsd: read.cached_input_per_million_usd,
    };
    return [name, translated] as const;
  });
  return Object.fromEntries(entries);
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
