import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import type { Outcome } from "../chat/message.ts";
import { WorkingMemory } from "../chat/working-memory.ts";
import { ThroughlineError } from "../errors.ts";
import { ResponderError } from "../models/responder.ts";
import type { Converse, CoordinatorPorts, Input, OutputSink, TurnEvent } from "./coordinator.ts";
import {
  type CoordinatorOptions,
  runCoordinator,
  textInput,
  textOnly,
  textOutput,
} from "./coordinator.ts";
import { parseIntent } from "./intent.ts";

type Pieces = readonly string[];

/** A turn runner in small: answers from a script, and remembers each turn once, however it ends. */
function remembering(memory: WorkingMemory, answer: (utterance: string) => Pieces): Converse {
  return async function* (utterance, intent, signal) {
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
}

const echo = (utterance: string): Pieces => ["You said ", `${utterance}.`];

async function* from<T>(...items: readonly T[]) {
  yield* items;
}

function inputOf(...inputs: readonly Input[]): CoordinatorPorts["input"] {
  const queue = [...inputs];
  return { next: async () => queue.shift() };
}

function setUp(lines: readonly string[], ports: Partial<CoordinatorPorts> = {}) {
  const memory = new WorkingMemory({ capacity: 1_000 });
  const log: unknown[] = [];
  const note = (fields: object, message: string) => log.push({ ...fields, message });
  const seen = { memory, screen: "", log };
  const options = { logger: { debug: note, info: note, warn: note, error: note } };
  const all: CoordinatorPorts = {
    input: textInput(from(...lines)),
    speechToText: textOnly,
    parseIntent,
    converse: remembering(memory, echo),
    output: textOutput((text) => {
      seen.screen += text;
    }),
    ...ports,
  };
  const run = (more: CoordinatorOptions = {}) => runCoordinator(all, { ...options, ...more });
  return { ...seen, run, screen: () => seen.screen };
}

const kept = (memory: WorkingMemory) =>
  memory
    .all()
    .map(({ utterance, intent, response, outcome }) => [utterance, intent, response, outcome]);

test("each line is a turn with its intent, and the loop ends with the input", async () => {
  const { run, memory, screen } = setUp(["Hello", "What time is it?"]);
  assert.deepEqual(await run(), { turns: 2, ended: "input_ended" });
  assert.equal(screen(), "You said Hello.\nYou said What time is it?.\n");
  assert.deepEqual(kept(memory), [
    ["Hello", "GREETING", "You said Hello.", "answered"],
    ["What time is it?", "QUESTION", "You said What time is it?.", "answered"],
  ]);
});

for (const [utterance, companionName] of [
  ["goodbye", undefined],
  ["Ok, stop now please!", undefined],
  ["Stop, Nova", "Nova"],
] as const) {
  test(`"${utterance}" to ${companionName} is answered, then ends the loop`, async () => {
    const { run, memory, screen } = setUp(["Hello", utterance, "never read"]);
    const options = companionName === undefined ? {} : { companionName };
    assert.deepEqual(await run(options), { turns: 2, ended: "stop_word" });
    assert.equal(memory.recentIntents(1)[0], "COMMAND");
    assert.equal(memory.recentResponses(1)[0], `You said ${utterance}.`);
    assert.match(screen(), /You said Hello\.\nYou said .*\.\n$/);
  });
}

for (const answer of ["quite nice", "bus stop", "exit strategy", "stop", "Goodbye!", "quit"]) {
  test(`A6: nothing ends when the assistant says "${answer}"`, async () => {
    const converse = remembering(new WorkingMemory(), () => [answer]);
    const { run } = setUp(["Hello", "Hello again"], { converse });
    assert.deepEqual(await run(), { turns: 2, ended: "input_ended" });
  });
}

test("500 turns are no limit, and leave no listener on the signal", async () => {
  const { signal } = new AbortController();
  const { run } = setUp(Array.from({ length: 500 }, (_, index) => `line ${index}`));
  assert.deepEqual(await run({ signal }), { turns: 500, ended: "input_ended" });
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("an input without words is no turn", async () => {
  const { run, memory } = setUp(["", "  \t", "Hello", "\n"]);
  assert.deepEqual(await run(), { turns: 1, ended: "input_ended" });
  assert.equal(memory.count, 1);
});

test("sound becomes words before it becomes a turn", async () => {
  const heard: unknown[] = [];
  const { run, memory } = setUp([], {
    input: inputOf(
      { audio: Uint8Array.of(1, 2), format: "s16le" },
      { audio: new Uint8Array(), format: "s16le" },
    ),
    speechToText: {
      async transcribe(audio, format) {
        heard.push([audio.length, format]);
        return audio.length === 0 ? "" : "Hello";
      },
    },
  });
  assert.deepEqual(await run(), { turns: 1, ended: "input_ended" });
  assert.deepEqual(memory.recentUtterances(), ["Hello"]);
  assert.deepEqual(heard, [
    [2, "s16le"],
    [0, "s16le"],
  ]);
});

test("sound that cannot be understood is shown as such, is no turn, and the loop goes on", async () => {
  const input = inputOf({ audio: Uint8Array.of(1), format: "s16le" }, { text: "Hello" });
  const { run, memory, screen } = setUp([], { input });
  assert.deepEqual(await run(), { turns: 1, ended: "input_ended" });
  assert.match(screen(), /^\(Sound cannot be heard here: .*\)\nYou said Hello\.\n$/);
  assert.deepEqual(memory.recentUtterances(), ["Hello"]);
});

const unavailable = { code: "THROUGHLINE_UNAVAILABLE" } as const;
const failures: readonly [name: string, error: unknown, shown: string][] = [
  ["a ThroughlineError", new ThroughlineError("Nothing stored.", unavailable), "(Nothing stored.)"],
  ["a ResponderError", new ResponderError("No model.", { kind: "unavailable" }), "(No model.)"],
  ["any other error", new Error("at /home/me: my secret"), "(Something went wrong in this turn.)"],
  ["no error at all", "my secret", "(Something went wrong in this turn.)"],
];
for (const [name, error, shown] of failures) {
  test(`a turn that throws ${name} after some text is shown, and the loop goes on`, async () => {
    const memory = new WorkingMemory();
    const { run, screen, log } = setUp(["Fail", "Hello"], {
      converse: remembering(memory, (utterance) => {
        if (utterance === "Fail") throw error;
        return echo(utterance);
      }),
    });
    assert.deepEqual(await run(), { turns: 2, ended: "input_ended" });
    assert.equal(screen(), `${shown}\nYou said Hello.\n`);
    assert.deepEqual(
      kept(memory).map(([utterance, , , outcome]) => [utterance, outcome]),
      [
        ["Fail", "failed"],
        ["Hello", "answered"],
      ],
    );
    // Nobody said what an exception of the application's own says.
    const isOwn = error instanceof Error && error.name === "Error";
    assert.match(JSON.stringify(log), isOwn ? /my secret\\n +at / : /^(?!.*secret)/);
    assert.doesNotMatch(JSON.stringify(log), /Hello/);
  });
}

test("a goodbye whose turn fails still ends the loop", async () => {
  const { run } = setUp(["goodbye", "never read"], {
    converse: () => {
      throw new Error("broken");
    },
  });
  assert.deepEqual(await run(), { turns: 1, ended: "stop_word" });
});

test("a turn without a result is shown as failed", async () => {
  const { run, screen } = setUp(["Hello"], {
    converse: () => from<TurnEvent>({ type: "text", text: "Hi" }),
  });
  assert.deepEqual(await run(), { turns: 1, ended: "input_ended" });
  assert.equal(screen(), "Hi (The answer has no end.)\n");
});

test("a response that was not streamed is shown once", async () => {
  const { run, screen } = setUp(["Hello"], {
    converse: () => from<TurnEvent>({ type: "result", outcome: "answered", response: "Hi!" }),
  });
  await run();
  assert.equal(screen(), "Hi!\n");
});

test("an intent parser that throws costs the label, not the turn", async () => {
  const { run, memory } = setUp(["Hello"], {
    parseIntent: () => {
      throw new Error("broken");
    },
  });
  assert.deepEqual(await run(), { turns: 1, ended: "input_ended" });
  assert.deepEqual(kept(memory), [["Hello", "UNKNOWN", "You said Hello.", "answered"]]);
});

test("the turn gets the memory, typed to be read", async () => {
  const blocks: unknown[] = [];
  const memory = new WorkingMemory();
  const remember = remembering(memory, echo);
  const { run } = setUp(["Hello", "Why?"], {
    converse: (utterance, intent, signal, given) => {
      // @ts-expect-error: only to read
      void given?.append;
      blocks.push(given?.promptBlock());
      return remember(utterance, intent, signal);
    },
  });
  await run({ memory });
  const first = "Turn 1: You said 'Hello' (classified as GREETING). I responded 'You said Hello.'.";
  assert.deepEqual(blocks, ["", `Context:\n${first}\n\n`]);
});

test("the log tells how each turn ended and what the memory counts, never what was said", async () => {
  const memory = new WorkingMemory({ clock: { now: () => 0, monotonic: () => 0 } });
  const { run, log } = setUp(["my secret"], { converse: remembering(memory, echo) });
  await run({ memory });
  assert.deepEqual(log, [{ message: "a turn ended", outcome: "answered", memory: memory.stats() }]);
  assert.doesNotMatch(JSON.stringify(log), /secret/);
});

for (const call of ["begin", "write", "end"] as const) {
  for (const how of ["rejects", "throws"] as const) {
    // The output is gone before the second piece, or only after the whole answer.
    const outcome = call === "end" ? "answered" : "interrupted";
    test(`A7: when ${call} of the output ${how}, the turn is kept as ${outcome}`, async () => {
      const fail = (): Promise<void> => {
        if (how === "throws") throw new Error("no speaker");
        return Promise.reject(new Error("no speaker"));
      };
      const calls: string[] = [];
      const works = (name: string) => async () => {
        calls.push(name);
      };
      const output: OutputSink = {
        begin: works("begin"),
        write: works("write"),
        end: works("end"),
        [call]: fail,
      };
      const { run, memory } = setUp(["Hello", "Again"], { output });
      assert.deepEqual(await run(), { turns: 2, ended: "input_ended" });
      assert.deepEqual(
        kept(memory).map(([utterance, , , ended]) => [utterance, ended]),
        [
          ["Hello", outcome],
          ["Again", outcome],
        ],
      );
      const expected = {
        begin: ["end"],
        write: ["begin", "end"],
        end: ["begin", "write", "write"],
      };
      assert.deepEqual(calls, [...expected[call], ...expected[call]]);
    });
  }
}

test("A7: a person who talks over the answer cuts it short; it is kept as interrupted", async () => {
  const spoken: string[] = [];
  const ends: unknown[] = [];
  let interrupt = () => {};
  const { run, memory } = setUp(["Hello", "Again"], {
    output: {
      async begin(stop) {
        interrupt = stop;
      },
      async write(text) {
        spoken.push(text);
        if (spoken.length === 1) interrupt();
      },
      async end({ outcome }) {
        ends.push(outcome);
      },
    },
  });
  assert.deepEqual(await run(), { turns: 2, ended: "input_ended" });
  assert.deepEqual(ends, ["interrupted", "answered"]);
  assert.deepEqual(spoken, ["You said ", "You said ", "Again."]);
  assert.deepEqual(kept(memory)[0], ["Hello", "GREETING", "You said ", "interrupted"]);
});

test("a turn that throws because it was cut short is shown as interrupted", async () => {
  let interrupt = () => {};
  const ends: unknown[] = [];
  const { run } = setUp(["Hello"], {
    async *converse(_utterance, _intent, signal) {
      yield { type: "text", text: "Hi" };
      signal.throwIfAborted();
    },
    output: {
      async begin(stop) {
        interrupt = stop;
      },
      async write() {
        interrupt();
      },
      async end(result) {
        ends.push(result);
      },
    },
  });
  await run();
  assert.deepEqual(ends, [{ outcome: "interrupted", response: "" }]);
});

test("text that comes after an interruption is not spoken, and the turn is read to its end", async () => {
  const spoken: string[] = [];
  let interrupt = () => {};
  let wasReadToItsEnd = false;
  const { run } = setUp(["Hello"], {
    async *converse() {
      yield { type: "text", text: "one" };
      yield { type: "text", text: "two" };
      wasReadToItsEnd = true;
      yield { type: "result", outcome: "answered", response: "onetwo" };
    },
    output: {
      async begin(stop) {
        interrupt = stop;
      },
      async write(text) {
        spoken.push(text);
        interrupt();
      },
      async end() {},
    },
  });
  await run();
  assert.deepEqual(spoken, ["one"]);
  assert.equal(wasReadToItsEnd, true);
});

const aborts: Record<string, (ending: AbortController) => Partial<CoordinatorPorts>> = {
  "while the loop waits for input": (ending) => ({
    input: {
      next: () => {
        setImmediate(() => ending.abort());
        return new Promise(() => {});
      },
    },
  }),
  "that its input rejects for": (ending) => ({
    input: {
      next: async (signal) => {
        ending.abort();
        throw signal.reason;
      },
    },
  }),
  "while sound is made words": (ending) => ({
    input: inputOf({ audio: Uint8Array.of(1), format: "s16le" }),
    speechToText: {
      transcribe: async () => {
        ending.abort();
        throw new Error("cut off");
      },
    },
  }),
};
for (const [when, ports] of Object.entries(aborts)) {
  test(`an abort ${when} ends it at once, without a turn and without output`, async () => {
    const ending = new AbortController();
    const { run, screen } = setUp([], ports(ending));
    assert.deepEqual(await run({ signal: ending.signal }), { turns: 0, ended: "aborted" });
    assert.equal(screen(), "");
  });
}

test("a signal that is aborted already reads no input", async () => {
  let reads = 0;
  const { run } = setUp([], {
    input: {
      next: async () => {
        reads++;
        return undefined;
      },
    },
  });
  assert.deepEqual(await run({ signal: AbortSignal.abort() }), { turns: 0, ended: "aborted" });
  assert.equal(reads, 0);
});

test("an abort in the middle of a turn keeps the turn, then ends the loop", async () => {
  const ending = new AbortController();
  const memory = new WorkingMemory();
  const { run, screen } = setUp(["Hello", "never read"], {
    converse: remembering(memory, function* () {
      yield "one ";
      ending.abort();
      yield "two";
    } as unknown as (utterance: string) => Pieces),
  });
  assert.deepEqual(await run({ signal: ending.signal }), { turns: 1, ended: "aborted" });
  assert.deepEqual(kept(memory), [["Hello", "GREETING", "one ", "interrupted"]]);
  assert.equal(screen(), "one  (interrupted)\n");
});

for (const call of ["begin", "write", "end"] as const) {
  test(`an output whose ${call} never resolves does not keep an aborted loop`, async () => {
    const ending = new AbortController();
    const hang = (): Promise<void> => {
      setImmediate(() => ending.abort());
      return new Promise(() => {});
    };
    const works = async () => {};
    const output: OutputSink = { begin: works, write: works, end: works, [call]: hang };
    const { run, memory } = setUp(["Hello"], { output });
    assert.deepEqual(await run({ signal: ending.signal }), { turns: 1, ended: "aborted" });
    assert.equal(memory.count, 1);
  });
}

test("the loop rejects with what the input rejects with", async () => {
  const broken = new Error("the terminal is gone");
  const { run } = setUp([], { input: { next: () => Promise.reject(broken) } });
  await assert.rejects(run(), broken);
});
