// Safeguards, each with the edit that takes it away and the test that must turn red then. A new
// safeguard adds its entry to the `.bugs.json` beside its module. Without a `test` that is the test beside
// it. Kept by hand: mutation testing does not know which calls are safeguards.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { indexBugs } from "./seeded-bugs-index.ts";
import { journalBugs } from "./seeded-bugs-journal.ts";

export interface SeededBug {
  readonly id: string;
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  readonly test: string;
  /** A pattern of the names of the tests that are run; all tests of the file when absent. */
  readonly named?: string;
  /** Only the full size of the test sees it. */
  readonly isFull?: true;
}

const files = "src/core/storage/files";
const powerCut = { test: "test/power-cut.test.ts", named: "power cut at every disk operation" };
const faults = { test: "test/disk-faults.test.ts", isFull: true } as const;
const contract = { test: `${files}/file-storage.test.ts`, isFull: true } as const;
const cutLog = { test: "test/bit-rot.test.ts", named: "a log cut at any length.*index kept" };
const flippedLog = {
  test: "test/bit-rot.test.ts",
  named: "a log with one bit flipped.*index lost",
};
const document = { test: "test/bit-rot.test.ts", named: "a document cut at any length" };

const log: readonly SeededBug[] = [
  {
    id: "log: what is appended is not added to the records in memory",
    file: `${files}/log-file.ts`,
    find: "this.#ports.recent.append(this, start, lines);",
    replace: "",
    test: `${files}/recent-records.test.ts`,
  },
  {
    id: "log: records that readers share can be changed",
    file: `${files}/recent-records.ts`,
    find: "recent.batches.unshift(freezeDeep(batch));",
    replace: "recent.batches.unshift(batch);",
    ...{ ...contract, named: "log.copy.records" },
  },
  {
    id: "inventory: what was found is not kept",
    file: `${files}/quarantine.ts`,
    find: "    if (quarantined === undefined && !isLoss(report)) return;",
    replace: "    if (quarantined === undefined) return;",
    ...{ test: "test/home-damage.test.ts", named: "a chat removed;" },
  },
  {
    id: "log: a file whose first line is not JSON is taken for torn",
    file: `${files}/log-end.ts`,
    find: "return size <= reachBytes && isHalfHeader(withoutNuls(start));",
    replace: "return true;",
    ...{ test: `${files}/log-file.test.ts`, named: "a file that another program wrote" },
  },
  {
    id: "log: any name in the home is taken for a log",
    file: `${files}/file-storage.ts`,
    find: "isShared: directory === this.#ports.home",
    replace: "isShared: false",
    ...{ test: `${files}/reconcile.test.ts`, named: "in the folder of the home itself" },
  },
  {
    id: "home: whatever is called temporary is swept",
    file: `${files}/file-ports.ts`,
    find: String.raw`/\.jsonl?(?:\.bak)?\.tmp-[0-9a-z]+$/`,
    replace: String.raw`/\.tmp-[0-9a-z]+$/`,
    ...{ test: `${files}/log-file.test.ts`, named: "only what was to replace" },
  },
  {
    id: "log: a short count is ignored",
    file: `${files}/file-ports.ts`,
    find: "    done += count;",
    replace: "    done = bytes.length;",
    ...{ ...faults, named: "fails with short" },
  },
  {
    id: "log: a torn tail is not cut",
    file: `${files}/log-end.ts`,
    find: "if (end === size) return found;",
    replace: "if (end <= size) return found;",
    ...cutLog,
  },
  {
    id: "log: no quarantine copy",
    file: `${files}/quarantine.ts`,
    find: "copyBytes(file, start, end, copy)",
    replace: "Promise.resolve()",
    ...cutLog,
  },
  {
    id: "log: a torn tail is not reported",
    file: `${files}/log-end.ts`,
    find: 'ports.report({ key, kind: "torn_tail",',
    replace: 'void ({ key, kind: "torn_tail",',
    ...cutLog,
  },
  {
    id: "log: an older copy is not reported",
    file: `${files}/reconcile.ts`,
    find: "reportOlderCopy(ports, log, entry.seq);",
    replace: "undefined;",
    ...cutLog,
  },
  {
    id: "log: no CRC of the batch",
    file: `${files}/commit.ts`,
    find: "return hex(crc32(batch.subarray(0, end))) === crc;",
    replace: "return true;",
    ...flippedLog,
  },
  {
    id: "log: damage is skipped in silence",
    file: `${files}/log-file.ts`,
    find: "this.#ports.damage(this.key, damage);",
    replace: "",
    ...flippedLog,
  },
  {
    id: "log: no chain of CRCs from the end",
    file: `${files}/batch-reader.ts`,
    find: "const broken = !gap && next !== undefined && next.commit.prev !== batch.commit.crc;",
    replace: "const broken = false;",
    ...{ test: "test/bit-rot.test.ts", named: "whoever reads the log from its end" },
  },
  {
    id: "log: no chain of CRCs from the start",
    file: `${files}/batch-reader.ts`,
    find: "const broken = batch.start === expected && prev !== undefined && batch.commit.prev !== prev;",
    replace: "const broken = false;",
    ...{ test: "test/bit-rot.test.ts", named: "whoever reads the log from its start" },
  },
];

