// Which reaction a message has. It is derived from the packages, so that neither a kill nor two clicks at once
// leave a message with two.
import { join } from "node:path";
import type { PackageOwners } from "../package/record.ts";
import { idOf, placesIn } from "./names.ts";
import type { PackagePorts } from "./ports.ts";
import { readFolder } from "./read-package.ts";
import { isInFlight, readStatus } from "./status.ts";
import { ownersOf } from "./whose.ts";

/** A person's reaction to the answers and tool results of a turn. */
export interface MessageReaction {
  readonly message_ids: readonly string[];
  readonly sentiment: "positive" | "negative";
  /** Of its package. */
  readonly name: string;
}

/** The reactions that the packages of a directory hold. Each package is read once, when it is first asked for. */
export class Reactions {
  readonly #ports: PackagePorts;
  readonly #supersede: (name: string, by: string) => Promise<unknown>;
  /** By the names of packages; `undefined`: one that cannot be read. */
  readonly #owners = new Map<string, PackageOwners | undefined>();

  constructor(ports: PackagePorts, supersede: (name: string, by: string) => Promise<unknown>) {
    this.#ports = ports;
    this.#supersede = supersede;
  }

  /** The reactions of a chat as they are now: one for a message. An older one is marked as superseded. */
  async of(chatId: string): Promise<readonly MessageReaction[]> {
    const folders = await this.#look();
    const live: MessageReaction[] = [];
    const newest = new Map<string, string>();
    for (const { name, message_ids } of this.#newestFirst(chatId)) {
      const status = await readStatus(this.#ports, name);
      if (status === undefined || (!folders.has(name) && isInFlight(status))) continue;
      const newer = message_ids.map((id) => newest.get(id)).find((one) => one !== undefined);
      if (newer !== undefined) {
        if (status.retracted === null) await this.#supersede(name, newer);
        continue;
      }
      for (const messageId of message_ids) newest.set(messageId, idOf(name));
      const sentiment = name.includes("_positive_") ? "positive" : "negative";
      if (status.retracted === null) live.push({ message_ids, sentiment, name });
    }
    return live;
  }

  /** The id of the package of the reaction to a message. */
  async to(chatId: string | undefined, messageId: string | undefined): Promise<string | undefined> {
    if (chatId === undefined || messageId === undefined) return undefined;
    const given = (await this.of(chatId)).find(({ message_ids: ids }) => ids.includes(messageId));
    return given && idOf(given.name);
  }

  /** Reads what is new. @returns the packages whose files are here. */
  async #look(): Promise<ReadonlySet<string>> {
    const { disk, path } = this.#ports;
    const places = await placesIn(this.#ports);
    const named = (as: string) => places.filter((place) => place.as === as).map(({ name }) => name);
    const folders = new Set(named("package"));
    const all = new Set([...folders, ...named("status")]);
    for (const name of this.#owners.keys()) if (!all.has(name)) this.#owners.delete(name);
    for (const name of all) {
      if (this.#owners.has(name)) continue;
      const { manifest } = await readFolder(disk, join(path, name), name);
      const of = manifest ? ownersOf(manifest, []) : (await readStatus(this.#ports, name))?.of;
      this.#owners.set(name, of);
    }
    return folders;
  }

  #newestFirst(chatId: string) {
    const found = [...this.#owners].flatMap(([name, of]) => {
      return of?.chat_id === chatId && of.judged !== undefined ? [{ name, ...of.judged }] : [];
    });
    // Time alone does not tell: a clock may be put back.
    const older = new Set(found.map(({ supersedes }) => supersedes));
    const rank = (name: string) => (older.has(idOf(name)) ? 1 : 0);
    return found.sort((a, b) => {
      return rank(a.name) - rank(b.name) || b.timestamp - a.timestamp || (a.name < b.name ? 1 : -1);
    });
  }
}
