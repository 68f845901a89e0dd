// What a home holds, asked of 0.1 through its own API: the listings that later versions are held to.
import fs from "node:fs";
import { join } from "node:path";
import { code, counting, HeldClock, software } from "./world.mjs";
import { throughlineCommand } from "./processes.mjs";

const { openThroughline } = await code("src/index.ts");

const words = ["Lund", "Nova", "日本語", "hunter2", "stone", "space", "Wait"];

async function chatsOf({ chats, sessions }) {
  const { chats: list } = await chats.list({ limit: 1_000 });
  const rows = {};
  for (const { chat_id: id } of list) {
    const { messages } = await chats.messages(id, { limit: 1_000 });
    rows[id] = { messages, session: (await sessions.active(id)) ?? null };
  }
  const found = {};
  for (const word of words) {
    const hits = await chats.search(word, { limit: 100 });
    found[word] = hits.map(({ chat_id, message }) => [chat_id, message.id]);
  }
  return { list, chats: rows, found };
}

async function companionOf(companion, { list }, [from, to]) {
  const { kind, clean, gapMs, certainty, totalSessions, previousRunId, interrupted, quarantined } =
    companion.report;
  const told = await companion.receptions.look(list.map(({ chat_id }) => chat_id));
  return {
    report: {
      kind,
      clean,
      gapMs,
      certainty,
      totalSessions,
      previousRunId,
      interrupted,
      quarantined,
    },
    person: companion.person ?? null,
    sleep: companion.sleepState,
    feeling: companion.emotions.feeling(),
    injections: await companion.injections.load(),
    untold: told.map(({ chatId, kind: how, status }) => [chatId, how, status]),
    course: await companion.moodCourse({ from: Date.parse(from), to: Date.parse(to), points: 11 }),
  };
}

async function packagesOf({ packages, recorder }) {
  const { packages: list, foreign } = await packages.list({ limit: 500 });
  const found = [];
  for (const { name, state, detail, bytes, status, manifest } of list) {
    const { state: verified, differences } = await packages.verify(name);
    found.push({
      name,
      state,
      detail,
      bytes,
      verified,
      differences,
      status: status ?? null,
      manifest: gist(manifest),
    });
  }
  return { packages: found, foreign, consent: recorder.consent };
}

/** What a manifest says, without what its own digests vouch for. */
function gist(manifest) {
  if (manifest === undefined) return null;
  const { uuid, what, chat_id, people, reduced, supersedes, salvaged, spilled, files } = manifest;
  return { uuid, what, chat_id, people, reduced, supersedes, salvaged, spilled, files };
}

function namesIn(folder) {
  if (!fs.existsSync(folder)) return [];
  const names = fs.readdirSync(folder, { recursive: true }).sort();
  return names.filter((name) => fs.statSync(join(folder, name)).isFile());
}

/** Everything, at one instant of a clock that stands still. The home is a copy: looking leaves marks. */
export async function look(home, at, { span, storage, mode, s3, emotions }) {
  const clock = new HeldClock(at);
  const place = storage === undefined ? { home } : { storage };
  const throughline = await openThroughline({ ...place, clock, newId: counting("look") });
  const repairs = throughline.storage.repairs().map(({ at: _, ...repair }) => repair);
  const companion = await throughline.startCompanion(emotions ? { emotions } : {});
  const listed = await chatsOf(throughline);
  const felt = await companionOf(companion, listed, span);
  if (storage !== undefined) {
    await throughline.close();
    return { ...listed, companion: felt };
  }
  const robot = (await throughline.storage.documents("robot").read("settings")) ?? null;
  const moments = await startMoments(throughline, { sessionId: "10011001", software, mode, s3 });
  if (s3 !== undefined) await moments.upload();
  const reacted = await packagesOf(moments);
  const outbox = moments.statistics().outbox;
  await throughline.close();
  const left = {
    quarantine: namesIn(join(home, "quarantine")),
    outbox: namesIn(join(home, "outbox")),
  };
  return { ...listed, repairs, robot, companion: felt, moments: { ...reacted, outbox }, left };
}

/** The companion alone, at another instant. */
export async function wakes(home, at, { span, emotions }) {
  const clock = new HeldClock(at);
  const throughline = await openThroughline({ home, clock, newId: counting("look") });
  const companion = await throughline.startCompanion(emotions ? { emotions } : {});
  const felt = await companionOf(companion, await chatsOf(throughline), span);
  await throughline.close();
  return felt;
}

/** What the command line writes of all chats, by format and file. */
export function exportsOf(home, scratch, at) {
  const exported = {};
  for (const format of ["throughline", "nanobot", "ductor"]) {
    const out = join(scratch, `export-${format}`);
    throughlineCommand(["export", "--format", format, "--out", out, "--home", home], { at });
    exported[format] = Object.fromEntries(
      namesIn(out).map((name) => [name, fs.readFileSync(join(out, name), "utf8")]),
    );
  }
  return exported;
}
