import { createHash } from "node:crypto";
import type { LogStore } from "../../storage/log-store.ts";

/** The mark of one forgetting that has begun. */
export interface Mark {
  readonly id: string;
  readonly hash: string;
  readonly at: string;
}

const key = "chats";

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

  async end(mark: Mark): Promise<void> {
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
