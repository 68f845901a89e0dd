import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import type { Outcome } from "../chat/message.ts";
import { WorkingMemory } from "../chat/working-memory.ts";
import { ThroughlineError } from "../errors.ts";
import { ResponderError } from "../models/responder.ts";
import {
  type Converse,
  type CoordinatorOptions,
  type CoordinatorPorts,
  type Input,
  type OutputSink,
  runCoordinator,
  type TurnResult,
  textInput,
  textOnly,
  textOutput,
} from "./coordinator.ts";
import { parseIntent } from "./intent.ts";

/** A turn runner in small: answers in pieces, and remembers each turn once, however it ends. */
function remembering(memory: WorkingMemory, answer: (utterance: string) => Iterable<string>) {
  const converse: Converse = async function* (utterance, intent, signal) {
    let response = "";
    let outcome: Outcome = "failed";
    try {
      for (const piece of answer(utterance)) {
        if (signal.aborted) break;
        response += piece;
        yield { type: "text", text: piece };
      }
      outcome = signal.aborted ? "interrupted" : "answered";
    } finally {
      memory.append({ utterance, intent: intent.type, response, outcome });
    }
    yield { type: "result", outcome, response };
  };
  return converse;
}

const outcomes = (kept: readonly (readonly unknown[])[]) => kept.map((turn) => turn.at(-1));

async function* from<T>(...items: readonly T[]) {
  yield* items;
}

function inputOf(...inputs: readonly Input[]): CoordinatorPorts["input"] {
  const queue = [...inputs];
  return { next: async () => queue.shift() };
}

interface Talk extends Partial<CoordinatorPorts>, CoordinatorOptions {
  readonly lines?: readonly string[];
  readonly answer?: (utterance: string) => Iterable<string>;
}

/** Talks until it ends. @returns how it ended, what was shown, remembered and logged. */
async function talk({ lines = [], answer, ...given }: Talk) {
  const memory = new WorkingMemory({ capacity: 1_000 });
  const log: unknown[] = [];
  const note = (fields: object, message: string) => log.push({ ...fields, message });
  let screen = "";
  const ports: CoordinatorPorts = {
    input: textInput(from(...lines)),
    speechToText: textOnly,
    parseIntent,
    converse: remembering(memory, answer ?? ((utterance) => ["You said ", `${utterance}.`])),
    output: textOutput((text) => {
      screen += text;
    }),
    ...given,
  };
  const logger = { debug: note, info: note, warn: note, error: note };
  const { turns, ended } = await runCoordinator(ports, { logger, memory, ...given });
  const kept = memory.all().map((each) => {
    const { utterance, intent, response, outcome } = each;
    return [utterance, intent, response, outcome];
  });
  return { ended: `${turns} ${ended}`, screen, kept, log: JSON.stringify(log) };
}

