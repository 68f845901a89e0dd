// F1, F2, cases 10 and 13: a process that records moments and ends, at any time and in any way.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { getJson, inKeptDirectory, ServerProcess } from "../support/kill-harness.ts";
import { assertNothingLost, recordAndEnd } from "../support/moments-exits.ts";
import { jpegOf } from "../support/package-workload.ts";

/** Larger than what is saved in an instant: 4 moments of 3 MB of pictures and a minute of sound. */
const large = { moments: 4, frames: 60, frameBytes: 50_000, samples: 960_000 } as const;

for (const afterMs of [0, 5, 20, 50]) {
  test(`a process with 4 large moments that gets SIGTERM ${afterMs} ms after record() keeps them all, whole`, async () => {
    const ended = await recordAndEnd({ ...large, end: "signal", afterMs });
    assert.equal(ended.code, 0);
    assertNothingLost(ended);
  });
  for (const end of ["exit", "throw", "block"] as const) {
    test(`a process whose end is "${end}" ${afterMs} ms after record() leaves nothing that looks whole and is not`, async () => {
      const ended = await recordAndEnd({ ...large, end, afterMs });
      assert.equal(ended.code, end === "throw" ? 1 : 0);
    });
  }
}

for (const afterMs of [0, 5, 20, 50, 100, 200]) {
  test(`a process that is killed ${afterMs} ms after record() leaves nothing that looks whole and is not`, async (t) => {
    const { signal, told, there } = await recordAndEnd({ ...large, end: "kill", afterMs });
    assert.equal(signal, "SIGKILL");
    t.diagnostic(`${told.durable.length} durable, ${there.size} there`);
  });
}

const agreed = {
  ...{ messages: true, frames: true, audio: true },
  wording: "the last two minutes of picture and sound",
};

function post(url: string, path: string, type: string, body: string | Uint8Array) {
  const headers = { "content-type": type };
  return fetch(url + path, { method: "POST", headers, body: body as never });
}

const postJson = (url: string, path: string, body: object) =>
  post(url, path, "application/json", JSON.stringify(body));

async function startFed(home: string): Promise<{ server: ServerProcess; url: string }> {
  const server = new ServerProcess(home);
  const url = await server.url();
  const answers = [
    await postJson(url, "/api/feedback/consent", agreed),
    await post(url, "/api/frames", "image/jpeg", jpegOf(0, 0, 60_000)),
    await post(url, "/api/audio", "application/octet-stream", new Uint8Array(2_000_000)),
  ];
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  return { server, url };
}

interface Feedback {
  readonly num_frames: number;
  readonly audio_samples: number;
  readonly window: { readonly post_ms: number };
}

/** What the next server has, each package verified. */
async function packagesAfter(home: string) {
  const server = new ServerProcess(home);
  const url = await server.url();
  const { packages } = await getJson(url, "/api/feedback?limit=500");
  for (const { name } of packages) {
    const answer = await postJson(url, `/api/feedback/${name}/verify`, {});
    assert.deepEqual(await answer.json(), { verified: true, state: "whole", differences: [] });
  }
  await server.kill();
  return packages as readonly { readonly name: string; readonly feedback: Feedback }[];
}

const ways: readonly [
  says: string,
  signals: readonly ("SIGTERM" | "SIGINT" | "SIGHUP" | "SIGKILL")[],
  isKept: boolean,
  ends: number | null,
][] = [
  ["SIGTERM", ["SIGTERM"], true, 0],
  ["SIGHUP", ["SIGHUP"], true, 0],
  // One Ctrl-C under `npm start`: from the terminal, and from npm. Some of these arrive as one.
  ["SIGINT ten times", new Array<"SIGINT">(10).fill("SIGINT"), true, 0],
  ["SIGKILL", ["SIGKILL"], false, null],
];
for (const [says, signals, isKept, ends] of ways) {
  test(`a reaction whose post-roll ${says} cuts is ${isKept ? "kept with what there was" : "lost without a trace"}, and the server is gone within 5 s`, async () => {
    await inKeptDirectory(says, async (directory) => {
      const home = join(directory, "home");
      const { server, url } = await startFed(home);
      const reaction = { sentiment: "positive", what: "the joke", post_roll_ms: 30_000 };
      const answered = postJson(url, "/api/feedback", reaction).catch(() => undefined);
      for (;;) {
        const { waiting } = await getJson(url, "/api/feedback/stats");
        if (waiting === 1) break;
      }
      const told = performance.now();
      for (const signal of signals) {
        server.child.kill(signal);
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { code } = await server.ended();
      assert.equal(code, ends);
      assert.ok(performance.now() - told < 5_000, "it is gone within 5 s");
      await answered;
      const there = await packagesAfter(home);
      assert.equal(there.length, isKept ? 1 : 0);
      for (const { feedback } of there) {
        const { num_frames, audio_samples, window } = feedback;
        assert.deepEqual([num_frames, audio_samples], [1, 1_000_000]);
        assert.ok(window.post_ms < 30_000);
      }
    });
  });
}

for (const signal of ["SIGKILL", "SIGTERM"] as const) {
  for (const afterMs of [0, 5, 20, 50]) {
    test(`whatever a server said is durable is there, whole, after ${signal} ${afterMs} ms into 4 reactions`, async (t) => {
      await inKeptDirectory(`${signal} ${afterMs}`, async (directory) => {
        const home = join(directory, "home");
        const { server, url } = await startFed(home);
        const answers = [1, 2, 3, 4].map(async (number) => {
          const reaction = { sentiment: "negative", what: `number ${number}` };
          const answer = await postJson(url, "/api/feedback", reaction);
          const { name = "" } = (await answer.json()) as { readonly name?: string };
          return { status: answer.status, name };
        });
        const settled = Promise.allSettled(answers);
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        await server.kill(signal);
        const durable = (await settled).flatMap((one) =>
          one.status === "fulfilled" && one.value.status === 201 ? [one.value.name] : [],
        );
        const there = (await packagesAfter(home)).map(({ name }) => name);
        for (const name of durable) assert.ok(there.includes(name), name);
        t.diagnostic(`${durable.length} said to be durable, ${there.length} there`);
      });
    });
  }
}
