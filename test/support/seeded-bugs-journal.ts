// Safeguards of the journal, each with the test that turns red without it.
import type { SeededBug } from "./seeded-bugs.ts";

const files = "src/core/storage/files";
const powerCut = { test: "test/power-cut.test.ts", named: "power cut at every disk operation" };
const faultsAfterAll = {
  test: "test/disk-faults.test.ts",
  isFull: true,
  named: "fails with EIO, once, all",
} as const;

/** The tests of a start, and of the bytes, have files of their own. */
function testOf(named: string): string {
  if (/^(damaged frame|an earlier use|without all)$/.test(named)) return "journal-frame";
  return /^(sync failed before|a little later|file of another|goes on|that was rem|left unsynced|takes up)/.test(
    named,
  )
    ? "journal-recovery"
    : "journal";
}

export const journalBugs: readonly SeededBug[] = [
  {
    id: "journal: no fdatasync",
    file: `${files}/journal.ts`,
    find: "      await this.#sync(segment, group.length);\n    } catch (cause) {",
    replace: "    } catch (cause) {",
    ...powerCut,
  },
  {
    id: "journal: the name of a new segment is not synced",
    file: `${files}/journal-segment.ts`,
    find: "  try {\n    await syncNames(ports, folder);\n  } catch (error) {\n    await file.close()",
    replace: "  try {\n  } catch (error) {\n    await file.close()",
    ...powerCut,
  },
  {
    id: "journal: a segment is used again before its logs are synced",
    file: `${files}/journal.ts`,
    find: "      await syncLogs(this.#ports, segment, all, (name) => this.recovered.complete(name));\n",
    replace: "",
    ...powerCut,
  },
  {
    id: "journal: the names of new logs are not synced",
    file: `${files}/journal-segment.ts`,
    find: "await disk.syncDirectory(join(home, folder));",
    replace: "void folder;",
    ...powerCut,
  },
  {
    id: "log: not cut back after a failed write",
    file: `${files}/log-file.ts`,
    find: "    await this.#file.truncate(end);\n    const path",
    replace: "    const path",
    ...faultsAfterAll,
  },
  {
    id: "journal: nothing is recovered",
    file: `${files}/log-file.ts`,
    find: "      await ports.journal.complete(path);\n",
    replace: "",
    ...powerCut,
  },
  {
    id: "journal: a log is deleted while the journal has its words",
    file: `${files}/file-log-store.ts`,
    find: "    await this.#ports.journal.empty();\n    // The log's file",
    replace: "    // The log's file",
    ...powerCut,
  },
  ...[
    [
      "the index opens each log after a kill",
      "reconcile.ts",
      "  followJournal(ports);\n",
      "  void followJournal;\n",
      "takes up what the journal",
    ],
    [
      "what was recovered is not synced",
      "journal.ts",
      "    await segment.file.sync();\n",
      "",
      "what a start believed",
    ],
    [
      "a log is erased while the journal has its words",
      "file-log-store.ts",
      "        await this.#ports.journal.empty();\n        damaged =",
      "        damaged =",
      "no word is left anywhere once erase",
    ],
    [
      "a segment that is being begun keeps what was forgotten",
      "journal.ts",
      "      await this.#beginning; // what is to be forgotten may lie in the file that it uses again\n",
      "",
      "about to be used again",
    ],
    [
      "a segment without a name is written on",
      "journal.ts",
      " || isMoved(segment)) {",
      ") {",
      "the folder of the journal is removed",
    ],
    [
      "a log is believed that could not be written again",
      "journal-segment.ts",
      "if (!doubtful.has(name)) await file.sync().catch(() => doubtful.add(name));",
      "doubtful.delete(name); await file.sync().catch(() => doubtful.add(name));",
      "is not believed later",
    ],
    [
      "the name of a new file without an answer is not synced",
      "file-ports.ts",
      "    ports.unsyncedNames.add(dirname(path));\n    throw replacedPerhaps",
      "    throw replacedPerhaps",
      "has its new file",
    ],
    [
      "a failed group is not made void",
      "journal.ts",
      "const next = await this.#nextSegment();",
      "const next = segment;",
      "after a failed",
    ],
    [
      "what a later segment gave up is applied",
      "journal-frame.ts",
      "frames.filter(({ position }) => position < before)",
      "(void before, frames)",
      "after a failed sync",
    ],
    [
      "an unknown outcome moves the journal on",
      "journal.ts",
      "      this.#position = position;\n      const message",
      "      const message",
      "can be synced the outcome",
    ],
    [
      "a refused change stays in the journal",
      "log-file.ts",
      "await journal.write({ path, offset: end, bytes: Buffer.alloc(0) }, done);",
      "void path, done;",
      "taken back, in the journal too",
    ],
    [
      "a log is written to that could not be cut back",
      "log-file.ts",
      "this.#ports.cuts.set(this.path, this.end);",
      "",
      "until the log is opened again",
    ],
    [
      "a log whose sync failed is not written again",
      "journal-segment.ts",
      "if (doubtful.has(name)) await writeAgain(name, file, segments);",
      "if (doubtful.has(name)) await file.sync();",
      "written again from the journal",
    ],
    [
      "a segment is freed whose log could not be synced",
      "journal-segment.ts",
      "  await Promise.all(syncing);\n",
      "",
      "as long as a log",
    ],
    [
      "a full segment is not left",
      "journal.ts",
      "segment.logs.size > 0 && segment.end + more > this.#ports.segmentBytes",
      "segment === undefined && more < 0",
      "is full is freed",
    ],
    [
      "a free segment is not used again",
      "journal.ts",
      "this.#emptying === 0 ? this.#spare.shift() : undefined",
      "undefined",
      "is full is freed",
    ],
    [
      "a clean close leaves the journal",
      "journal.ts",
      "    await this.#empty().catch(() => undefined);\n",
      "",
      "a clean close leaves none",
    ],
    [
      "the segment of another process is used again",
      "journal-recovery.ts",
      "newSegment(path, file, false)",
      "newSegment(path, file, true)",
      "another process wrote",
    ],
    [
      "a later format is read",
      "journal-frame.ts",
      "  refuseNewer(format);\n",
      "  void format, refuseNewer;\n",
      "of a later version",
    ],
    [
      "the CRC of a frame is not checked",
      "journal-frame.ts",
      "if (crc32(bytes.subarray(at + 8, at + length)) !== bytes.readUInt32LE(at + 4)) return undefined;",
      "",
      "damaged frame",
    ],
    [
      "what an earlier use left is read",
      "journal-frame.ts",
      "frame.position !== end || ",
      "",
      "an earlier use",
    ],
    [
      "a segment counts that lacks what it repeats",
      "journal-frame.ts",
      "  if (frames.length < repeated) return undefined;\n",
      "",
      "without all",
    ],
    [
      "a segment of the last process goes before its logs are complete",
      "journal-segment.ts",
      "      await complete(name);\n",
      "      void complete;\n",
      "sync failed before a kill",
    ],
    [
      "what a log holds is not written again after a kill",
      "journal-recovery.ts",
      "      await writeAll(file, change.bytes, change.offset);\n",
      "",
      "sync failed before a kill",
    ],
    [
      "the logs in the journal are completed only when somebody opens them",
      "journal.ts",
      "      this.#ports.timers.after(idleMs, () => this.#checkpoint());\n    } catch",
      "    } catch",
      "a little later",
    ],
    [
      "the file of another program is overwritten",
      "journal-recovery.ts",
      "if (at === 0 && !(await follows(file, first))) return;",
      "",
      "file of another program",
    ],
    [
      "a log that goes on otherwise is overwritten",
      "journal-recovery.ts",
      "if (await goesOnOtherwise(file, next.offset, replaced)) return;",
      "",
      "goes on otherwise",
    ],
    [
      "a log that was removed is made again",
      "journal-recovery.ts",
      "if (!isNew) return undefined;",
      "",
      "that was removed",
    ],
    [
      "what was never synced is added to",
      "journal-recovery.ts",
      "    if (isUnsynced) for (const { segment } of read) await segment.file.sync();\n",
      "    void isUnsynced;\n",
      "left unsynced",
    ],
    [
      "each append has a sync of its own",
      "journal.ts",
      "end < 0 ? this.#waiting.length : end",
      "1",
      "one sync makes",
    ],
    [
      "a group that failed is waited for",
      "journal.ts",
      "      resolve(); // it will not be applied: nothing needs to wait for that\n",
      "",
      "does not wait for itself",
    ],
  ].map(([id = "", file = "", find = "", replace = "", named = ""]) => ({
    id: `journal: ${id}`,
    file: `${files}/${file}`,
    ...{ find, replace, named },
    test: `${files}/${testOf(named)}.test.ts`,
  })),
];
