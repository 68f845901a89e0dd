import assert from "node:assert/strict";
import { test } from "node:test";
import { isThroughlineError } from "../errors.ts";
import type { TurnResult } from "./coordinator.ts";
import { textInput, textOnly, textOutput } from "./coordinator.ts";

const signal = new AbortController().signal;

async function* lines(...texts: readonly string[]) {
  yield* texts;
}

test("every line is an input of its own, and after the last there is none", async () => {
  const input = textInput(lines("Hello", ""));
  assert.deepEqual(await input.next(signal), { text: "Hello" });
  assert.deepEqual(await input.next(signal), { text: "" });
  assert.equal(await input.next(signal), undefined);
  assert.equal(await input.next(signal), undefined);
});

test("sound is refused with THROUGHLINE_MEDIA_TYPE and a sentence for people", async () => {
  await assert.rejects(
    textOnly.transcribe(new Uint8Array(2), "s16le", signal),
    (error: Error) =>
      isThroughlineError(error, "THROUGHLINE_MEDIA_TYPE") && /speech to text/.test(error.message),
  );
});

const rows: readonly [pieces: readonly string[], result: Partial<TurnResult>, shown: string][] = [
  [["Hel", "lo."], {}, "Hello.\n"],
  [["Hello.\n"], {}, "Hello.\n"],
  [["one\n", "two\tthree"], {}, "one\ntwo\tthree\n"],
  [["one\r\ntwo"], {}, "one\ntwo\n"],
  [[], {}, ""],
  [["Once up"], { outcome: "interrupted" }, "Once up (interrupted)\n"],
  [[], { outcome: "interrupted" }, "(interrupted)\n"],
  [[], { outcome: "failed" }, "(no answer)\n"],
  [["Once up\n"], { outcome: "failed", reason: "Gone." }, "Once up\n(Gone.)\n"],
  [["\u001b]52;c;aGk=\u0007Hi\u001b[2J\u009b31m\u0000"], {}, "]52;c;aGk=Hi[2J31m\n"],
  [[], { outcome: "failed", reason: "\u001b[2JGone." }, "([2JGone.)\n"],
  [["\u0007", ""], {}, ""],
];
for (const [pieces, result, shown] of rows) {
  const what = `${JSON.stringify(pieces)}, ${JSON.stringify(result)}`;
  test(`an answer of ${what} is shown as ${JSON.stringify(shown)}`, async () => {
    let screen = "";
    const output = textOutput((text) => {
      screen += text;
    });
    for (let turn = 0; turn < 2; turn++) {
      await output.begin(() => {});
      for (const piece of pieces) await output.write(piece);
      await output.end({ outcome: "answered", response: pieces.join(""), ...result });
    }
    assert.equal(screen, shown + shown);
  });
}

test("what write returns is awaited before the next piece", async () => {
  const order: string[] = [];
  const output = textOutput(async (text) => {
    order.push(`begin ${text}`);
    await new Promise(setImmediate);
    order.push(`end ${text}`);
  });
  await output.write("a");
  await output.write("b");
  assert.deepEqual(order, ["begin a", "end a", "begin b", "end b"]);
});