const documents: readonly SeededBug[] = [
  {
    id: "document: no fsync of the new file",
    file: `${files}/file-ports.ts`,
    find: "      await fill(file);\n      await file.sync();",
    replace: "      await fill(file);",
    ...powerCut,
  },
  {
    id: "document: no fsync of the directory",
    file: `${files}/file-ports.ts`,
    find: "    await syncNames(ports, dirname(path));\n  } catch (error) {\n    throw replacedPerhaps(error);",
    replace: "  } catch (error) {\n    throw replacedPerhaps(error);",
    ...powerCut,
  },
  {
    id: "document: the copy before it is never read",
    file: `${files}/file-document-store.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "for (const each of [path, `${path}.bak`]) {\n      const found",
    replace: "for (const each of [path]) {\n      const found",
    ...document,
  },
  {
    id: "document: backed up without looking at it",
    file: `${files}/file-document-store.ts`,
    find: `if (current === undefined || current === "unreadable") return;`,
    replace: "if (current === undefined) return;",
    ...document,
  },
  {
    id: "document: saved over what could not be read",
    file: `${files}/file-document-store.ts`,
    find: `if (found === "unreadable") await this.#setAside(key, each, unreadable);`,
    replace: `if (found === "unreadable") continue;`,
    ...document,
  },
];

const lock: readonly SeededBug[] = [
  {
    id: "lock: none",
    file: `${files}/lease.ts`,
    find: `database.exec("begin exclusive");`,
    replace: "",
    ...{ test: `${files}/lease.test.ts`, named: "take a home twice" },
  },
  {
    id: "lock: the file's inode is not looked at again",
    file: `${files}/lease.ts`,
    find: "if (isSame(this.#taken.lock, identityAt(this.#lockPath))) return undefined;",
    replace: "if (isSame(this.#taken.home, identityAt(home))) return undefined;",
    ...{ test: `${files}/lease.test.ts`, named: "the holder notices" },
  },
  {
    id: "lock: the umask is trusted",
    file: `${files}/lease.ts`,
    find: "fs.fchmodSync(descriptor, 0o600);",
    replace: "",
    ...{ test: `${files}/lease.test.ts`, named: "umask" },
  },
  {
    id: "lock: not asked before an append",
    file: `${files}/file-log-store.ts`,
    find: "    this.#ports.guard();\n    return log.append(",
    replace: "    return log.append(",
    ...{ test: "test/kill.test.ts", named: "lock file was taken away" },
  },
];

const contracts: readonly SeededBug[] = [
  {
    id: "contract: a repeated id is stored again",
    file: `${files}/file-log-store.ts`,
    find: "if (stored === undefined) {",
    replace: "if (stored === undefined || ids.length >= 0) {",
    ...{ ...contract, named: "one batch appended 20 times at once" },
  },
  {
    id: "contract: expectedSeq is ignored",
    file: `${files}/file-log-store.ts`,
    find: "if (expectedSeq === undefined || expectedSeq === seq) return;",
    replace: "if (expectedSeq === undefined || expectedSeq >= 0) return;",
    ...{ ...contract, named: "an append that expects the seq at which the log ends" },
  },
  {
    id: "contract: other content under a known id is taken for the same",
    file: `${files}/batch-records.ts`,
    find: "if (sameRecord(JSON.stringify(content), record.json)) return;",
    replace: "if (sameRecord(record.json, record.json) || content) return;",
    ...{ ...contract, named: "of one id with different content" },
  },
  {
    id: "lock: not asked at all",
    file: `${files}/open-file-storage.ts`,
    find: "oncePerPass(() => lease.check())",
    replace: "() => undefined",
    ...{ test: `${files}/lost-home.test.ts` },
  },
  {
    id: "security: an id is a file name",
    file: `${files}/open-logs.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "`${fileNameOf(key)}.jsonl`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    replace: "`${key}.jsonl`",
    ...{ ...contract, named: "keys that differ at all|a log can have any key" },
  },
];

const privacy: readonly SeededBug[] = [
  {
    id: "documents: a damaged copy before it stays in quarantine when a chat is forgotten",
    file: "src/core/storage/files/file-document-store.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "await this.#ports.forgetQuarantine(`${path}.bak`);",
    replace: "{ files: 0 };",
    ...{ test: "src/companion/forget-chat.test.ts", named: "2 damaged" },
  },
  {
    id: "documents: one that somebody else wrote is passed over for its copy",
    file: "src/core/storage/files/file-document-store.ts",
    find: "if (isForeign(current)) return { ...current, revision };",
    replace: "",
    test: "src/core/storage/files/file-document-store.test.ts",
  },
];

/** Those of other modules: `x.bugs.json` has the bugs of the `x.ts` beside it. */
function bugsBesideModules(): readonly SeededBug[] {
  const root = join(import.meta.dirname, "../..");
  return globSync("src/**/*.bugs.json", { cwd: root })
    .toSorted()
    .flatMap((path) => {
      const own = path.slice(0, -".bugs.json".length);
      const text = readFileSync(join(root, path), "utf8");
      const bugs = JSON.parse(text) as (Omit<SeededBug, "file" | "test"> & { test?: string })[];
      return bugs.map((bug) => ({
        ...bug,
        file: `${own}.ts`,
        test: bug.test ?? `${own}.test.ts`,
      }));
    });
}

export const seededBugs: readonly SeededBug[] = [
  ...[...log, ...journalBugs, ...indexBugs, ...documents, ...lock, ...contracts, ...privacy],
  ...bugsBesideModules(),
];
