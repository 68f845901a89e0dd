import { crc32 } from "node:zlib";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { changed, type FileNode } from "./file-node.ts";

/** One content that a file can have after a power cut. */
export interface DataVariant {
  readonly label: string;
  readonly content: Uint8Array;
  /** Equal for equal contents of one file. */
  readonly id: number;
}

/** What became of bytes that were written and not synced. */
type Fill = "old" | "zeroed" | "garbage";
export type Fate = "kept" | "lost" | "zeroed" | "garbage";

/** A place where a write broke, and what the disk holds on the side that did not arrive. */
export interface Tear {
  readonly sectorBytes: number;
  /** Offset in the file, a multiple of the sector size. */
  readonly at: number;
  readonly side: "end" | "after" | "before" | "sector";
  readonly fill: Fill;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** `"end"`: the file ends there. `"sector"`: only the sector that begins there is missing. */
const kinds = [
  { side: "end", fill: "old" },
  { side: "after", fill: "old" },
  { side: "before", fill: "zeroed" },
  { side: "after", fill: "garbage" },
  { side: "before", fill: "old" },
  { side: "after", fill: "zeroed" },
  { side: "before", fill: "garbage" },
  { side: "sector", fill: "zeroed" },
] as const satisfies readonly Pick<Tear, "side" | "fill">[];

const maxChanges = 16;
const maxTearsPerSize = 64;
const garbageBytes = 251; // a prime: no two sectors look alike

/**
 * The contents that one file can have after a power cut. Bytes that no unsynced change touched are
 * always as they were: sectors are torn, but what was durable in a torn sector stays ("powersafe
 * overwrite", as SQLite assumes of its disks).
 */
export class UnsyncedData {
  /** The durable content, and the content after each unsynced change or after 16 of them. */
  readonly #versions: readonly Uint8Array[];
  readonly #old: Uint8Array;
  readonly #new: Uint8Array;
  /** Where unsynced changes touched bytes: ascending, apart from each other. */
  readonly #touched: readonly Range[];
  readonly #garbage: Uint8Array;
  readonly #ids = new Map<number, number>();

  /** The seed decides what garbage is. */
  constructor(file: FileNode, seed: number) {
    const versions = [file.durable];
    const touched: Range[] = [];
    let content = file.durable;
    for (const change of file.unsynced) {
      const before = content.length;
      content = changed(content, change);
      versions.push(content);
      // A truncate that cuts touches no byte: the disk has the old size with its bytes, or the new.
      const start = change.kind === "write" ? change.position : before;
      const end = change.kind === "write" ? start + change.bytes.length : content.length;
      if (start < end) touched.push({ start: Math.min(before, start), end });
    }
    const step = Math.ceil(file.unsynced.length / maxChanges);
    this.#versions = versions.filter(
      (_, index) => index % step === 0 || index + 1 === versions.length,
    );
    this.#old = file.durable;
    this.#new = content;
    this.#touched = merged(touched);
    this.#garbage = garbageOf(seed);
  }

