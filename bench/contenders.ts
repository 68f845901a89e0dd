// Who stores the same turns in one run: the raw floor, this product, the product of another commit where
// `--against` names one, a table by hand, and LMDB.
import { LmdbStore } from "./lmdb-store.ts";
import { load, roots, turn } from "./product.ts";
import { RawFile } from "./raw-file.ts";
import { SqliteTable } from "./sqlite-table.ts";

export interface Contender {
  append(chat: string): unknown;
  close(): unknown;
}

export interface Place {
  readonly dir: string;
  /** What one turn adds to the file of its chat. */
  readonly bytes: number;
  /** At `process` nothing is synced. @default "power-cut" */
  readonly durability?: "power-cut" | "process" | undefined;
}

/** Opens a product on the home that figures of this directory share. */
export async function openProduct(name: string, { dir, durability }: Omit<Place, "bytes">) {
  const { openThroughline } = await load(name);
  return openThroughline({ home: homeOf(name, dir), durability: durability ?? "power-cut" });
}

export const homeOf = (name: string, dir: string) => `${dir}/home-${name}`;

/** One file for each chat, which stays open. */
function floor({ dir, bytes, durability }: Place): Contender {
  const files = new Map<string, RawFile>();
  return {
    append(chat) {
      const file = files.get(chat) ?? new RawFile(`${dir}/raw-${chat}`, bytes);
      files.set(chat, file);
      if (durability === "process") file.write();
      else file.writeDurably();
    },
    close() {
      for (const file of files.values()) file.close();
    },
  };
}

async function product(name: string, place: Place): Promise<Contender> {
  const throughline = await openProduct(name, place);
  return {
    append: (chat) => throughline.chats.append(chat, turn()),
    close: () => throughline.close(),
  };
}

const makers: Readonly<Record<string, (place: Place) => Contender | Promise<Contender>>> = {
  floor,
  ...Object.fromEntries(
    Object.keys(roots).map((name) => [name, (place: Place) => product(name, place)]),
  ),
  sqlite: ({ dir, durability }) =>
    new SqliteTable(`${dir}/table.db`, durability === "process" ? "off" : "full"),
  lmdb: ({ dir }) => new LmdbStore(`${dir}/lmdb`),
};

/** Without a sync LMDB has nothing that corresponds. */
export const namesAt = (durability: Place["durability"]) =>
  Object.keys(makers).filter((name) => name !== "lmdb" || durability !== "process");

/** Opens contenders, all of the level where no names are given. */
export async function openContenders(
  place: Place,
  names: readonly string[] = namesAt(place.durability),
): Promise<Readonly<Record<string, Contender>>> {
  const open: Record<string, Contender> = {};
  for (const name of names) {
    const make = makers[name];
    if (make !== undefined) open[name] = await make(place);
  }
  return open;
}

export async function closeAll(contenders: Readonly<Record<string, Contender>>): Promise<void> {
  for (const contender of Object.values(contenders)) await contender.close();
}
