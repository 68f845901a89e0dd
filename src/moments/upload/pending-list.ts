import type { UploadError } from "../package/package-format.ts";

/** What the loop keeps in memory of a status or a tombstone: some 200 bytes, so 10,000 take 2 MB. */
export interface PendingItem {
  readonly name: string;
  readonly as: "status" | "tombstone";
  /** `unread`: only its name is known. */
  state: "unread" | "pending" | "failed";
  /** On the monotonic clock. */
  dueAt: number;
  /** Seconds since 1970. */
  since: number;
  bytes: number;
  attempts: number;
  sentThrough: number;
  /** Later ones go after earlier ones: those that yielded or failed, in that order. */
  behind: number;
  error: UploadError | null;
  /** How often something asked for it: what was read before the last time does not count. */
  asked: number;
  /** It is about to be deleted: it is not begun any more. */
  isHeld: boolean;
}

/** What is to be sent, oldest first. */
export class PendingList {
  readonly #items = new Map<string, PendingItem>();
  #turn = 0;

  /** One that is there already is given back. */
  add(name: string, as: PendingItem["as"]): PendingItem {
    const known = this.get(name, as);
    if (known !== undefined) return known;
    const item: PendingItem = {
      name,
      as,
      state: "unread",
      dueAt: 0,
      since: 0,
      bytes: 0,
      attempts: 0,
      sentThrough: 0,
      behind: 0,
      error: null,
      asked: 0,
      isHeld: false,
    };
    this.#items.set(`${name}.${as}`, item);
    return item;
  }

  get(name: string, as: PendingItem["as"]): PendingItem | undefined {
    return this.#items.get(`${name}.${as}`);
  }
  has(item: PendingItem): boolean {
    return this.get(item.name, item.as) === item;
  }
  delete({ name, as }: PendingItem): void {
    this.#items.delete(`${name}.${as}`);
  }
  values(): readonly PendingItem[] {
    return Array.from(this.#items.values());
  }
  putBehind(item: PendingItem): void {
    item.behind = ++this.#turn;
  }

  /** The oldest `count` that were not read yet. */
  unread(count: number): readonly PendingItem[] {
    const found: PendingItem[] = [];
    for (const item of this.#items.values()) {
      if (found.length === count) break;
      if (item.state === "unread") found.push(item);
    }
    return found;
  }

  /** The one whose turn it is, of those that are due. */
  next(now: number): PendingItem | undefined {
    let first: PendingItem | undefined;
    for (const item of this.#items.values()) {
      if (!isReady(item) || item.dueAt > now) continue;
      if (first === undefined || isBefore(item, first)) first = item;
    }
    return first;
  }

  /** When the first of those that wait is due; `undefined`: none waits. */
  dueAt(): number | undefined {
    let first: number | undefined;
    for (const item of this.#items.values()) {
      if (isReady(item)) first = Math.min(first ?? item.dueAt, item.dueAt);
    }
    return first;
  }
}

const isReady = ({ state, isHeld }: PendingItem) => state === "pending" && !isHeld;

function isBefore(left: PendingItem, right: PendingItem): boolean {
  return left.behind === right.behind ? left.name < right.name : left.behind < right.behind;
}
