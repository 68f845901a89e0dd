import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { EditedFile, type EditedText } from "../../cli/own-file.ts";
import { type KeyPath, keyText, readYaml } from "../../cli/yaml-text.ts";
import type { Logger } from "../../core/logger.ts";
import type { Timers } from "../../core/timers.ts";
import { type EmotionConfiguration, readEmotionConfiguration } from "../emotion/configuration.ts";

const emotionsName = "emotions.yaml";

/** How often it is read, in milliseconds. */
const lookEveryMs = 1_000;

/**
 * Reads a file of emotions. One thing wrong, and nothing of it is taken. The problems are sentences for the person who
 * wrote it, `emotions.yaml:line: key: what is wrong`. They go out over HTTP: none tells where the file lies.
 */
function emotionsIn({ text, problem }: EditedText) {
  const refused = (problems: readonly string[]) => ({ configuration: undefined, problems });
  if (problem !== undefined) return refused([problem]);
  if (text === undefined) return refused([]);
  const place = (line: number, keys: KeyPath) => {
    return `${emotionsName}:${line}: ${keys.length === 0 ? "" : `${keyText(keys)}: `}`;
  };
  const yaml = readYaml(text);
  if ("problems" in yaml) {
    return refused(yaml.problems.map(({ line, path, says }) => place(line, path) + says));
  }
  const read = readEmotionConfiguration(yaml.value);
  if ("configuration" in read) return { configuration: read.configuration, problems: [] };
  return refused(read.problems.map(({ path, says }) => place(yaml.lineOf(path), path) + says));
}

interface EmotionsFileOptions {
  readonly home: string;
  /** Another configuration is in force; `undefined`: the built-in one. */
  readonly onChange: (configuration: EmotionConfiguration | undefined) => void;
  readonly timers: Timers;
  /** Is told of each version that is refused, and when the file can be read again, or is gone. */
  readonly logger: Logger;
}

/**
 * `emotions.yaml` of a home, which is read again every second: editors may write it in place, rename one over it, or
 * move it away first. Another text counts, and so does none, once it is still the same a second later. A file that is
 * refused changes nothing. Does not keep the process alive.
 */
export class EmotionsWatch {
  readonly #options: EmotionsFileOptions;
  readonly #file: EditedFile;
  /** What is in force; `undefined`: the built-in one. */
  configuration: EmotionConfiguration | undefined;
  /** What is wrong with the file: then what was in force stays. */
  problems: readonly string[] = [];
  /** The text that was taken or refused last. */
  #known: EditedText;
  /** The one that was seen last. */
  #seen: EditedText;
  #stopTimer = () => {};

  constructor(options: EmotionsFileOptions) {
    this.#options = options;
    this.#file = new EditedFile(join(options.home, emotionsName));
    this.#known = this.#file.read();
    this.#seen = this.#known;
    this.configuration = this.#take(this.#known);
    this.#lookLater();
  }

  /** Reads the file now, as if it had changed. @returns what is wrong with it. */
  reload(): readonly string[] {
    this.#apply(this.#file.read());
    return this.problems;
  }

  close(): void {
    this.#stopTimer();
  }

  #lookLater(): void {
    this.#stopTimer = this.#options.timers.after(lookEveryMs, () => this.#look());
  }

  #look(): void {
    const edited = this.#file.read();
    const isNew = !isDeepStrictEqual(edited, this.#known);
    const isSettled = isDeepStrictEqual(edited, this.#seen);
    this.#seen = edited;
    // Before anybody is called: a listener that throws does not end the watch.
    this.#lookLater();
    if (isNew && isSettled) this.#apply(edited);
  }

  #apply(edited: EditedText): void {
    this.#known = edited;
    const configuration = this.#take(edited);
    if (this.problems.length > 0 || isDeepStrictEqual(configuration, this.configuration)) return;
    this.configuration = configuration;
    this.#options.onChange(configuration);
  }

  #take(edited: EditedText): EmotionConfiguration | undefined {
    const { logger } = this.#options;
    const { configuration, problems } = emotionsIn(edited);
    const wasRefused = this.problems.length > 0;
    this.problems = problems;
    if (problems.length > 0) {
      const fields = { problems: problems.length, first: problems[0] };
      logger.warn(fields, "emotions.yaml has errors; the emotions in use stay");
    } else if (wasRefused && edited.text !== undefined) {
      logger.info({}, "emotions.yaml can be read again and is in use");
    } else if (wasRefused)
      logger.info({}, "emotions.yaml is gone; the built-in emotions are in use");
    return configuration;
  }
}
