import { type Logger, silentLogger } from "../../core/logger.ts";

/** One message of a replay. */
interface ReplayMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/**
 * The conversation as a voice provider takes it again, after it ended its session by itself (every
 * 5 to 8 minutes): that is no restart, so there is no greeting. The person comes first, roles
 * alternate (messages of one role in a row are one, a line each), and the person is not last unless
 * alone.
 *
 * Roles count in any case; other roles and blank texts are left out. How many messages there are is
 * the caller's to bound.
 *
 * @returns nothing when the person said nothing.
 */
export function voiceReplay(
  messages: readonly { readonly role: string; readonly text: string }[],
): readonly ReplayMessage[] {
  const merged: ReplayMessage[] = [];
  for (const { role, text } of messages) {
    const known = roles.find((each) => each === role.trim().toLowerCase());
    if (known === undefined || text.trim() === "") continue;
    const last = merged.at(-1);
    if (last?.role === known) merged.splice(-1, 1, { role: known, text: `${last.text}\n${text}` });
    else if (last !== undefined || known === "user") merged.push({ role: known, text });
  }
  if (merged.length > 1 && merged.at(-1)?.role === "user") merged.pop();
  return merged;
}

const roles = ["user", "assistant"] as const;

/** A replay that was refused this often is not sent again. */
const maxRejections = 2;

/** Keeps a replay that the provider refused twice from being sent again in the same session. */
export class ReplayBreaker {
  readonly #logger: Logger;
  #session: string | undefined;
  #rejections = 0;

  /** @param logger told once for each session that is replayed no more. */
  constructor(logger: Logger = silentLogger) {
    this.#logger = logger;
  }

  /**
   * Whether the session may be replayed. Another session than before starts afresh.
   *
   * @param session ours, not the provider's: it has a new one after each end. One of them at a time.
   */
  mayReplay(session: string): boolean {
    return session !== this.#session || this.#rejections < maxRejections;
  }

  /** The provider refused a replay of this session. @returns whether that was the last one. */
  rejected(session: string): boolean {
    if (session !== this.#session) this.#rejections = 0;
    this.#session = session;
    this.#rejections++;
    if (this.#rejections !== maxRejections) return this.#rejections > maxRejections;
    const fields = { session, rejections: this.#rejections };
    this.#logger.warn(fields, "the conversation is not replayed again in this session");
    return true;
  }

  /** The provider took a replay: only refusals in a row count. */
  accepted(session: string): void {
    if (session === this.#session) this.#rejections = 0;
  }
}
