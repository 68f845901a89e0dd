import { createHash } from "node:crypto";
import type { LogStore } from "../../storage/log-store.ts";

/** The mark of one forgetting that has begun. */
export interface Mark {
  readonly id: string;
  readonly hash: string;
  readonly at: string;
}

const key = "chats";

/** What the id of a mark ends in when the forgetting has ended. */
const doneSuffix = /-done$/;

/**
 * Which chats were forgotten, and when: hashes of their ids, never the ids. Written before anything is
 * removed, so that a crash midway is finished at the next start; kept, so that an import does not
 * bring back what a person asked to forget.
 */
export class Tombstones {
  readonly #logs: LogStore;

  constructor(logs: LogStore) {
    this.#logs = logs;
  }

  async begin(chatId: string, at: string, id: string): Promise<Mark> {
    const mark = { id, hash: hashOf(chatId), at };
    await this.#logs.append(key, [{ ...mark, state: "begun" }]);
    return mark;
  }

  async finish(mark: Mark): Promise<void> {
    await this.#logs.append(key, [{ ...mark, id: `${mark.id}-done`, state: "done" }]);
  }

  /** The hashes of the chats whose forgetting has begun and not ended. */
  async begun(): Promise<ReadonlySet<string>> {
    const begun = new Set<string>();
    for await (const mark of this.#logs.read(key)) {
      if (mark["state"] === "begun") begun.add(String(mark["hash"]));
      else begun.delete(String(mark["hash"]));
    }
    return begun;
  }

  /**
   * Which chats were forgotten after a place in the log, those that are being forgotten among them, and
   * the place where it ends.
   *
   * @param known ids of marks that do not count.
   */
  async after(
    place: number,
    known: ReadonlySet<string>,
  ): Promise<{ readonly has: (chatId: string) => boolean; readonly end: number }> {
    const hashes = new Set<string>();
    let end = place;
    for await (const mark of this.#logs.read(key, { after: place })) {
      if (!known.has(mark.id.replace(doneSuffix, ""))) hashes.add(String(mark["hash"]));
      end = mark.seq;
    }
    return { has: (chatId) => hashes.has(hashOf(chatId)), end };
  }

  /** Where the marks end. */
  async end(): Promise<number> {
    return (await this.#logs.tail(key, 0))?.seq ?? 0;
  }

  /** When this chat was last forgotten, ISO 8601. */
  async forgottenAt(chatId: string): Promise<string | undefined> {
    const hash = hashOf(chatId);
    let at: string | undefined;
    for await (const mark of this.#logs.read(key)) {
      if (mark["hash"] === hash) at = String(mark["at"]);
    }
    return at;
  }
}

export const hashOf = (chatId: string): string => createHash("sha256").update(chatId).digest("hex");