  /** The same fate for every unsynced byte. Only `"lost"` also loses the new size. */
  whole(fate: Fate): DataVariant {
    if (fate === "kept") return this.#variant(fate, this.#new);
    if (fate === "lost") return this.#variant(fate, this.#old);
    const content = new Uint8Array(this.#new);
    this.#paint(content, 0, content.length, fate);
    return this.#variant(fate, content);
  }

  /** The first changes kept, the others lost: each such content between the old and the new. */
  prefixes(): readonly DataVariant[] {
    return this.#versions
      .slice(1, -1)
      .map((content) =>
        this.#variant(`lost from some change on, ${content.length} bytes`, content),
      );
  }

  /** Every way in which the new content can break at a sector, or some when there are many. */
  tears(sectorSizes: readonly number[], random: Random): readonly Tear[] {
    return sectorSizes.flatMap((sectorBytes) => {
      const places = sample(this.#boundaries(sectorBytes), maxTearsPerSize, random);
      return places.flatMap((at) => kinds.map((kind) => ({ ...kind, sectorBytes, at })));
    });
  }

  torn({ sectorBytes, at, side, fill }: Tear): DataVariant {
    const label = `torn at ${at}, sectors of ${sectorBytes}, ${side} ${fill}`;
    if (side === "end") {
      const content = this.#base(Math.max(at, Math.min(this.#old.length, this.#new.length)));
      this.#paint(content, at, content.length, fill);
      return this.#variant(label, content);
    }
    const content = new Uint8Array(this.#new);
    const from = side === "before" ? 0 : at;
    const to = { before: at, after: content.length, sector: at + sectorBytes }[side];
    this.#paint(content, from, to, fill);
    return this.#variant(label, content);
  }

  /** Each touched sector from a version of its own, or zeroed, or garbage; and a size. */
  mixed(sectorSizes: readonly number[], random: Random): DataVariant {
    const sectorBytes = sectorSizes[random(sectorSizes.length)] ?? 512;
    const boundaries = this.#boundaries(sectorBytes);
    const grown = boundaries.filter((at) => at >= this.#old.length);
    const sizes = [...this.#versions.map(({ length }) => length), ...grown];
    const content = this.#base(sizes[random(sizes.length)] ?? this.#new.length);
    for (const { start, end } of this.#touched) {
      const first = start - (start % sectorBytes);
      for (let at = first; at < Math.min(end, content.length); at += sectorBytes) {
        const fate = random(8);
        if (fate < 3) continue;
        const version = this.#versions[random(this.#versions.length)] ?? this.#old;
        const fill = fate === 3 ? "zeroed" : fate === 4 ? "garbage" : fate === 5 ? "old" : version;
        this.#paint(content, at, at + sectorBytes, fill);
      }
    }
    return this.#variant(`mixed, sectors of ${sectorBytes}`, content);
  }

  /** Sector boundaries inside the new content that have touched bytes on their left or right. */
  #boundaries(sectorBytes: number): readonly number[] {
    const result = new Set<number>();
    for (const { start, end } of this.#touched) {
      const last = Math.min(end, this.#new.length - 1);
      for (let at = (Math.floor(start / sectorBytes) + 1) * sectorBytes; at <= last; ) {
        result.add(at);
        at += sectorBytes;
      }
    }
    return [...result];
  }

  /** The new content with another size: where it is too short, the old content shows. */
  #base(size: number): Uint8Array<ArrayBuffer> {
    const content = new Uint8Array(size);
    content.set(this.#old.subarray(0, size));
    content.set(this.#new.subarray(0, size));
    return content;
  }

  /** Overwrites the touched bytes from `from` to `to`; a version too short for them gives zeros. */
  #paint(content: Uint8Array, from: number, to: number, fill: Fill | Uint8Array): void {
    for (const range of this.#touched) {
      const start = Math.max(range.start, from);
      const end = Math.min(range.end, to, content.length);
      if (start >= end) continue;
      if (fill === "garbage") this.#spoil(content, start, end);
      else {
        content.fill(0, start, end);
        if (fill !== "zeroed") {
          const source = fill === "old" ? this.#old : fill;
          if (start < source.length) content.set(source.subarray(start, end), start);
        }
      }
    }
  }

  #spoil(content: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const from = at % garbageBytes;
      const count = Math.min(end - at, garbageBytes - from);
      content.set(this.#garbage.subarray(from, from + count), at);
      at += count;
    }
  }

  /** Told apart by checksum and size: once in 2^32 contents a new one is taken for a known one. */
  #variant(label: string, content: Uint8Array): DataVariant {
    const first = this.#touched[0]?.start ?? content.length;
    const key = crc32(content.subarray(first), content.length);
    const id = this.#ids.get(key) ?? this.#ids.size;
    this.#ids.set(key, id);
    return { label, content, id };
  }
}

/** Many small writes after each other become one range, which keeps painting cheap. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = result.at(-1);
    if (last === undefined || last.end < range.start) result.push(range);
    else result[result.length - 1] = { start: last.start, end: Math.max(last.end, range.end) };
  }
  return result;
}

/** Stale bytes. Every 16th or so ends a line, since that is what deceives a reader of lines. */
function garbageOf(seed: number): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length: garbageBytes }, () => (random(16) === 0 ? 10 : random(256)));
}

/** `count` of the items, chosen by `random`, in their order; all of them when there are fewer. */
export function sample<T>(items: readonly T[], count: number, random: Random): readonly T[] {
  let wanted = count;
  return items.filter((_item, index) => {
    if (random(items.length - index) >= wanted) return false;
    wanted--;
    return true;
  });
}
