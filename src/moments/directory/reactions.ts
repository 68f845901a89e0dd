// Which reaction a message has. It is derived from the packages, so that neither a kill nor two clicks at once
// leave a message with two.
import { packageId } from "../package/package-name.ts";
import type { PackageOwners } from "../package/record.ts";
import { placesIn } from "./names.ts";
import { isInFlight, readStatus } from "./notes.ts";
import type { PackagePorts } from "./ports.ts";
import { readFolder } from "./read-package.ts";
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
    const places = await this.#look();
    const live: MessageReaction[] = [];
    const newest = new Map<string, string>();
    for (const { name, message_ids } of this.#newestFirst(chatId)) {
      const status = await readStatus(this.#ports, name);
      if (status === undefined || (!places.get(name)?.has("package") && isInFlight(status)))
        continue;
      const newer = message_ids.map((id) => newest.get(id)).find((one) => one !== undefined);
      if (newer !== undefined) {
        if (status.retracted === null) await this.#supersede(name, newer);
        continue;
      }
      for (const messageId of message_ids) newest.set(messageId, packageId(name));
      const sentiment = name.includes("_positive_") ? "positive" : "negative";
      if (status.retracted === null) live.push({ message_ids, sentiment, name });
    }
    return live;
  }

  /** The id of the package of the reaction to a message. */
  async to(chatId: string | undefined, messageId: string | undefined): Promise<string | undefined> {
    if (chatId === undefined || messageId === undefined) return undefined;
    const given = (await this.of(chatId)).find(({ message_ids: ids }) => ids.includes(messageId));
    return given && packageId(given.name);
  }

  /** Reads what is new. @returns what there is of each package. */
  async #look() {
    const places = await placesIn(this.#ports);
    for (const name of this.#owners.keys()) if (!places.has(name)) this.#owners.delete(name);
    for (const [name, as] of places) {
      if (this.#owners.has(name) || !(as.has("package") || as.has("status"))) continue;
      const { manifest } = await readFolder(this.#ports, name);
      const of = manifest ? ownersOf(manifest, []) : (await readStatus(this.#ports, name))?.of;
      this.#owners.set(name, of);
    }
    return places;
  }

  #newestFirst(chatId: string) {
    const found = [...this.#owners].flatMap(([name, of]) => {
      return of?.chat_id === chatId && of.judged !== undefined ? [{ name, ...of.judged }] : [];
    });
    // Time alone does not tell: a clock may be put back.
    const older = new Set(found.map(({ supersedes }) => supersedes));
    const rank = (name: string) => (older.has(packageId(name)) ? 1 : 0);
    return found.sort((a, b) => {
      return rank(a.name) - rank(b.name) || b.timestamp - a.timestamp || (a.name < b.name ? 1 : -1);
    });
  }
}
