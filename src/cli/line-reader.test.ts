import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import { Collected } from "../../test/support/command-line.ts";
import { readLines } from "./line-reader.ts";

/** A terminal: what it sends, and what it gets to show. */
function terminal(t: TestContext) {
  const input = Object.assign(new PassThrough(), {
    modes: [] as boolean[],
    setRawMode: (mode: boolean) => void input.modes.push(mode),
  });
  const output = new Collected();
  const reader = readLines({ input, output, isInteractive: true });
  t.after(() => reader.close());
  return { input, output, reader };
}

const pasteOn = "\u001b[?2004h";
const pasteOff = "\u001b[?2004l";
const paste = (text: string) => `\u001b[200~${text}\u001b[201~`;

const rows: readonly (readonly [says: string, bytes: string, lines: readonly string[]])[] = [
  ["two lines that are typed", "one\rtwo\r", ["one", "two"]],
  ["lines that are pasted", `${paste("one\rtwo\rthree")}\r`, ["one\ntwo\nthree"]],
  [
    "pasted lines of every ending",
    `${paste("a\nb\r\nc\rd\u2028e\u2029f")}\r`,
    ["a\nb\nc\nd\ne\nf"],
  ],
  ["what is typed around a paste", `say ${paste("one\rtwo")}!\r`, ["say one\ntwo!"]],
  ["a paste before the cursor", `end\u001b[H${paste("1\r2\r")}\r`, ["1\n2end"]],
  [
    "tabs and no control characters of a paste",
    `${paste("a\t\u0003\u0004\u0007\u007fb\r")}\r`,
    ["a\tb"],
  ],
  ["text beyond the first plane", `${paste("🗼\r🗼")}🗼\r`, ["🗼\n🗼🗼"]],
  ["Alt+Enter as a line break", "one\u001b\rtwo\r", ["one\ntwo"]],
  ["the line that is taken back by arrow up", `${paste("1\r2")}\r\u001b[A\r`, ["1\n2", "1\n2"]],
];
test("a terminal's reader gives each line, at once and byte by byte", async (t) => {
  for (const [says, bytes, wanted] of rows) {
    for (const pieces of [[bytes], Array.from(Buffer.from(bytes), (byte) => Buffer.of(byte))]) {
      const { input, reader } = terminal(t);
      for (const piece of pieces) input.write(piece);
      for (const value of wanted) {
        assert.deepEqual(await reader.next(), { value, done: false }, says);
      }
    }
  }
});

test("a paste of 200,000 characters is one line", async (t) => {
  const { input, reader } = terminal(t);
  const text = `${"x".repeat(99)}\r`.repeat(2_000);
  input.write(`${paste(text)}\r`);
  const { value } = await reader.next();
  assert.equal(value, text.replaceAll("\r", "\n").trimEnd());
});

test("pastes are marked while lines are read, and no longer", async (t) => {
  const { input, output, reader } = terminal(t);
  assert.ok(output.text.includes(pasteOn) && !output.text.includes(pasteOff));
  assert.deepEqual(input.modes, [true]);
  reader.close();
  assert.ok(output.text.endsWith(pasteOff));
  assert.deepEqual(input.modes, [true, false]);
  assert.equal(input.listenerCount("keypress"), 0);
  assert.ok(input.isPaused());
});

for (const [says, end] of [
  ["Ctrl-D", (input: PassThrough) => void input.write("\u0004")],
  ["the end of the input", (input: PassThrough) => void input.end()],
] as const) {
  test(`${says} ends the lines and what marks pastes`, async (t) => {
    const { input, output, reader } = terminal(t);
    end(input);
    assert.equal((await reader.next()).done, true);
    assert.ok(output.text.endsWith(pasteOff));
  });
}

test("Ctrl-C is told, and not while it is pasted", async (t) => {
  const { input, reader } = terminal(t);
  let count = 0;
  reader.onInterrupt(() => count++);
  input.write(`${paste("\u0003")}\u0003\r`);
  await reader.next();
  assert.equal(count, 1);
});

test("a pipe's reader gives its lines, at once and byte by byte, and writes nothing", async () => {
  for (const [bytes, wanted] of [
    ["one\r\ntwo\n", ["one", "two"]],
    ["\n\r\none\n\n", ["", "", "one", ""]],
    ["one\ntwo", ["one", "two"]],
    ["", []],
    // Separators of lines and paragraphs, and a CR alone, are part of a line.
    ["a\u2028b\u2029c\rd\n🗼\u2028\n", ["a\u2028b\u2029c\rd", "🗼\u2028"]],
  ] as const) {
    for (const pieces of [[bytes], Array.from(Buffer.from(bytes), (byte) => Buffer.of(byte))]) {
      const input = new PassThrough();
      const output = new Collected();
      const reader = readLines({ input, output, isInteractive: false });
      for (const piece of pieces) input.write(piece);
      input.end();
      for (const value of wanted) assert.deepEqual(await reader.next(), { value, done: false });
      assert.equal((await reader.next()).done, true);
      assert.equal(output.text, "");
    }
  }
});

test("a pipe's reader that is closed lets go of a pipe that stays open", async () => {
  const input = new PassThrough();
  const reader = readLines({ input, output: new Collected(), isInteractive: false });
  input.write("one\ntwo");
  assert.equal((await reader.next()).value, "one");
  reader.close();
  assert.ok(input.destroyed);
});
