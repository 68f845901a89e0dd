import type { LocalPackages, UploadedCopy } from "../../../src/moments/outbox/uploader-ports.ts";
import type { PackageStatus } from "../../../src/moments/package/package-format.ts";
import type { SamplePackage } from "./sample-package.ts";

/** Packages of this machine, in memory; what is done to them is counted. */
export class MemoryPackages implements LocalPackages {
  readonly packages = new Map<string, Map<string, Buffer>>();
  /** The status of each package. */
  readonly copies = new Map<string, UploadedCopy[]>();
  readonly retracted = new Map<string, NonNullable<PackageStatus["retracted"]>>();
  readonly released: string[] = [];
  reads = 0;
  /** The next note in a status fails so often. */
  failNotes = 0;
  /** What every note waits for. */
  noting: Promise<void> = Promise.resolve();

  add({ name, files }: SamplePackage): void {
    this.packages.set(name, new Map(files));
  }

  async has(name: string): Promise<boolean> {
    return this.packages.has(name);
  }
  async manifest(name: string): Promise<Buffer> {
    return this.part(name, "feedback.json");
  }
  async part(name: string, path: string): Promise<Buffer> {
    this.reads++;
    const bytes = this.packages.get(name)?.get(path);
    if (bytes !== undefined) return bytes;
    throw Object.defineProperty(new Error("no such file"), "code", { value: "ENOENT" });
  }
  async uploaded(name: string, copy: UploadedCopy): Promise<void> {
    await this.noting;
    if (this.failNotes > 0) {
      this.failNotes--;
      throw Object.defineProperty(new Error("disk"), "code", { value: "EIO" });
    }
    this.copies.set(name, [...(this.copies.get(name) ?? []), copy]);
  }
  async release(name: string): Promise<void> {
    this.packages.delete(name);
    this.released.push(name);
  }
  async remote(name: string, copy: UploadedCopy): Promise<void> {
    await this.uploaded(name, copy);
  }
  async dropRemote(name: string): Promise<void> {
    if (!this.packages.has(name)) this.copies.delete(name);
  }
  async status(name: string): Promise<PackageStatus> {
    const retracted = this.retracted.get(name) ?? null;
    return { uploaded: this.copies.get(name) ?? [], preserved: null, retracted };
  }
  nameOf(id: string): string | undefined {
    return [...this.packages.keys(), ...this.copies.keys()].find((name) => name.endsWith(id));
  }
}
