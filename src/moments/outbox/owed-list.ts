import { kindOfId, nameOfId } from "./outbox.ts";
import type { OwedError } from "./outcome.ts";
import type { OwedEntry } from "./owed-entry.ts";

/** What is kept in memory of an entry: some 200 bytes, so that 10,000 of them are 2 MB. */
export interface OwedItem {
  readonly id: string;
  readonly name: string;
  /** `unread`: only its name is known. */
  state: "unread" | OwedEntry["state"];
  kind: OwedEntry["kind"];
  /** On the monotonic clock. */
  dueAt: number;
  /** Seconds since 1970. */
  firstAt: number;
  bytes: number;
  /** Later ones go after earlier ones: those that yielded or failed, in that order. */
  behind: number;
  error: OwedError | null;
  /** Somebody is about to take it away: it is not begun any more. */
  isHeld: boolean;
}

/** What is owed, oldest first. */
export class OwedList {
  /** Somebody asked for uploads in this run: what is read from now on is due at once, parked or not. */
  isAskedFor = false;
  readonly #items = new Map<string, OwedItem>();
  #turn = 0;

  add(id: string): OwedItem {
    const item: OwedItem = {
      ...{ id, name: nameOfId(id), state: "unread", kind: kindOfId(id), dueAt: 0 },
      ...{ firstAt: 0, bytes: 0, behind: 0, error: null, isHeld: false },
    };
    this.#items.set(id, item);
    return item;
  }

  get(id: string): OwedItem | undefined {
    return this.#items.get(id);
  }
  delete(id: string): void {
    this.#items.delete(id);
  }
  of(name: string): readonly OwedItem[] {
    return Array.from(this.#items.values()).filter((item) => item.name === name);
  }
  values(): Iterable<OwedItem> {
    return this.#items.values();
  }

  parked(): readonly OwedItem[] {
    return Array.from(this.#items.values()).filter(({ state }) => state === "parked");
  }

  putBehind(item: OwedItem): void {
    item.behind = ++this.#turn;
  }

  /** The oldest `count` that were not read yet. */
  unread(count: number): readonly OwedItem[] {
    const found: OwedItem[] = [];
    for (const item of this.#items.values()) {
      if (item.state === "unread") found.push(item);
      if (found.length === count) break;
    }
    return found;
  }

  /** The one whose turn it is, of those that are due. */
  next(now: number): OwedItem | undefined {
    let first: OwedItem | undefined;
    for (const item of this.#items.values()) {
      if (item.dueAt > now || !this.#isReady(item)) continue;
      if (first === undefined || isBefore(item, first)) first = item;
    }
    return first;
  }

  /** When the first of those that wait is due; `undefined`: none waits. */
  dueAt(): number | undefined {
    let first: number | undefined;
    for (const item of this.#items.values()) {
      if (this.#isReady(item)) first = Math.min(first ?? item.dueAt, item.dueAt);
    }
    return first;
  }

  /** A retraction waits for its package: until that is there, there is nothing to retract. */
  #isReady(item: OwedItem): boolean {
    if (item.state !== "pending" || item.isHeld) return false;
    const isAfterPackage = item.kind === "retraction" || item.kind === "sending";
    return !isAfterPackage || !this.#items.has(item.name);
  }
}

function isBefore(left: OwedItem, right: OwedItem): boolean {
  if (left.behind !== right.behind) return left.behind < right.behind;
  if (left.name !== right.name) return left.name < right.name;
  return left.id < right.id;
}
