// What a program awaits keeps it alive: Node ends one that only waits, with code 13 and no word.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "./support/command-line.ts";

const root = join(import.meta.dirname, "..");
const open = `import { openThroughline } from ${JSON.stringify(join(root, "src/core/throughline.ts"))};
  import { randomText } from ${JSON.stringify(join(root, "test/support/random-text.ts"))};
  const throughline = await openThroughline({ home: process.argv[1], durability: "process" });
  const text = randomText(5_000_000); // made first: the appends come without a pause
  const append = (count, length) => {
    const messages = Array.from({ length: count }, (_, i) => {
      return { role: "user", content: text.slice(i * length, (i + 1) * length) };
    });
    return throughline.chats.append("local:me", messages);
  };`;

const programs = [
  [
    "sixty appends of 5 MB, one after the other",
    `for (let n = 0; n < 60; n++) await append(5, 1_000_000);`,
  ],
  [
    "an injection that waits for the throttle",
    `const { Injector } = await import(${JSON.stringify(join(root, "src/companion/conversation/injector.ts"))});
     const { SimulatedVoice } = await import(${JSON.stringify(join(root, "test/support/simulated-voice.ts"))});
     const pending = { load: async () => [], save: async () => {} };
     const { clock, timers, newId } = throughline.ports;
     const injector = await Injector.open({ stream: new SimulatedVoice(), clock, timers, newId, pending });
     for (const text of ["one", "two"]) await injector.inject(text).outcome;`,
  ],
] as const;

for (const [what, body] of programs) {
  test(`a program is not ended while it awaits ${what}`, (t) => {
    const program = `${open}\n${body}\nconsole.log("all is done"); await throughline.close();`;
    const args = ["--input-type=module", "-e", program, temporaryDirectory(t)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.match(stdout, /all is done/);
  });
}
