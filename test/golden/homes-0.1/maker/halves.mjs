// Run by `killed.mjs` in a process that is stopped by `preload.mjs`: a moment that does not come to its
// end. Arguments: the home, what happens, the clock.
import { setTimeout as pause } from "node:timers/promises";
import { code, counting, everything, HeldClock, live, reaction, software } from "./world.mjs";

const [home, what, at] = process.argv.slice(2);
const { openThroughline } = await code("src/index.ts");
const clock = new HeldClock(at);
const throughline = await openThroughline({ home, clock, newId: counting("h") });
const opening = startMoments(throughline, { sessionId: "5ca1ab1e", software, s3: s3Options() });
if (what === "recover") await die();
const moments = await opening;
await moments.agree(everything);

function s3Options() {
  const { GOLDEN_S3: endpoint } = process.env;
  const credentials = { accessKeyId: "test", secretAccessKey: "testsecret" };
  return endpoint === undefined ? undefined : { bucket: "moments", endpoint, credentials };
}

/** Once the file system has stopped somewhere, and all else that was under way is done. */
async function die() {
  while (globalThis.goldenStopped !== true) await pause(10);
  await pause(300);
  process.kill(process.pid, "SIGKILL");
}

const chatId = "local:me";
live(moments, clock, { chatId, said: [`Please ${what}`, `I ${what}`], first: 60 });
const receipt = moments.recorder.record(reaction(clock, chatId, `${what}, the first`));
if (what === "delete") {
  await receipt.whenDurable();
  void moments.forget({ name: receipt.name });
}
if (what === "spill") {
  clock.pass(2_000);
  moments.recorder.record(
    reaction(clock, chatId, `${what}, the second`, { sentiment: "negative" }),
  );
  while (globalThis.goldenStopped !== true) await pause(10);
  moments.spillSync();
}
await die();
