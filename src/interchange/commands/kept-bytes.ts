import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { isErrno } from "../../cli/failure.ts";
import { isoTime, systemClock } from "../../core/clock.ts";
import { fileNameOf } from "../../core/storage/files/file-name.ts";
import type { RepairReport } from "../../core/storage/storage.ts";
import type { KeptFor } from "../import.ts";

/**
 * Keeps what an import could not use in `<home>/quarantine/`, byte for byte, a piece a line. The name begins as the store's own pieces of that chat do, so that
 * forgetting the chat removes it too; it is the same for the same source.
 */
export class KeptBytes {
  readonly #directory: string;
  #open:
    | { readonly path: string; readonly about: KeptFor; readonly file: FileHandle; bytes: number }
    | undefined;
  #piece: KeptFor["piece"] | undefined;
  readonly kept: string[] = [];

  constructor(home: string) {
    this.#directory = join(home, "quarantine");
  }

  readonly keep = async (bytes: Uint8Array, about: KeptFor): Promise<void> => {
    const path = join(this.#directory, nameFor(about));
    if (this.#open?.path !== path) {
      await this.done();
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW = 0 } = constants;
      const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
      const file = await open(`${path}.tmp`, flags, 0o600);
      this.#open = { path, about, file, bytes: 0 };
    }
    const { file } = this.#open;
    if (this.#open.bytes > 0 && this.#piece !== about.piece) await file.writeFile("\n");
    await file.writeFile(bytes);
    this.#piece = about.piece;
    this.#open.bytes += bytes.length;
  };

  /** What was handed over is on the disk. */
  async done(): Promise<void> {
    if (this.#open === undefined) return;
    const { path, about, file, bytes } = this.#open;
    this.#open = undefined;
    await file.sync();
    await file.close();
    await rename(`${path}.tmp`, path);
    const name = `quarantine/${nameFor(about)}`;
    this.kept.push(name);
    const report: RepairReport = {
      at: isoTime(systemClock.now()),
      key: `chats/${about.chatId}`,
      kind: "foreign_lines",
      bytes,
      after_seq: 0,
      quarantined: name,
      reason: `lines of ${about.piece.source} that could not be imported`,
    };
    await writeFile(`${path}.json`, `${JSON.stringify(report)}\n`, { mode: 0o600 });
  }

  /** After an error: a file that is not whole is none. */
  async abandon(): Promise<void> {
    if (this.#open === undefined) return;
    const { path, file } = this.#open;
    this.#open = undefined;
    await file.close();
    await rm(`${path}.tmp`, { force: true }).catch((error: unknown) => {
      if (!isErrno(error)) throw error;
    });
  }
}

function nameFor({ chatId, digest }: KeptFor): string {
  const log = `${fileNameOf(chatId)}.jsonl`;
  const crc = crc32(`chats/${log}`).toString(16).padStart(8, "0");
  return `chats-${log}.${crc}.import-${digest}.bytes`;
}
