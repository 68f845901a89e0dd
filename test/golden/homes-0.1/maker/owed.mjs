// The home `owed` and its bucket: what was sent while the bucket could be reached, and what could not be
// sent, taken back or deleted when it was away.
import fs from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { halfMoment } from "./killed.mjs";
import { throughlineCommand } from "./processes.mjs";
import { code, counting, everything, HeldClock, live, reaction, software } from "./world.mjs";

const { openThroughline } = await code("src/index.ts");
export const { S3Server } = await code("src/testing/s3/s3-server.ts");

export const credentials = { accessKeyId: "test", secretAccessKey: "testsecret" };

/** A run of moments in a home, with one bucket. */
async function run(home, clock, prefix, { mode, endpoint }) {
  const throughline = await openThroughline({ home, clock, newId: counting(prefix) });
  const s3 = { bucket: "moments", endpoint, credentials };
  const moments = await startMoments(throughline, { sessionId: "b0a7cafe", software, mode, s3 });
  let number = 100;
  const record = (what, chatId, more = {}) => {
    clock.pass(130_000);
    number += 10;
    live(moments, clock, { chatId, said: [`Please ${what}`, `I ${what}`], first: number });
    return moments.recorder.record(reaction(clock, chatId, what, more));
  };
  const close = async () => {
    await throughline.close();
    clock.pass(60_000);
  };
  return { throughline, moments, record, close };
}

async function untilTrue(what, isSo) {
  for (let tries = 0; tries < 1_000; tries++) {
    if (await isSo()) return;
    await pause(10);
  }
  throw new Error(`${what}: that did not come`);
}

/** Everything arrives, but for one package in whose place the bucket has something else. */
async function uploads(home, clock, server) {
  const { moments, record, throughline, close } = await run(home, clock, "u", {
    mode: "local+s3",
    endpoint: server.endpoint,
  });
  await moments.agree(everything);
  await throughline.chats.append("other:chat", [
    { id: "o1", role: "user", content: "Forget me later" },
  ]);
  const names = {};
  for (const [key, what, chatId] of [
    ["sent", "danced", "local:me"],
    ["deleted", "sang too loud", "local:me"],
    ["retracted", "told a secret", "local:me"],
    ["forgotten", "spoke of the other", "other:chat"],
  ]) {
    names[key] = record(what, chatId).name;
    const isSent = () => {
      const { waiting, outbox } = moments.statistics();
      return waiting === 0 && outbox.pending === 0;
    };
    await untilTrue(what, isSent);
  }
  const refused = record("was in the way", "local:me");
  server.place(`feedback/b0a7cafe/${refused.name}/feedback.json`, Buffer.from("{}\n"));
  await untilTrue("parked", () => moments.statistics().outbox.parked === 1);
  await close();
  return { ...names, refused: refused.name };
}

/** Two moments that the bucket alone has, one of which is noted here. */
async function fromMemory(home, clock, server) {
  const { record, throughline, close } = await run(home, clock, "m", {
    mode: "s3",
    endpoint: server.endpoint,
  });
  await throughline.chats.append("secret:chat", [{ id: "s1", role: "user", content: "A secret" }]);
  const noted = record("kept by the bucket", "secret:chat", {
    idempotencyKey: "bucket-1",
    uuid: undefined,
  });
  await noted.whenDurable();
  const unnoted = record("kept by the bucket alone", "secret:chat", { uuid: undefined });
  await unnoted.whenDurable();
  await close();
  return { noted: noted.name, unnoted: unnoted.name };
}

/** A moment whose process dies while it goes from memory to the bucket: the entry, as it lies then. */
async function cutOff(scratch, clock, server) {
  const home = join(scratch, "sending");
  const { moments, record } = await run(home, clock, "k", {
    mode: "s3",
    endpoint: server.endpoint,
  });
  await moments.agree(everything);
  server.fail({ operation: "PutObject", key: /frames\/000001\.jpg$/, does: { kind: "hang" } });
  const { name } = record("never arrived", "local:me");
  await untilTrue("a held upload", () => server.held === 1 && server.busy === 1);
  const file = `${name}.sending.json`;
  const entry = fs.readFileSync(join(home, "outbox", file));
  return { name, file, entry };
}

/** The bucket is away: what is recorded, deleted, taken back and forgotten now is owed. */
async function away(home, clock, endpoint, { deleted, retracted }) {
  const { moments, record, throughline, close } = await run(home, clock, "d", {
    mode: "local+s3",
    endpoint,
  });
  const pending = record("waits for the bucket", "local:me");
  await pending.whenDurable();
  const tried = () =>
    JSON.parse(fs.readFileSync(join(home, "outbox", `${pending.name}.json`))).attempts > 0;
  await untilTrue("an attempt", tried);
  await moments.forget({ name: deleted });
  await moments.retract(retracted, { by: "Ori", reason: "it was a secret" });
  await throughline.chats.forget("secret:chat");
  await moments.agree({ ...everything, upload: false });
  const local = record("stays here", "local:me");
  await local.whenDurable();
  await moments.agree(everything);
  await close();
  return { pending: pending.name, local: local.name };
}

/** In mode `s3` the copy here is only for as long as the bucket is away. */
async function awayFromMemory(home, clock, endpoint) {
  const { record, close } = await run(home, clock, "s", { mode: "s3", endpoint });
  const brief = record("is here for a while", "local:me");
  await brief.whenDurable();
  await close();
  return { brief: brief.name };
}

/** A chat is forgotten by the command line, which knows no bucket: it ends with 1, and owes a search. */
function forgetUnattended(home, clock) {
  const at = new Date(clock.now()).toISOString();
  throughlineCommand(["sessions", "forget", "other:chat", "--yes", "--home", home], {
    at,
    exits: 1,
  });
  clock.pass(60_000);
}

function dump(server, bucket) {
  for (const [key, { body }] of server.objects()) {
    fs.mkdirSync(dirname(join(bucket, key)), { recursive: true });
    fs.writeFileSync(join(bucket, key), body);
  }
}

/** @returns the names of the packages by what became of them. */
export async function makeOwed(home, bucket, scratch) {
  const clock = new HeldClock("2026-03-06T10:00:00.000Z");
  const server = await S3Server.start();
  const { endpoint } = server;
  const sent = await uploads(home, clock, server);
  const remote = await fromMemory(home, clock, server);
  const cut = await cutOff(scratch, clock, server);
  dump(server, bucket);
  await server.close();
  const owed = await away(home, clock, endpoint, sent);
  const brief = await awayFromMemory(home, clock, endpoint);
  forgetUnattended(home, clock);
  await halfMoment(home, "save", {
    at: new Date(clock.now()).toISOString(),
    ...{
      stops: [["write", "\\.partial/frames/000001\\.jpg$", "hold"]],
      env: { GOLDEN_S3: endpoint },
    },
  });
  fs.writeFileSync(join(home, "outbox", cut.file), cut.entry, { mode: 0o600 });
  return { ...sent, ...remote, ...owed, ...brief, cut: cut.name };
}
