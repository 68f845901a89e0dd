import { join } from "node:path";
import { outcomeUnknown, type ThroughlineError, unavailable } from "../../errors.ts";
import {
  type HomePorts,
  isFull,
  rethrow,
  syncNames,
  unlinkIfThere,
  writeAll,
} from "./file-ports.ts";
import { type Frame, frameLength, headerChange, putFrame } from "./journal-frame.ts";
import { type FoundJournal, RecoveredLogs, readJournal } from "./journal-recovery.ts";
import {
  createSegment,
  isMoved,
  noteChange,
  type Segment,
  syncFolder,
  syncLogs,
} from "./journal-segment.ts";

/** Its name in the home. */
export const journalFolder = "journal";

/** The home is idle when nothing was written for so long. */
const idleMs = 5_000;

/** How often the segment in use is looked for, in milliseconds. */
const lookMs = 1_000;

/** So many full segments are freed together, and with so many, changes wait until one is free. */
const sealed = { freed: 2, most: 4 } as const;

/** The files of the journal of a home: begun, full, freed once their logs are synced, and used again. */
export class Segments {
  readonly #ports: HomePorts;
  readonly #folder: string;
  #active: Segment | undefined;
  /** They take no more, oldest first, and are free once their logs are synced. */
  readonly #sealed: Segment[] = [];
  /** Free, to be used again. */
  readonly #spare: Segment[] = [];
  /** Of the next frame. */
  position = 0;
  /** Of the newest segment. */
  #nth = 0;
  /** What the last process left in it. */
  readonly recovered: RecoveredLogs;
  /** It may hold a group of unknown outcome. */
  #isUncertain = false;
  #isAwaitingIdle = false;
  #lookedAt = 0;
  #closed = false;
  /** How many calls empty the journal because something is to be forgotten. */
  #forgetting = 0;
  /** How many calls empty the journal. */
  #emptying = 0;
  /** Settles when the last segment was begun, or could not be. */
  #beginning: Promise<unknown> = Promise.resolve();
  #freeing: Promise<void> = Promise.resolve();
  readonly #doubtful = new Set<string>();

  constructor(ports: HomePorts) {
    this.#ports = ports;
    this.recovered = new RecoveredLogs(ports);
    this.#folder = join(ports.home, journalFolder);
  }

