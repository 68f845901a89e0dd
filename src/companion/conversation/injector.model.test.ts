import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { HeldClock } from "../../../test/support/held-clock.ts";
import { HeldTimers } from "../../../test/support/held-timers.ts";
import { SimulatedVoice } from "../../../test/support/simulated-voice.ts";
import type { InjectionResult } from "./injection.ts";
import type { InjectionStream, StreamState } from "./injection-stream.ts";
import { Injector, throttleMs } from "./injector.ts";
import type { PendingInjections, PendingItem } from "./pending-injections.ts";

// Method: any order of texts, states of the stream, voice streams, answers of the model (prompt,
// late, refused, never), saves that fail or hang, time and kills. After every step the bounds are
// looked at. At the end the stream is well and time passes; then the whole is compared with what a
// list of promises says. R4, U27, C12.

type Step =
  | { readonly do: "inject"; readonly must: boolean; readonly length: number }
  | { readonly do: "repeat"; readonly back: number }
  | { readonly do: "state"; readonly state: StreamState }
  | { readonly do: "voice-stream" }
  | { readonly do: "acknowledge" | "refuse" }
  | { readonly do: "prompt"; readonly isPrompt: boolean }
  | { readonly do: "saves"; readonly mode: SaveMode }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "kill"; readonly isSaveDone: boolean };
type SaveMode = "works" | "fails" | "hangs";

const length = fc.oneof(fc.constant(40), fc.constantFrom(40, 700, 2_500, 8_000));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("inject" as const), must: fc.boolean(), length }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("repeat" as const), back: fc.nat(9) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("state" as const),
      state: fc.constantFrom<StreamState>("inactive", "idle", "idle", "speaking"),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "voice-stream" } as const) },
  { weight: 2, arbitrary: fc.constantFrom({ do: "acknowledge" }, { do: "refuse" } as const) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("prompt" as const), isPrompt: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("saves" as const),
      mode: fc.constantFrom<SaveMode>("works", "works", "fails", "hangs"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 500, 1_500, 3_000, 6_000, 31_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("kill" as const), isSaveDone: fc.boolean() }),
  },
) as fc.Arbitrary<Step>;

/** What was kept, and a save that has not come to its end. */
class Disk {
  items: readonly PendingItem[] = [];
  mode: SaveMode = "works";
  #open: { readonly items: readonly PendingItem[]; readonly resolve: () => void } | undefined;

  save(items: readonly PendingItem[]): Promise<void> {
    if (this.mode === "fails") return Promise.reject(new Error("the disk is full"));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open = { items, resolve };
    if (this.mode === "works") this.finish();
    return promise;
  }

  finish(): void {
    if (this.#open === undefined) return;
    this.items = this.#open.items;
    this.#open.resolve();
    this.#open = undefined;
  }

  /** The process died: what it was writing is there, or not. */
  kill(isSaveDone: boolean): void {
    if (isSaveDone) this.finish();
    this.#open = undefined;
  }
}

/** What the process that runs holds on to. Once it is killed none of its calls reach anything. */
class Process {
  isAlive = true;
  readonly timers: HeldTimers;
  readonly sentAt: number[] = [];
  readonly stream: InjectionStream;
  readonly pending: PendingInjections;

  constructor(voice: SimulatedVoice, disk: Disk, clock: HeldClock) {
    this.timers = new HeldTimers(clock);
    this.stream = {
      get state() {
        return voice.state;
      },
      get voiceStream() {
        return voice.voiceStream;
      },
      inject: (text, ids) => {
        if (!this.isAlive) return new Promise(() => {});
        this.sentAt.push(clock.monotonic());
        return voice.inject(text, ids);
      },
      onChange: (listener) => voice.onChange(() => this.isAlive && listener()),
    };
    this.pending = {
      load: async () => disk.items,
      save: (items) => (this.isAlive ? disk.save(items) : new Promise(() => {})),
    };
  }
}

interface Submitted {
  readonly id: string;
  readonly must: boolean;
  /** Told before any kill: `queued`, `merged` or `delivered` is a promise to deliver what must be. */
  told?: InjectionResult;
  outcome?: InjectionResult;
  readonly process: Process;
}

class World {
  readonly voice = new SimulatedVoice({ state: "inactive" });
  readonly clock = new HeldClock();
  readonly disk = new Disk();
  readonly submitted: Submitted[] = [];
  #process = new Process(this.voice, this.disk, this.clock);
  #injector: Injector | undefined;

  async boot(): Promise<void> {
    this.#process = new Process(this.voice, this.disk, this.clock);
    const { stream, pending, timers } = this.#process;
    const newId = () => assert.fail("each text has an id");
    this.#injector = await Injector.open({ stream, pending, timers, clock: this.clock, newId });
    await setImmediate();
  }

