import { basename } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { EditedFile, type EditedText } from "../../cli/edited-file.ts";
import { type KeyPath, keyText, readYaml } from "../../cli/yaml-text.ts";
import type { Timers } from "../../core/timers.ts";
import { type EmotionConfiguration, readEmotionConfiguration } from "../emotion/configuration.ts";

export const emotionsName = "emotions.yaml";

/** Its bound in bytes. The built-in configuration takes 4 KiB. */
const maxBytes = 64 * 1024;
/** How often it is read, in milliseconds. */
const lookEveryMs = 2_000;
/** When another text was seen it is read again, so that a half-written file does not count. */
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
  return emotionsIn(new EditedFile(path, maxBytes).read(), basename(path));
}

function emotionsIn({ text, problem }: EditedText, name: string): EmotionsFile {
  if (problem !== undefined) return { kind: "refused", problems: [problem] };
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

/**
 * The emotions of a file, which is read again every 2 s: editors may write it in place, rename one over it, or move
 * it away first. Another text counts, and so does none, once it is still the same 0.25 s later. A file that is
 * refused changes nothing. Calls back for changes after this call, and for problems also during it.
 * Does not keep the process alive.
 */
export class EmotionsWatch {
  readonly #options: EmotionsFileOptions;
  readonly #file: EditedFile;
  /** What is in force; `undefined`: the built-in one. */
  configuration: EmotionConfiguration | undefined;
  /** The text that was taken or refused last. */
  #known: EditedText;
  /** Another one, which is to be there still at the next look. */
  #unsettled: EditedText | undefined;
  #isRefused = false;
  #stopTimer = () => {};

  constructor(options: EmotionsFileOptions) {
    this.#options = options;
    this.#file = new EditedFile(options.path, maxBytes);
    this.#known = this.#file.read();
    const file = emotionsIn(this.#known, basename(options.path));
    this.#isRefused = file.kind === "refused";
    if (file.kind === "refused") options.onProblem(file.problems);
    if (file.kind === "read") this.configuration = file.configuration;
    this.#lookIn(lookEveryMs);
  }

  /** Reads the file now, as if it had changed. @returns what is in force then, or the problems. */
  reload(): EmotionsFile {
    return this.#apply(this.#file.read());
  }

  close(): void {
    this.#stopTimer();
  }

  #lookIn(delayMs: number): void {
    this.#stopTimer = this.#options.timers.after(delayMs, () => this.#look());
  }

  #look(): void {
    const edited = this.#file.read();
    const isNew = !isDeepStrictEqual(edited, this.#known);
    const isSettled = isDeepStrictEqual(edited, this.#unsettled);
    this.#unsettled = isNew && !isSettled ? edited : undefined;
    // Before anybody is called: a listener that throws does not end the watch.
    this.#lookIn(this.#unsettled === undefined ? lookEveryMs : settleMs);
    if (isNew && isSettled) this.#apply(edited);
  }

  #apply(edited: EditedText): EmotionsFile {
    this.#known = edited;
    const file = emotionsIn(edited, basename(this.#options.path));
    const wasRefused = this.#isRefused;
    this.#isRefused = file.kind === "refused";
    if (file.kind === "refused") this.#options.onProblem(file.problems);
    else if (wasRefused) this.#options.onProblem([]);
    const configuration = file.kind === "read" ? file.configuration : undefined;
    if (!this.#isRefused && !isDeepStrictEqual(configuration, this.configuration)) {
      this.configuration = configuration;
      this.#options.onChange(configuration);
    }
    return file;
  }
}