  /**
   * Takes up what the last process left in it. Called once, before anything else reads or writes a log. Each log
   * is made to end as the journal says when it is opened (`complete`), and all others a little later.
   */
  async recover(): Promise<void> {
    try {
      const found = await readJournal(this.#ports, this.#folder);
      const { segments, frames } = found;
      this.#sealed.push(...segments);
      this.#nth = Math.max(found.nth, this.#ports.index.nth);
      if (segments.length === 0) return;
      await this.#takeUp(found);
      await this.recovered.add(frames);
      this.#ports.timers.after(idleMs, () => this.#checkpoint());
    } catch (error) {
      await this.#closeFiles();
      rethrow("the journal", error);
    }
  }

  /** The segment that a group goes to: the next one where this one has no room for it. */
  async withRoom(length: number): Promise<Segment> {
    if (this.#active !== undefined && this.#isLost(this.#active)) this.#checkpoint();
    let segment = this.#active;
    // A call that empties the journal may seal a segment before anything was written to it.
    while (segment === undefined || this.#isFull(segment, length)) {
      await this.#nextSegment();
      segment = this.#active;
    }
    return segment;
  }

  /**
   * Looks now and then whether somebody removed the segment in use. A start would not find what is in it, so its
   * logs are synced instead. What was written to it before is lost in the same way: looking more often saves nothing.
   */
  #isLost(segment: Segment): boolean {
    const now = performance.now();
    if (now - this.#lookedAt < lookMs) return false;
    this.#lookedAt = now;
    return isMoved(segment);
  }

  #isFull(segment: Segment, more: number): boolean {
    return segment.logs.size > 0 && segment.end + more > this.#ports.segmentBytes;
  }

  /** A group was perhaps written. The header of a segment that begins at its position makes it void. */
  async giveUp(segment: Segment, cause: unknown): Promise<ThroughlineError> {
    segment.isReusable = false; // it must go for good before the one that makes this group void
    if (this.#active === segment) this.#seal();
    const position = this.position;
    try {
      const next = await this.#nextSegment();
      await next.file.sync();
      return unavailable("the journal could not be written. Nothing was stored", cause);
    } catch {
      this.#seal();
      this.position = position;
      this.#isUncertain = true;
      const message = "the journal could not be written, nor a new one begun";
      return outcomeUnknown(message, cause);
    }
  }

  /** Frees what it holds once nothing was written for a while: the next start has less to do then. */
  awaitIdle(): void {
    if (this.#isAwaitingIdle) return;
    this.#isAwaitingIdle = true;
    const seen = this.position;
    this.#ports.timers.after(idleMs, () => {
      this.#isAwaitingIdle = false;
      if (this.position === seen) this.#checkpoint();
      else if (!this.#closed) this.awaitIdle();
    });
  }

  /** Frees what it holds, in the background. */
  #checkpoint(): void {
    if (this.#closed) return;
    this.#seal();
    void this.#inTurn(() => this.#freeSealed()).catch(() => undefined); // tried again
  }

  /**
   * Syncs the logs and removes what the journal holds: nothing that was written to it before this call is
   * in it when this resolves.
   *
   * @throws ThroughlineError `THROUGHLINE_UNAVAILABLE`: some of it is left.
   */
  async empty(): Promise<void> {
    this.#forgetting++;
    await this.#empty().finally(() => this.#forgetting--);
  }

  /** Removes what may have been stored by an append of unknown outcome. @throws as `empty` does. */
  async settle(): Promise<void> {
    if (this.#isUncertain) await this.empty();
  }

  async #empty(): Promise<void> {
    this.#emptying++;
    try {
      await this.#beginning; // what is to be forgotten may lie in the file that it uses again
      this.#seal();
      await this.#inTurn(async () => {
        await this.#freeSealed();
        while (this.#spare.length > 0) await this.#removeSpare();
        if (this.#ports.unsyncedNames.has(this.#folder)) await syncNames(this.#ports, this.#folder);
        this.#isUncertain = false;
      });
    } catch (cause) {
      throw unavailable("the journal still holds what was written: it could not be emptied", cause);
    } finally {
      this.#emptying--;
    }
  }

  /** Empties it. What cannot be done now is done when the home is opened again. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#empty().catch(() => undefined);
    await this.#closeFiles();
  }

  async #closeFiles(): Promise<void> {
    this.#seal();
    for (const { file } of [...this.#sealed, ...this.#spare]) {
      await file.close().catch(() => undefined);
    }
  }

  /**
   * Begins a segment with what the last process wrote last, and syncs it. A sync of that process may have
   * failed and thrown it away: what is believed now must still be there after the next power cut. On a full
   * disk it stays where it is, and is synced there.
   */
  async #takeUp({ segments, frames, from }: FoundJournal): Promise<void> {
    this.position = from;
    const last = frames.filter(({ position }) => position >= from);
    const segment = await this.#write(last).catch((error) => {
      if (!isFull(error)) throw error;
    });
    if (segment === undefined) {
      for (const { file, position, end } of segments) {
        await file.sync();
        this.position = position + end;
      }
    }
    const most = segment?.position ?? this.position;
    for (const found of segments) {
      const { path, nth, position } = found;
      // What comes after is in the new one, at positions of its own.
      found.end = Math.min(found.end, most - position);
      this.#ports.index.began({ path, nth, position, end: position + found.end });
    }
    if (segment !== undefined) this.#take(segment);
    this.#ports.index.published(this.position);
  }

  #seal(): void {
    if (this.#active !== undefined) this.#sealed.push(this.#active);
    this.#active = undefined;
  }

  async #nextSegment(): Promise<Segment> {
    this.#seal();
    if (this.#sealed.length >= sealed.freed) {
      const freeing = this.#inTurn(() => this.#freeSealed()).catch(() => undefined); // tried again
      if (this.#sealed.length >= sealed.most) await freeing;
    }
    return this.#begin();
  }

  /** Begins a segment. Its header is as durable as what is synced after it. */
  #begin(): Promise<Segment> {
    const begun = this.#write([]).then((segment) => this.#take(segment));
    this.#beginning = begun.catch(() => undefined);
    return begun;
  }

  #take(segment: Segment): Segment {
    const { path, nth, position, end } = segment;
    this.position = position + end;
    this.#ports.index.began({ path, nth, position });
    this.#active = segment;
    return segment;
  }

  /** Writes what a segment begins with: its header, and frames of older ones. */
  async #write(repeated: readonly Frame[]): Promise<Segment> {
    const nth = ++this.#nth;
    // While the journal is emptied, a spare one holds what is to be forgotten.
    for (let first = this.#spare[0]; first && isMoved(first); first = this.#spare[0]) {
      this.#spare.shift(); // somebody removed it
      await first.file.close().catch(() => undefined);
    }
    const spare = this.#emptying === 0 ? this.#spare.shift() : undefined;
    const segment = spare ?? (await createSegment(this.#ports, this.#folder, nth));
    const unsynced = this.#ports.durability === "process";
    const header = headerChange({ nth, repeated: repeated.length, unsynced });
    const all = [header, ...repeated];
    const bytes = Buffer.allocUnsafe(all.reduce((sum, change) => sum + frameLength(change), 0));
    const position = this.position;
    segment.nth = nth;
    segment.position = position;
    segment.end = 0;
    for (const change of all) {
      const place = { position: position + segment.end, durable: position };
      segment.end = putFrame(bytes, segment.end, change, place);
    }
    try {
      await writeAll(segment.file, bytes, 0);
      // The next start must know of it, whatever else a power cut takes.
      if (repeated.length > 0 || this.#ports.durability === "process") await segment.file.sync();
    } catch (error) {
      // Nothing is in it: it is used again, or goes with the others.
      if (spare !== undefined) this.#spare.unshift(spare);
      else await this.#remove(segment).catch(() => this.#sealed.push(segment));
      throw error;
    }
    for (const { path, offset } of repeated) noteChange(segment, path, offset);
    return segment;
  }

  /** One call at a time. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#freeing.then(work);
    this.#freeing = done.catch(() => undefined);
    return done;
  }

  /** Makes the logs durable that the sealed segments name, after which these are of no use. */
  async #freeSealed(): Promise<void> {
    for (let segment = this.#sealed[0]; segment !== undefined; segment = this.#sealed[0]) {
      await segment.settled;
      const all = { segments: this.#segments(), doubtful: this.#doubtful };
      // First: an index that fails must not keep the logs from becoming durable.
      await syncLogs(this.#ports, segment, all, (name) => this.recovered.complete(name));
      const end = segment.position + segment.end;
      // What is to be forgotten goes also where a full disk takes nothing of the index.
      if (this.#forgetting > 0) await this.#ports.index.sync(end, "replace");
      else await this.#ports.index.sync(end);
      // Older ones go first: it may hold what takes a change of theirs back.
      const most = segment.isReusable ? sealed.freed : 1;
      while (this.#spare.length >= most) await this.#removeSpare();
      if (!segment.isReusable) await this.#remove(segment);
      if (segment.isReusable) this.#spare.push(segment);
      this.#sealed.shift();
      segment.logs.clear();
      segment.newNamesIn.clear();
    }
  }

  #segments(): readonly Segment[] {
    return this.#active === undefined ? this.#sealed : [...this.#sealed, this.#active];
  }

  async #removeSpare(): Promise<void> {
    const oldest = this.#spare.shift();
    if (oldest === undefined) return;
    try {
      await this.#remove(oldest);
    } catch (error) {
      this.#spare.unshift(oldest); // if it has no name any more, the next segment does without it
      throw error;
    }
  }

  /**
   * The oldest goes first, and for good, before the next one: a change must not be found again without the
   * one that took it back.
   */
  async #remove({ path, file }: Segment): Promise<void> {
    this.#ports.guard();
    await unlinkIfThere(this.#ports.disk, path);
    await syncFolder(this.#ports, this.#folder);
    await file.close().catch(() => undefined); // it has no name any more
  }
}