test("each line with words is a turn with its intent, the turns before it are told, and none is logged", async () => {
  const blocks: unknown[] = [];
  const memory = new WorkingMemory();
  const remember = remembering(memory, () => ["Yes."]);
  const { ended, screen, log } = await talk({
    lines: ["", "Hello", "  \t", "Why?", "\n"],
    memory,
    converse: (utterance, intent, signal, given) => {
      // @ts-expect-error: only to read
      void given?.append;
      blocks.push([intent.type, given?.promptBlock()]);
      return remember(utterance, intent, signal);
    },
  });
  assert.deepEqual([ended, screen], ["2 input_ended", "Yes.\nYes.\n"]);
  const first = "Turn 1: You said 'Hello' (classified as GREETING). I responded 'Yes.'.";
  assert.deepEqual(blocks.flat(), ["greeting", "", "question", `Context:\n${first}\n\n`]);
  assert.match(log, /"outcome":"answered","memory":\{/);
  assert.doesNotMatch(log, /Hello|Why/);
});

for (const [utterance, companionName] of [
  ["goodbye", undefined],
  ["Stop, Nova", "Nova"],
] as const) {
  test(`"${utterance}" to ${companionName} is answered, then ends the loop, also if its turn fails`, async () => {
    const lines = ["Hello", utterance, "never read"];
    const answered = await talk({ lines, companionName, answer: () => ["Goodbye!"] });
    assert.deepEqual([answered.ended, answered.screen], ["2 stop_word", "Goodbye!\nGoodbye!\n"]);
    const converse = () => assert.fail("broken");
    assert.equal((await talk({ lines, companionName, converse })).ended, "2 stop_word");
  });
}

test("500 turns are no limit, and leave no listener on the signal", async () => {
  const { signal } = new AbortController();
  const lines = Array.from({ length: 500 }, (_, index) => `line ${index}`);
  assert.equal((await talk({ lines, signal })).ended, "500 input_ended");
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("sound becomes words before it becomes a turn; without words, or not understood, it is none", async () => {
  const transcribe = async (audio: Uint8Array) => (audio.length === 0 ? "" : "Hello");
  const input = inputOf(sound, { ...sound, audio: new Uint8Array() });
  const heard = await talk({ input, speechToText: { transcribe } });
  assert.deepEqual([heard.ended, heard.screen], ["1 input_ended", "You said Hello.\n"]);
  const deaf = await talk({ input: inputOf(sound, { text: "Hello" }) });
  assert.equal(deaf.ended, "1 input_ended");
  assert.match(deaf.screen, /^\(Sound cannot be heard here: .*\)\nYou said Hello\.\n$/);
});

const unavailable = { code: "THROUGHLINE_UNAVAILABLE" } as const;
const failures: readonly [name: string, error: unknown, shown: string][] = [
  ["a ThroughlineError", new ThroughlineError("Nothing stored.", unavailable), "(Nothing stored.)"],
  ["a ResponderError", new ResponderError("No model.", { kind: "unavailable" }), "(No model.)"],
  ["any other error", new Error("at /home/me: my secret"), "(Something went wrong in this turn.)"],
  ["no error at all", "my secret", "(Something went wrong in this turn.)"],
];
for (const [name, error, shown] of failures) {
  test(`a turn that throws ${name} is shown, and the loop goes on`, async () => {
    const answer = (utterance: string) => {
      if (utterance === "Fail") throw error;
      return ["Hi"];
    };
    const { ended, screen, kept, log } = await talk({ lines: ["Fail", "Hello"], answer });
    assert.deepEqual([ended, screen], ["2 input_ended", `${shown}\nHi\n`]);
    assert.deepEqual(outcomes(kept), ["failed", "answered"]);
    // Nobody said what an exception of the application's own says.
    const isOwn = error instanceof Error && error.name === "Error";
    assert.match(log, isOwn ? /my secret\\n +at / : /^(?!.*secret)/);
  });
}

test("an answer that comes all at once, or without a result, is shown", async () => {
  for (const [event, shown] of [
    [{ type: "text", text: "Hi" }, "Hi (The answer has no end.)\n"],
    [{ type: "result", outcome: "answered", response: "Hi!" }, "Hi!\n"],
  ] as const) {
    const { screen } = await talk({ lines: ["Hello"], converse: () => from(event) });
    assert.equal(screen, shown);
  }
});

test("an intent parser that throws costs the label, not the turn", async () => {
  const { kept } = await talk({ lines: ["Hello"], parseIntent: () => assert.fail("broken") });
  assert.deepEqual(kept, [["Hello", "UNKNOWN", "You said Hello.", "answered"]]);
});

const working = async () => {};
for (const [call, fail, calls, outcome] of [
  // The output is gone before the second piece, or only after the whole answer.
  ["begin", () => Promise.reject(new Error("no speaker")), ["end"], "interrupted"],
  ["write", () => assert.fail("no speaker"), ["begin", "end"], "interrupted"],
  ["end", () => assert.fail("no speaker"), ["begin", "write", "write"], "answered"],
] as const) {
  test(`A7: when ${call} of the output fails, the turn is kept as ${outcome}`, async () => {
    const called: string[] = [];
    const note = (name: string) => async () => void called.push(name);
    const works = { begin: note("begin"), write: note("write"), end: note("end") };
    const { ended, kept } = await talk({ lines: ["1", "2"], output: { ...works, [call]: fail } });
    assert.equal(ended, "2 input_ended");
    assert.deepEqual(outcomes(kept), [outcome, outcome]);
    assert.deepEqual(called, [...calls, ...calls]);
  });

  test(`an output whose ${call} never resolves does not keep an aborted loop`, async () => {
    const ending = new AbortController();
    const hang = () => {
      setImmediate(() => ending.abort());
      return new Promise<void>(() => {});
    };
    const output: OutputSink = { begin: working, write: working, end: working, [call]: hang };
    const { ended, kept } = await talk({ lines: ["Hello"], output, signal: ending.signal });
    assert.deepEqual([ended, kept.length], ["1 aborted", 1]);
  });
}

/** An output that is talked over at the first piece of the first answer. */
function talkedOver() {
  const spoken: string[] = [];
  const ends: TurnResult[] = [];
  let interrupt = () => {};
  const output: OutputSink = {
    begin: async (stop) => {
      interrupt = stop;
    },
    write: async (text) => void (spoken.push(text) === 1 && interrupt()),
    end: async (result) => void ends.push(result),
  };
  return { output, spoken, ends };
}

test("A7: a person who talks over the answer cuts it short; it is kept as interrupted", async () => {
  const { output, spoken, ends } = talkedOver();
  const { kept } = await talk({ lines: ["Hello", "Again"], output });
  assert.equal(ends.map(({ outcome }) => outcome).join(), "interrupted,answered");
  assert.deepEqual(spoken, ["You said ", "You said ", "Again."]);
  assert.deepEqual(kept[0], ["Hello", "GREETING", "You said ", "interrupted"]);
});

for (const isThrown of [true, false]) {
  test(`what a turn ${isThrown ? "throws because" : "says after"} it was cut short is not shown, and it is read to its end`, async () => {
    const { output, spoken, ends } = talkedOver();
    let isOver = false;
    const converse: Converse = async function* (_utterance, _intent, signal) {
      yield { type: "text", text: "one" };
      if (isThrown) signal.throwIfAborted();
      yield { type: "text", text: "two" };
      isOver = true;
      yield { type: "result", outcome: "answered", response: "onetwo" };
    };
    await talk({ lines: ["Hello"], output, converse });
    assert.deepEqual([spoken, isOver], [["one"], !isThrown]);
    if (isThrown) assert.deepEqual(ends, [{ outcome: "interrupted", response: "" }]);
  });
}

const sound = { audio: Uint8Array.of(1), format: "s16le" };
const aborts: Record<string, (ending: AbortController) => Partial<CoordinatorPorts>> = {
  "before it begins": (ending) => {
    ending.abort();
    return { input: { next: () => assert.fail("read") } };
  },
  "while the loop waits for input": (ending) => {
    setImmediate(() => ending.abort());
    return { input: { next: () => new Promise(() => {}) } };
  },
  "that its input rejects for": (ending) => {
    const next = async () => {
      ending.abort();
      throw ending.signal.reason;
    };
    return { input: { next } };
  },
  "while sound is made words": (ending) => {
    const transcribe = async () => {
      ending.abort();
      throw new Error("cut off");
    };
    return { input: inputOf(sound), speechToText: { transcribe } };
  },
};
for (const [when, ports] of Object.entries(aborts)) {
  test(`an abort ${when} ends it at once, without a turn and without output`, async () => {
    const ending = new AbortController();
    const { ended, screen } = await talk({ ...ports(ending), signal: ending.signal });
    assert.deepEqual([ended, screen], ["0 aborted", ""]);
  });
}

test("an abort in the middle of a turn keeps the turn, then ends the loop", async () => {
  const ending = new AbortController();
  const { ended, kept, screen } = await talk({
    lines: ["Hello", "never read"],
    signal: ending.signal,
    answer: function* () {
      yield "one ";
      ending.abort();
      yield "two";
    },
  });
  assert.deepEqual([ended, screen], ["1 aborted", "one  (interrupted)\n"]);
  assert.deepEqual(kept, [["Hello", "GREETING", "one ", "interrupted"]]);
});

test("the loop rejects with what the input rejects with", async () => {
  const broken = new Error("the terminal is gone");
  await assert.rejects(talk({ input: { next: () => Promise.reject(broken) } }), broken);
});

const rows: readonly [pieces: readonly string[], result: Partial<TurnResult>, shown: string][] = [
  [["Hel", "lo."], {}, "Hello.\n"],
  [["Hello.\n"], {}, "Hello.\n"],
  [["one\r\ntwo\tthree"], {}, "one\ntwo\tthree\n"],
  [["\u0007", ""], {}, ""],
  [["Once up"], { outcome: "interrupted" }, "Once up (interrupted)\n"],
  [[], { outcome: "interrupted" }, "(interrupted)\n"],
  [[], { outcome: "failed" }, "(no answer)\n"],
  [["Once up\n"], { outcome: "failed", reason: "Gone." }, "Once up\n(Gone.)\n"],
  [["\u001b]52;c;aGk=\u0007Hi\u001b[2J\u009b31m\u0000"], {}, "]52;c;aGk=Hi[2J31m\n"],
  [[], { outcome: "failed", reason: "\u001b[2JGone." }, "([2JGone.)\n"],
];
test("an answer is shown as plain text, its end in brackets, and each write is awaited", async () => {
  for (const [pieces, result, shown] of rows) {
    let screen = "";
    const output = textOutput(async (text) => {
      await new Promise(setImmediate);
      screen += text;
    });
    for (let turn = 0; turn < 2; turn++) {
      await output.begin(() => {});
      for (const piece of pieces) await output.write(piece);
      await output.end({ outcome: "answered", response: pieces.join(""), ...result });
    }
    assert.equal(screen, shown + shown);
  }
});
