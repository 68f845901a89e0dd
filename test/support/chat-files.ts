// What any other program sees of the chats: files to which whole lines of JSON are added.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";

interface Known {
  readonly bytes: number;
  readonly digest: string;
  /** Its size and the time of its last change: with both as they were it is not read again. */
  readonly stamp: string;
}

/** The files of a folder, looked at again and again while others write them. */
export class ChatFiles {
  readonly #folder: string;
  readonly #known = new Map<string, Known>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Checks that each file holds lines of JSON and begins with the whole lines that it had when it was
   * looked at before.
   *
   * @returns how many there are, and how many end in the middle of a line: a batch that spans pages of
   * the kernel can be seen, or be left by a kill, with some of its pages.
   */
  look(): { readonly files: number; readonly halves: number } {
    let files = 0;
    let halves = 0;
    for (const name of fs.existsSync(this.#folder) ? fs.readdirSync(this.#folder) : []) {
      if (!name.endsWith(".jsonl")) continue;
      files++;
      const known = this.#known.get(name);
      const { size, mtimeNs } = fs.statSync(join(this.#folder, name), { bigint: true });
      const stamp = `${size} ${mtimeNs}`;
      if (known?.stamp === stamp) continue;
      const bytes = fs.readFileSync(join(this.#folder, name));
      const end = bytes.lastIndexOf("\n") + 1;
      if (end < bytes.length) halves++;
      const whole = bytes.subarray(0, end);
      assert.ok(!bytes.includes(0), `${name} has a NUL byte`);
      const from = known?.bytes ?? 0;
      const before = whole.subarray(0, from);
      assert.ok(before.length === from, `${name} got shorter`);
      if (known !== undefined) assert.equal(digestOf(before), known.digest, `${name} was changed`);
      for (const line of whole.subarray(from).toString().split("\n").slice(0, -1)) {
        assert.equal(typeof JSON.parse(line), "object", `a line of ${name}`);
      }
      this.#known.set(name, { bytes: end, digest: digestOf(whole), stamp });
    }
    return { files, halves };
  }
}

const digestOf = (bytes: Uint8Array) => hash("sha1", bytes);
