import { movesKey, movesOf } from "../../core/chat/move-under-way.ts";
import { type Clock, isoTime } from "../../core/clock.ts";
import type { NewId } from "../../core/ids.ts";
import type { JsonObject } from "../../core/json.ts";
import type { LogHead } from "../../core/storage/log-store.ts";
import type { Storage } from "../../core/storage/storage.ts";
import { append } from "./copy-log.ts";

export { moveUnderWay } from "../../core/chat/move-under-way.ts";

/**
 * What the target itself keeps of the moves into it: a log of its own that no move copies. Thereby a
 * move that was killed goes on, and knows which documents it wrote.
 */
export class MoveNotes {
  readonly #target: Storage;
  readonly #ports: { readonly clock: Clock; readonly newId: NewId };
  readonly #written = new Set<string>();
  #head: LogHead = {};

  private constructor(target: Storage, ports: { readonly clock: Clock; readonly newId: NewId }) {
    this.#target = target;
    this.#ports = ports;
  }

  static async read(
    target: Storage,
    ports: { readonly clock: Clock; readonly newId: NewId },
  ): Promise<MoveNotes> {
    const notes = new MoveNotes(target, ports);
    const logs = movesOf(target);
    notes.#head = (await logs.tail(movesKey, 0))?.head ?? {};
    for await (const note of logs.read(movesKey)) {
      if (note["kind"] === "move_document") notes.#written.add(String(note["sha256"]));
    }
    return notes;
  }

  get isUnderWay(): boolean {
    return this.#head["state"] === "begun";
  }

  /** All that the target holds was put there by a move that has not ended. */
  get holdsOnlyCopies(): boolean {
    return this.isUnderWay && this.#head["was_empty"] === true;
  }

  /** Whether a move wrote a document with this digest. */
  wrote(sha256: string): boolean {
    return this.#written.has(sha256);
  }

  async begin(wasEmpty: boolean): Promise<void> {
    if (this.isUnderWay) return;
    const at = isoTime(this.#ports.clock.now());
    await this.#note("move_begun", { at }, { state: "begun", at, was_empty: wasEmpty });
  }

  /** Before the document is written: whatever happens then, it is known for a copy. */
  async document(name: string, sha256: string): Promise<void> {
    if (this.wrote(sha256)) return;
    await this.#note("move_document", { name, sha256 });
    this.#written.add(sha256);
  }

  async end(totals: JsonObject): Promise<void> {
    const at = isoTime(this.#ports.clock.now());
    await this.#note("move_done", { at, ...totals }, { state: "done", at });
  }

  async #note(kind: string, fields: JsonObject, head?: LogHead): Promise<void> {
    const note = { id: this.#ports.newId(), kind, ...fields };
    await append(movesOf(this.#target), movesKey, [note], { head });
    this.#head = head ?? this.#head;
  }
}
