// The robot of examples/robot, in a process of its own beside a real server: each is killed twice.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Child, Process, runCli } from "./support/command-line.ts";
import { newHome, up } from "./support/companion-home.ts";
import { redJpeg } from "./support/feedback-packages.ts";
import { HeldClock } from "./support/held-clock.ts";
import { getJson, readChat } from "./support/kill-harness.ts";
import { freePort } from "./support/loopback.ts";

const program = join(import.meta.dirname, "../examples/robot/robot.py");
const python = process.env["PYTHON"] ?? "python3";
const skip = spawnSync(python, ["--version"]).status === 0 ? false : "there is no Python";
const chat = "robot:nova";
/** Each kill of the server takes a start of it. */
const isFull = process.env["THROUGHLINE_FULL"] === "1";

test("the guide shows the robot as it is tested, in at most 80 lines", () => {
  const text = fs.readFileSync(program, "utf8");
  const guide = fs.readFileSync(join(import.meta.dirname, "../docs/guides/robot.md"), "utf8");
  assert.ok(
    guide.includes(`\`\`\`python\n${text}\`\`\`\n`),
    "copy examples/robot/robot.py into it",
  );
  assert.ok(text.split("\n").length <= 81);
});

/** The run of a robot. */
class Robot {
  readonly #process: Child;
  readonly #lines: AsyncIterator<string>;
  readonly #passed: string[] = [];

  constructor(t: TestContext, url: string, name: string, camera: string) {
    this.#process = new Child(t, python, [program, url, name, camera], {});
    this.#lines = this.#process.lines();
  }

  /** What it printed after this word, in lines that were not asked for yet. */
  async prints(word: string): Promise<string> {
    for (;;) {
      const at = this.#passed.findIndex((line) => line.startsWith(`${word} `));
      const [line] = at < 0 ? [] : this.#passed.splice(at, 1);
      if (line !== undefined) return line.slice(word.length + 1);
      const { value, done } = await this.#lines.next();
      assert.ok(!done, `it ended before it printed ${word}: ${this.#process.err.text}`);
      this.#passed.push(value);
    }
  }

  senses(sense: object): void {
    this.#process.child.stdin.write(`${JSON.stringify(sense)}\n`);
  }

  async does(sense: object): Promise<void> {
    this.senses(sense);
    assert.deepEqual(JSON.parse(await this.prints("did")), sense);
  }

  async began(): Promise<{ readonly kind: string; readonly text: string }> {
    const [kind = "", ...text] = (await this.prints("began")).split(" ");
    return { kind, text: JSON.parse(text.join(" ")) };
  }

  async ends(): Promise<void> {
    const { code, err } = await this.#process.ended("");
    assert.equal(code, 0, err);
  }

  async kill(): Promise<void> {
    await this.#process.kill();
  }
}

/** A home in which nova ran two hours ago, on a machine that tells no boot. */
async function oldHome(t: TestContext): Promise<string> {
  const home = newHome(t);
  const clock = new HeldClock(new Date(Date.now() - 7_200_000).toISOString());
  const { throughline, companion } = await up({ home, clock });
  await companion.clients.begin("nova");
  await throughline.chats.append(chat, [{ id: "u0", role: "user", content: "I like whales" }]);
  await companion.clients.appended("nova", chat);
  await companion.clients.end("nova");
  await throughline.close();
  return home;
}

test("a robot in Python: its restarts, its words, its reaction, through kills of both", {
  skip,
}, async (t) => {
  const home = await oldHome(t);
  fs.writeFileSync(join(home, "facts.md"), "Ori likes tea\n");
  const camera = join(home, "..", "camera.jpg");
  fs.writeFileSync(camera, redJpeg);
  const serve = async (port: string) => {
    const server = new Process(t, ["serve", "--home", home, "--port", port], { home });
    return { server, url: await server.url() };
  };
  const port = String(await freePort());
  let { server, url } = await serve(port);
  /** Kills the server while the robot does this; the next one serves the same port. */
  const killServerDuring = async (robot: Robot, sense: object) => {
    robot.senses(sense);
    server.child.kill("SIGKILL");
    await server.ended();
    ({ server, url } = await serve(port));
    assert.deepEqual(JSON.parse(await robot.prints("did")), sense);
  };
  const robot = (name: string) => new Robot(t, url, name, camera);
  const runOf = (name: string) => getJson(url, `/api/session?client=${name}`);

  const first = robot("nova");
  const long = await first.began();
  assert.equal(long.kind, "long_absence");
  assert.match(long.text, /Ori likes tea[\s\S]*whales[\s\S]*Welcome them back warmly\.$/);
  await first.does({ heard: "Tell me about the sea", id: "u1" });
  const { session_id: run } = await runOf("nova");
  await killServerDuring(first, { heard: "And the moon?", id: "u2" });
  assert.equal((await runOf("nova")).session_id, run, "the run goes on");
  first.senses({ heard: "Are you there?", id: "u3" });
  await first.kill();

  const second = robot("nova");
  const crash = await second.began();
  assert.equal(crash.kind, "crash_recovery");
  assert.match(crash.text, /Tell me about the sea[\s\S]*Continue seamlessly/);
  await second.does({ heard: "Are you there?", id: "u3" });
  if (isFull) await killServerDuring(second, { seen: "Ori" });
  else await second.does({ seen: "Ori" });
  await second.does({ heard: "Tell me a joke", id: "u4" });
  await second.does({ pat: 2 });
  const name = await second.prints("kept");
  await second.does({ sleep: true });
  assert.equal((await getJson(url, "/api/session")).sleep_state, "asleep");
  await second.ends();

  const third = robot("nova");
  const brief = await third.began();
  assert.equal(brief.kind, "short_break");
  assert.match(brief.text, /Tell me a joke[\s\S]*Last person seen: "Ori"[\s\S]*briefly/);
  await third.does({ heard: "Hello again", id: "u5" });
  await third.kill();
  assert.equal((await runOf("nova")).ended, false);

  const ids = (await readChat(url, chat, 100)).map(({ id }) => id);
  const said = ["u1", "u2", "u3", "u4", "u5"].flatMap((id) => [id, `${id}.a`]);
  assert.deepEqual(ids, ["u0", ...said], "nothing is lost or doubled");
  const kept = await getJson(url, `/api/feedback/${name}`);
  const { target, num_frames: frames, audio_samples: samples, sentiment } = kept.feedback;
  assert.equal(sentiment, "positive");
  assert.equal(kept.messages[target.index].text, "You said: Tell me a joke");
  assert.ok(frames > 0 && samples >= 8_000, `${frames} frames, ${samples} samples`);
  server.child.kill("SIGTERM");
  await server.ended();
  const out = join(home, "..", "rows");
  const args = ["feedback", "export", "--home", home, "--format", "kto", "--out", out];
  assert.equal((await runCli(args, { home })).code, 0);
  const [file, ...others] = fs.readdirSync(out).filter((each) => each.endsWith(".jsonl"));
  const rows = fs
    .readFileSync(join(out, file ?? ""), "utf8")
    .trim()
    .split("\n");
  assert.deepEqual([others.length, rows.length], [0, 1]);
  assert.match(rows[0] ?? "", /You said: Tell me a joke/);
});
