import { join } from "node:path";
import { builtInPersona, maxPersonaBytes, personaName } from "../cli/home.ts";
import { EditedFile } from "../cli/own-file.ts";
import type { Settings } from "../cli/settings.ts";
import type { Logger } from "../core/logger.ts";

type Given = Pick<Settings, "home" | "isEphemeral" | "persona" | "configuredPersona">;

/** The persona of a home: `persona.md`, read again each time, else what the settings say. */
export class HomePersona {
  readonly maxBytes = maxPersonaBytes;
  /** A process that keeps nothing writes no file. */
  readonly isEditable: boolean;
  readonly #file: EditedFile;
  readonly #configured: string | undefined;
  readonly #logger: Logger;
  /** What the file last said, when it could be read. */
  #last: string;
  #reported: string | undefined;

  constructor({ home, isEphemeral, persona, configuredPersona }: Given, logger: Logger) {
    this.isEditable = !isEphemeral;
    this.#file = new EditedFile(join(home, personaName), maxPersonaBytes);
    this.#configured = configuredPersona || undefined;
    this.#logger = logger;
    this.#last = persona;
  }

  /**
   * What models get now. A file that cannot be used is logged once, and the persona stays what it last
   * was.
   */
  text(): string {
    return this.read().persona;
  }

  /** The same, with where it is written, and who answers where the home has no `persona.md`. */
  read() {
    const file = this.#file.read();
    this.#report(file.problem);
    const text = file.text?.trim() ?? "";
    const standard = this.#configured ?? builtInPersona;
    if (file.problem === undefined) this.#last = text || standard;
    const otherwise = this.#configured === undefined ? "built-in" : "configuration";
    const source = text !== "" || file.problem !== undefined ? "file" : otherwise;
    return { persona: this.#last, source, default: standard, file };
  }

  /**
   * Replaces `persona.md`, or removes it: then `default` answers. The next turn uses it.
   *
   * @throws ThroughlineError as `EditedFile.write`.
   */
  write(text: string | undefined, version: string): void {
    this.#file.write(text === undefined ? undefined : `${text.trim()}\n`, version);
  }

  #report(problem: string | undefined): void {
    if (problem !== undefined && problem !== this.#reported) {
      this.#logger.warn({ problem }, "persona.md cannot be used; the persona stays as it was");
    }
    this.#reported = problem;
  }
}
