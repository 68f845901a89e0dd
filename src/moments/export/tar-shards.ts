import type { Pack } from "tar-stream";
import type { OutFile } from "./out-file.ts";
import type { OutFolder } from "./out-folder.ts";

export interface TarMember {
  readonly name: string;
  readonly bytes: Uint8Array | readonly Uint8Array[];
}

/** Given to the disk at once. */
const writeBytes = 1024 * 1024;

type TarStream = typeof import("tar-stream");

/**
 * Members in `shard-000000.tar`, `shard-000001.tar` and so on. Members that are added together lie
 * side by side in one shard; a new shard begins once the last one has reached `maxBytes`. Once they are
 * added, their memory is the caller's again. No time and no owner goes in: equal members make equal
 * bytes.
 */
export class TarShards {
  readonly #folder: OutFolder;
  readonly #maxBytes: number;
  #shard: Shard | undefined;
  /** Given to this shard. Not what the disk has of it: that depends on its speed. */
  #bytes = 0;
  #count = 0;

  constructor(folder: OutFolder, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  async add(members: readonly TarMember[]): Promise<void> {
    const bytes = members.reduce((sum, member) => sum + tarBytes(member), 0);
    if (this.#shard !== undefined && this.#bytes + bytes > this.#maxBytes) await this.#end();
    this.#shard ??= await this.#begin();
    this.#bytes += bytes;
    await this.#shard.add(members);
  }

  async finish(): Promise<void> {
    await this.#end();
  }

  /** After an error. Once it resolves nothing writes to the file, which is the folder's to drop. */
  async abandon(): Promise<void> {
    await this.#shard?.abandon();
  }

  async #begin(): Promise<Shard> {
    const { default: tar } = await import("tar-stream");
    const name = `shard-${String(this.#count++).padStart(6, "0")}.tar`;
    return new Shard(tar.pack(), await this.#folder.create(name));
  }

  async #end(): Promise<void> {
    if (this.#shard === undefined) return;
    await this.#folder.finish(await this.#shard.end());
    this.#shard = undefined;
    this.#bytes = 0;
  }
}

/** Two empty blocks are the end of a tar. */
const endBytes = 1024;

/** A header, and the content up to a whole block of 512. */
function tarBytes({ bytes }: TarMember): number {
  return 512 + Math.ceil(sizeOf(bytes) / 512) * 512;
}

/** One tar file: its members pass through in pieces, as fast as the disk takes them. */
class Shard {
  readonly #pack: Pack;
  readonly #file: OutFile;
  readonly #written: Promise<unknown>;
  /** Bytes of all members. */
  #added = 0;
  /** Bytes that came out of the tar. */
  #taken = 0;
  #onTaken: (() => void) | undefined;

  constructor(pack: Pack, file: OutFile) {
    this.#pack = pack;
    this.#file = file;
    this.#written = this.#write().then(
      () => undefined,
      (error: unknown) => {
        pack.destroy(error instanceof Error ? error : new Error("the tar was not written"));
        return error;
      },
    );
  }

  async add(members: readonly TarMember[]): Promise<void> {
    for (const member of members) {
      await addMember(this.#pack, member, this.#written);
      this.#added += tarBytes(member);
    }
    // The stream may hold the last of them, which the caller will overwrite.
    const taken = new Promise<undefined>((resolve) => {
      this.#onTaken = () => this.#taken >= this.#added && resolve(undefined);
      this.#onTaken();
    });
    const error = await Promise.race([taken, this.#written]);
    if (error !== undefined) throw error;
  }

  async end(): Promise<OutFile> {
    this.#pack.finalize();
    const error = await this.#written;
    if (error !== undefined) throw error;
    if (this.#taken !== this.#added + endBytes) throw new Error("a tar of another size");
    return this.#file;
  }

  async abandon(): Promise<void> {
    this.#pack.destroy();
    await this.#written;
  }

  async #write(): Promise<void> {
    // Of a picture come three pieces, two of them smaller than a block: gathered, they are few writes.
    const gathered = Buffer.allocUnsafe(writeBytes);
    let filled = 0;
    for await (const chunk of this.#pack as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; ) {
        const taken = chunk.copy(gathered, filled, at);
        at += taken;
        filled += taken;
        if (filled < writeBytes) continue;
        await this.#file.write(gathered);
        filled = 0;
      }
      this.#taken += chunk.length;
      this.#onTaken?.();
    }
    if (filled > 0) await this.#file.write(gathered.subarray(0, filled));
  }
}

function sizeOf(bytes: TarMember["bytes"]): number {
  if (bytes instanceof Uint8Array) return bytes.length;
  return bytes.reduce((sum, piece) => sum + piece.length, 0);
}

async function addMember(pack: Pack, member: TarMember, failed: Promise<unknown>): Promise<void> {
  const { name, bytes } = member;
  const pieces = bytes instanceof Uint8Array ? [bytes] : bytes;
  const added = new Promise<undefined>((resolve, reject) => {
    const header = { name, mtime: new Date(0), mode: 0o644, uid: 0, gid: 0, size: sizeOf(bytes) };
    const entry = pack.entry(header, (error) => (error ? reject(error) : resolve(undefined)));
    void feed(entry, pieces);
  });
  // The disk's own error says more than that of the stream it broke.
  const error = await Promise.race([added.catch(() => failed), failed]);
  if (error !== undefined) throw error;
}

/** As fast as the disk takes them; a stream that breaks is told of by its entry. */
async function feed(entry: NodeJS.WritableStream, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    if (!entry.write(bytes)) await new Promise((resolve) => entry.once("drain", resolve));
  }
  entry.end();
}

/** A whole tar, in pieces: of the frames of one package. No picture is copied. */
export async function tarOf(members: readonly TarMember[]): Promise<readonly Uint8Array[]> {
  const { default: tar }: { default: TarStream } = await import("tar-stream");
  const pack = tar.pack();
  const chunks: Buffer[] = [];
  const read = (async () => {
    for await (const chunk of pack as AsyncIterable<Buffer>) chunks.push(chunk);
  })();
  const failed = read.then(
    () => undefined,
    (error: unknown) => error,
  );
  for (const member of members) await addMember(pack, member, failed);
  pack.finalize();
  await read;
  return chunks;
}
