import fs from "node:fs";
import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isErrno } from "../../cli/failure.ts";
import { readOwnFile } from "../../cli/own-file.ts";
import { type KeyPath, keyText, readYaml } from "../../cli/yaml-text.ts";
import { isThroughlineError } from "../../core/errors.ts";
import type { Timers } from "../../core/timers.ts";
import type { EmotionConfiguration } from "../emotion/configuration.ts";
import { readEmotionConfiguration } from "../emotion/emotions-schema.ts";

export const emotionsName = "emotions.yaml";

/** Its bound in bytes. The built-in configuration takes 4 KiB. */
const maxBytes = 64 * 1024;
/** How often it is looked at, in milliseconds: one `stat`. */
const lookEveryMs = 2_000;
/** When another version was seen it is looked at again, so that a half-written file is not read. */
const settleMs = 250;

type EmotionsFile =
  | { readonly kind: "absent" }
  | { readonly kind: "read"; readonly configuration: EmotionConfiguration }
  /**
   * Sentences for the person who wrote it, `emotions.yaml:line: key: what is wrong`; at least one. They
   * go out over HTTP: none tells where the file lies.
   */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Reads a file of emotions. One thing wrong, and nothing of it is taken. Never throws. */
export function readEmotionsFile(path: string): EmotionsFile {
  const name = basename(path);
  let text: string | undefined;
  try {
    text = readOwnFile(path, maxBytes);
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    return { kind: "refused", problems: [error.message.replaceAll(path, () => name)] };
  }
  return text === undefined ? { kind: "absent" } : readEmotions(text, name);
}

function readEmotions(text: string, name: string): EmotionsFile {
  const place = (line: number, keys: KeyPath) =>
    keys.length === 0 ? `${name}:${line}: ` : `${name}:${line}: ${keyText(keys)}: `;
  const yaml = readYaml(text);
  if ("problems" in yaml) {
    const problems = yaml.problems.map(({ line, path: keys, says }) => place(line, keys) + says);
    return { kind: "refused", problems };
  }
  const read = readEmotionConfiguration(yaml.value);
  if ("configuration" in read) return { kind: "read", configuration: read.configuration };
  const problems = read.problems.map(
    (problem) => place(yaml.lineOf(problem.path), problem.path) + problem.says,
  );
  return { kind: "refused", problems };
}

interface EmotionsFileOptions {
  readonly path: string;
  /** Another configuration is in force; `undefined`: the built-in one. */
  readonly onChange: (configuration: EmotionConfiguration | undefined) => void;
  /**
   * The file is refused, and what was in force stays. Once for each version of the file; with an empty
   * list when it can be read again, or is gone.
   */
  readonly onProblem: (problems: readonly string[]) => void;
  readonly timers: Timers;
}

interface EmotionsFileWatch {
  /** What is in force; `undefined`: the built-in one. */
  readonly configuration: EmotionConfiguration | undefined;
  /** Reads the file now, as if it had changed. @returns what is in force then, or the problems. */
  reload(): EmotionsFile;
  close(): void;
}

/**
 * Reads a file of emotions, then looks every 2 s whether it is another: by its times, its size and
 * which file it is, so that editors may write it in place, rename one over it, or move it away first.
 * Another version counts, and so does none, once it is still the same 0.25 s later. A file that is
 * refused changes nothing. Calls back for changes after this call, and for problems also during it.
 * Does not keep the process alive.
 */
export function watchEmotionsFile(options: EmotionsFileOptions): EmotionsFileWatch {
  return new Watch(options);
}

class Watch implements EmotionsFileWatch {
  readonly #options: EmotionsFileOptions;
  #configuration: EmotionConfiguration | undefined;
  /** The version that was read last. */
  #version: string;
  /** Another one, which is to be there still at the next look. */
  #unsettled: string | undefined;
  #isRefused: boolean;
  #stopTimer = () => {};

  constructor(options: EmotionsFileOptions) {
    this.#options = options;
    this.#version = versionOf(options.path);
    const file = readEmotionsFile(options.path);
    this.#isRefused = file.kind === "refused";
    if (file.kind === "refused") options.onProblem(file.problems);
    if (file.kind === "read") this.#configuration = file.configuration;
    this.#lookIn(lookEveryMs);
  }

  get configuration(): EmotionConfiguration | undefined {
    return this.#configuration;
  }

  reload(): EmotionsFile {
    this.#version = versionOf(this.#options.path);
    const file = readEmotionsFile(this.#options.path);
    this.#apply(file);
    return file;
  }

  close(): void {
    this.#stopTimer();
  }

  #lookIn(delayMs: number): void {
    this.#stopTimer = this.#options.timers.after(delayMs, () => this.#look());
  }

  #look(): void {
    const { path } = this.#options;
    const version = versionOf(path);
    const isNew = version !== this.#version;
    const isSettled = version === this.#unsettled;
    this.#unsettled = isNew && !isSettled ? version : undefined;
    // Before anybody is called: a listener that throws does not end the watch.
    this.#lookIn(this.#unsettled === undefined ? lookEveryMs : settleMs);
    if (!isNew || !isSettled) return;
    const file = readEmotionsFile(path);
    if (versionOf(path) !== version) return; // changed while it was read: the next look tells
    this.#version = version;
    this.#apply(file);
  }

  #apply(file: EmotionsFile): void {
    if (file.kind === "refused") {
      this.#isRefused = true;
      this.#options.onProblem(file.problems);
      return;
    }
    if (this.#isRefused) this.#options.onProblem([]);
    this.#isRefused = false;
    const configuration = file.kind === "read" ? file.configuration : undefined;
    if (isDeepStrictEqual(configuration, this.#configuration)) return;
    this.#configuration = configuration;
    this.#options.onChange(configuration);
  }
}

/** Differs when the file does: by its identity, size and times, or by why it cannot be looked at. */
function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = fs.statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return "absent";
    return error instanceof Error && "code" in error ? String(error.code) : "unreadable";
  }
}
