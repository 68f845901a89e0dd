// The home `killed`: a server that ended in order, and one that was killed in the middle of everything.
import fs from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { serverProgram, startProcess } from "./processes.mjs";
import { everything, picture, sha256 } from "./world.mjs";

const messageId = (key) => `i_${sha256(key).slice(0, 32)}`;

async function serve(home, options) {
  const args = ["serve", "--home", home, "--port", "0", "--model", "offline"];
  const { child, gone } = startProcess(serverProgram, args, options);
  let said = "";
  child.stdout.setEncoding("utf8");
  const url = await new Promise((resolve, reject) => {
    void gone.then(() => reject(new Error(`the server ended: ${said}`)));
    child.stdout.on("data", (text) => {
      said += text;
      const found = /listening on (http\S+)/.exec(said);
      if (found !== null) resolve(found[1]);
    });
  });
  const post = async (path, body, headers = {}) => {
    const isBytes = Buffer.isBuffer(body);
    const type = isBytes ? {} : { "content-type": "application/json" };
    const init = {
      method: "POST",
      headers: { ...type, ...headers },
      body: isBytes ? body : JSON.stringify(body),
    };
    const response = await fetch(url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  const say = (chat, content, key) =>
    post(
      `/api/chats/${encodeURIComponent(chat)}/messages`,
      { content },
      { "idempotency-key": key },
    );
  return { child, gone, post, say };
}

async function firstServer(home) {
  const { child, gone, post, say } = await serve(home, { at: "2026-03-05T12:00:00.000Z" });
  await say("local:me", "Hello, I am Ori", "first");
  await say("telegram:7", "Do you hear me? 🦊", "other");
  await post("/api/person", { name: "Ori" });
  await pause(300);
  child.kill("SIGTERM");
  if ((await gone) !== 0) throw new Error("the first server did not end in order");
}

const half = JSON.stringify([
  ["write", "_negative_fb_.*\\.partial/frames/000001\\.jpg$", "hold"],
  ["write", "/chats/local%3aheld\\.jsonl", "hold", `"id":"${messageId("held")}:answer"`],
  ["write", "/chats/telegram%3a7\\.jsonl", "kill", `"id":"${messageId("last")}:answer"`],
]);

/** Dies with one package half written and two answers half stored, in a burst of appends. */
async function killedServer(home) {
  const options = { at: "2026-03-05T12:30:00.000Z", env: { GOLDEN_STOPS: half } };
  const { gone, post, say } = await serve(home, options);
  await post("/api/person", { name: "Grace" });
  await post("/api/emotions/event", { event: "violence" });
  await post("/api/feedback/consent", { ...everything, upload: false });
  for (const number of [1, 2]) {
    await post("/api/frames", picture(number), { "content-type": "image/jpeg" });
    await post("/api/audio", Buffer.alloc(320, number), {
      "content-type": "application/octet-stream",
    });
    await pause(550);
  }
  await say("local:me", "Tell me about space", "space");
  const reaction = { what: "told me about space", trigger: "head scratch", channel: "touch" };
  await post(
    "/api/feedback",
    { ...reaction, sentiment: "positive" },
    { "idempotency-key": "liked" },
  );
  void post("/api/feedback", { ...reaction, sentiment: "negative", channel: "text" }).catch(
    () => undefined,
  );
  void say("local:held", "Hold on", "held").catch(() => undefined);
  await pause(300);
  for (const count of [1, 2, 3]) await say("local:me", `Quickly, ${count}`, `quick-${count}`);
  await say("telegram:7", "One more thing", "more");
  await say("telegram:7", "And this is the last thing", "last").catch(() => undefined);
  if ((await gone) !== "SIGKILL") throw new Error("the server was not killed");
}

const script = join(import.meta.dirname, "halves.mjs");

/** Runs one process that is killed in the middle of a moment. */
export async function halfMoment(home, what, { at, stops, env = {} }) {
  const options = { at, env: { ...env, GOLDEN_STOPS: JSON.stringify(stops) } };
  const { gone } = startProcess(script, [home, what, at], options);
  if ((await gone) !== "SIGKILL") throw new Error(`${what}: the process was not killed`);
}

/** What processes left of moments, each in a home of its own, side by side. */
async function otherHalves(scratch) {
  const atFrame = ["write", "\\.partial/frames/000001\\.jpg$", "hold"];
  const day = "2026-03-05T";
  await halfMoment(join(scratch, "intent"), "note", {
    ...{ at: `${day}13:00:00.000Z`, stops: [["write", "\\.partial/intent\\.json$", "hold"]] },
  });
  await halfMoment(join(scratch, "rename"), "publish", {
    ...{ at: `${day}13:01:00.000Z`, stops: [["rename", "\\.partial$", "hold"]] },
  });
  await halfMoment(join(scratch, "spill"), "spill", {
    at: `${day}13:02:00.000Z`,
    stops: [atFrame],
  });
  await halfMoment(join(scratch, "delete"), "delete", {
    ...{ at: `${day}13:03:00.000Z`, stops: [["unlink", "\\.deleting/frames/", "hold"]] },
  });
  await halfMoment(join(scratch, "salvage"), "write", {
    at: `${day}13:04:00.000Z`,
    stops: [atFrame],
  });
  await halfMoment(join(scratch, "salvage"), "recover", {
    ...{ at: `${day}13:05:00.000Z`, stops: [["write", "\\.salvaging/messages\\.json$", "hold"]] },
  });
  return ["intent", "rename", "spill", "delete", "salvage"].map((name) => join(scratch, name));
}

export async function makeKilled(home, scratch) {
  await firstServer(home);
  await killedServer(home);
  for (const other of await otherHalves(scratch)) {
    fs.cpSync(join(other, "feedback"), join(home, "feedback"), { recursive: true });
  }
}