  async run(step: Step): Promise<void> {
    const { voice, disk } = this;
    switch (step.do) {
      case "inject":
        this.#inject(`t${this.submitted.length}`, step.must, step.length);
        break;
      case "repeat": {
        const earlier = this.submitted.at(-1 - step.back);
        if (earlier !== undefined) this.#injector?.inject(textOf(earlier.id, 40), earlier);
        break;
      }
      case "state":
        voice.become(step.state);
        break;
      case "voice-stream":
        voice.beginVoiceStream();
        break;
      case "acknowledge":
        voice.acknowledge();
        break;
      case "refuse":
        voice.refuse();
        break;
      case "prompt":
        voice.isPrompt = step.isPrompt;
        break;
      case "saves":
        disk.mode = step.mode;
        if (step.mode === "works") disk.finish();
        break;
      case "pass":
        await this.#process.timers.pass(step.ms);
        break;
      case "kill":
        this.#process.isAlive = false;
        disk.kill(step.isSaveDone);
        this.#checkThrottle();
        await this.boot();
        break;
    }
    await setImmediate();
    this.#checkBounds();
  }

  async heal(): Promise<void> {
    this.disk.mode = "works";
    this.disk.finish();
    this.voice.acknowledge();
    this.voice.isPrompt = true;
    this.voice.beginVoiceStream();
    this.voice.become("idle");
    for (let i = 0; i < 20; i++) await this.#process.timers.pass(31_000);
    this.#checkThrottle();
    assert.deepEqual(this.#injector?.waiting, { items: 0, characters: 0 });
    assert.deepEqual(this.disk.items, []);
    await this.#injector?.close();
    assert.equal(this.#process.timers.count, 0);
  }

  #inject(id: string, must: boolean, length: number): void {
    const process = this.#process;
    const submitted: Submitted = { id, must, process };
    this.submitted.push(submitted);
    const injection = this.#injector?.inject(textOf(id, length), { id, mustDeliver: must });
    void injection?.result.then((told) => {
      if (process.isAlive) submitted.told = told;
    });
    void injection?.outcome.then((outcome) => {
      if (process.isAlive) submitted.outcome = outcome;
    });
  }

  #checkBounds(): void {
    const { items, characters } = this.#injector?.waiting ?? { items: 0, characters: 0 };
    assert.ok(items <= 16, `${items} items wait`);
    assert.ok(characters <= 8_000, `${characters} characters wait`);
    assert.ok(this.disk.items.length <= 16);
  }

  #checkThrottle(): void {
    const { sentAt } = this.#process;
    for (const [index, at] of sentAt.entries()) {
      const before = sentAt[index - 1];
      if (before !== undefined) assert.ok(at - before >= throttleMs, `${at - before} ms apart`);
    }
  }
}

const textOf = (id: string, length: number) => `<${id}>`.padEnd(length, ".");

function compare(world: World): void {
  const { voice, submitted } = world;
  for (const { state } of voice.calls) assert.equal(state, "idle");
  for (const { id, must, told, outcome, process } of submitted) {
    if (process.isAlive) assert.match(outcome?.kind ?? "none", /^(delivered|dropped)$/, id);
    const count = voice.takenIds.filter((taken) => taken === id).length;
    assert.ok(count <= 1, `${id} was taken ${count} times`);
    const isPromised = must && told !== undefined && told.kind !== "dropped";
    if (isPromised) assert.equal(count, 1, `${id} was promised`);
    if (outcome?.kind === "delivered") assert.equal(count, 1, `${id} was said to be delivered`);
  }
  // Each call is its texts in order: every one there, once.
  for (const { text, ids } of voice.calls) {
    assert.deepEqual(
      [...text.matchAll(/<(t\d+)>/g)].map(([, id]) => id),
      ids,
    );
    assert.equal(text.split("\n\n").length, ids.length);
  }
}

function assertOrder(world: World): void {
  const order = world.submitted.filter(({ must }) => must).map(({ id }) => id);
  const taken = world.voice.takenIds.filter((id) => order.includes(id));
  assert.deepEqual(
    taken,
    order.filter((id) => taken.includes(id)),
  );
}

async function play(steps: readonly Step[]): Promise<World> {
  const world = new World();
  await world.boot();
  for (const each of steps) await world.run(each);
  await world.heal();
  return world;
}

const steps = fc.array(step, { maxLength: 40, size: "max" });

test("whatever happens, what was promised is taken exactly once, the bounds and the throttle hold", async () => {
  let promised = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const world = await play(given);
      compare(world);
      promised += world.voice.takenIds.length;
    }),
    { numRuns: 300 },
  );
  assert.ok(promised > 300, `only ${promised} texts were ever taken`);
});

// A refused text lets others by, and a repeated id that was dropped comes in again.
test("without refusals and repeats, texts that must be delivered are taken in the order in which they came", async () => {
  const isCalm = (each: Step) => each.do !== "refuse" && each.do !== "repeat";
  const calm = steps.map((all) => all.filter(isCalm));
  await fc.assert(
    fc.asyncProperty(calm, async (given) => assertOrder(await play(given))),
    { numRuns: 200 },
  );
});
