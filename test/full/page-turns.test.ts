// Method: 40 random turns, at night 200, over a model server of our own, which streams, thinks, calls tools, limits
// its rate, and fails in each way. What the transcript shows after a turn is what it shows after a
// reload, and what is stored. Chats are added until each kind of turn was seen.
import assert from "node:assert/strict";
import { env } from "node:process";
import type { TestContext } from "node:test";
import type { Page, Request } from "playwright-core";
import type { StoredMessage } from "../../src/core/chat/message.ts";
import { systemClock } from "../../src/core/clock.ts";
import { randomId } from "../../src/core/ids.ts";
import { createResponder } from "../../src/core/models/registry.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { createServer } from "../../src/server/server.ts";
import { type Random, seededRandom } from "../../src/testing/random.ts";
import { openAiServer, type Reply } from "../support/openai-server.ts";
import { holds, say, test, withPage } from "./page-fixture.ts";

const seed = Number(env["THROUGHLINE_SEED"] ?? Date.now() % 1_000_000);
const turnsOfChat = 8;
const leastChats = Number(env["THROUGHLINE_TURNS"] ?? 40) / turnsOfChat;
const mostChats = leastChats + 60;
const wantedKinds = ["tool", "failed call", "reasoning", "replaced", "stopped", "error"];
/** Every row is in sight, so every row is in the page. */
const viewport = { width: 900, height: 7_000 };
/** Drawing so tall a page, again and again, would take most of the time. */
const browser = { viewport, deviceScaleFactor: 0.1, reducedMotion: "reduce" } as const;

const texts = [
  "Let me look.",
  "**Tea** is *fine*, `a_b`.\n\n- one\n- two\n",
  "So $a_1 * b_1$ and \\(c_2\\).",
  "![a cup](https://tea.example/c.png) & <b>no</b> tags",
  "Zeile eins\nline two \u{1f9f5} \u05d0\u05d1",
  "# A title\n\n| a | b |\n| - | - |\n| 1 | 2 |\n",
] as const;
const tools = ["look", "look", "look", "look", "break", "unknown"] as const;
const args = ['{"what":"the <window>"}', '{"what":"a\\n  b"}', "{}", "[1]", "{ not JSON"] as const;

/** What a model sends in one answer, as OpenAI's protocol has it. */
interface Sent {
  readonly reasoning?: string;
  readonly text?: string;
  /** The names and arguments of the tools that it calls. */
  readonly calls?: readonly (readonly [name: string, args: string])[];
}

function streamOf({ reasoning = "", text = "", calls = [] }: Sent, n: number): string {
  const pieces = (words: string) => words.match(/[\s\S]{1,7}/g) ?? [];
  const deltas = [
    ...pieces(reasoning).map((piece) => ({ reasoning_content: piece })),
    ...pieces(text).map((content) => ({ content })),
    ...calls.map(([name, written], index) => ({
      tool_calls: [
        { index, id: `c${n}-${index}`, type: "function", function: { name, arguments: written } },
      ],
    })),
  ];
  const reason = calls.length > 0 ? "tool_calls" : "stop";
  const choices = [
    ...deltas.map((delta) => ({ index: 0, delta: { role: "assistant", ...delta } })),
    { index: 0, delta: {}, finish_reason: reason },
  ];
  const usage = { prompt_tokens: 12, completion_tokens: deltas.length, total_tokens: 12 };
  const events = [...choices.map((choice) => ({ choices: [choice] })), { choices: [], usage }].map(
    (event) => JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "m-1", ...event }),
  );
  return [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
}

/** What the model server answers next, oldest first; then a plain text. */
class Model {
  readonly #random: Random;
  #next: Reply[] = [];
  #n = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** How many of the answers that were decided on are still to be asked for. */
  get left(): number {
    return this.#next.length;
  }

  readonly reply = (): Reply => this.#next.shift() ?? this.#plain();

  #pick<T>(items: readonly T[]): T {
    return items[this.#random(items.length)] as T;
  }

  #sent(calls: number): Sent {
    const isThinking = this.#random(3) === 0;
    return {
      reasoning: isThinking ? `Hm, ${this.#pick(texts)}` : "",
      text: calls > 0 && this.#random(3) === 0 ? "" : this.#pick(texts),
      calls: Array.from({ length: calls }, () => {
        return [this.#pick(tools), this.#pick(args)] as const;
      }),
    };
  }

  #plain(): Reply {
    return { stream: streamOf(this.#sent(0), this.#n++) };
  }

  #cut(how: Partial<Reply>): Reply {
    const stream = streamOf(this.#sent(this.#random(2)), this.#n++);
    return { stream, cutAt: 400 + this.#random(stream.length), ...how };
  }

  /** Decides on the next turn. @returns what it ends with. */
  plan(): "by itself" | "with Stop" {
    const steps = this.#random(2) === 0 ? 0 : 1 + this.#random(3);
    this.#next = Array.from({ length: steps }, () => ({
      stream: streamOf(this.#sent(1 + this.#random(2)), this.#n++),
    }));
    // A limit that passes may come before any of its calls.
    if (this.#random(4) === 0) this.#next.splice(this.#random(steps + 1), 0, { status: 429 });
    switch (this.#random(11)) {
      case 0:
        this.#next.push({ status: this.#pick([400, 401, 404]) });
        return "by itself";
      case 1:
        this.#next.push({ status: 503 }, { status: 500 }, { status: 429 });
        return "by itself";
      case 2:
      case 3:
        this.#next.push(this.#cut({ cut: this.#pick(["close", "reset"] as const) }));
        return "by itself";
      case 4:
        this.#next.push({ stream: 'data: {"error":{"message":"overloaded","type":"x"}}\n\n' });
        return "by itself";
      case 5:
        this.#next.push(this.#cut({ hang: true }));
        return "with Stop";
      case 6:
        this.#next.push(
          this.#pick([
            { hang: true, cutAt: -1 },
            { status: 429, retryAfter: 50 },
          ]),
        );
        return "with Stop";
      default:
        return "by itself";
    }
  }
}

/** A companion that offers two tools, one of which fails, over a model of this server. */
async function serve(t: TestContext, model: Model) {
  const models = await openAiServer(model.reply);
  const spec = { provider: "openai-compatible", model: "m-1", baseUrl: models.url } as const;
  const responder = await createResponder(spec, {});
  const standard = { provider: responder.provider, model: responder.model };
  const throughline = await openThroughline({ storage: "memory", ...standard });
  const { chats: kept } = throughline;
  const parameters = { type: "object" };
  const offered = [
    {
      ...{ name: "look", description: "Looks.", parameters },
      run: async (given: unknown) => `saw ${JSON.stringify(given)}\n\n  **and** <more>`,
    },
    {
      ...{ name: "break", description: "Fails.", parameters },
      run: () => Promise.reject(new Error("it broke")),
    },
  ];
  const own = { clock: systemClock, newId: randomId };
  const turns = await throughline.turns({
    model: responder,
    maxQueued: 8,
    tools: () => ({ instructions: "", tools: offered }),
  });
  const server = createServer({ throughline, turns, version: "0", ...own });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  t.after(async () => {
    await turns.close(0);
    await server.close();
    await throughline.close();
    await models.close();
  });
  return { url, chats: kept };
}

/** Resolves once no turn runs on the page, and it waits for no answer of its server. */
class Quiet {
  readonly #page: Page;
  readonly #open = new Set<Request>();

  constructor(page: Page) {
    this.#page = page;
    page.on("request", (request) => {
      if (!request.url().endsWith("/api/events")) this.#open.add(request);
    });
    const isOver = (request: Request) => this.#open.delete(request);
    page.on("requestfinished", isOver);
    page.on("requestfailed", isOver);
  }

  async until(): Promise<void> {
    const until = performance.now() + 60_000;
    for (let still = 0; still < 3; ) {
      const isRunning = await this.#page.evaluate(
        "document.querySelector('.is-waiting, [aria-busy=true], [aria-label=\"Stop the answer\"], .loading') !== null",
      );
      still = isRunning || this.#open.size > 0 ? 0 : still + 1;
      assert.ok(performance.now() < until, "the page does not come to rest");
      await this.#page.waitForTimeout(10);
    }
  }
}

async function transcript(page: Page): Promise<string[]> {
  // What draws formulas is loaded with the first one. Until then they are shown as they were written.
  await holds(page, "document.querySelector('.math-source') === null");
  const { rows, isWhole } = await page.evaluate<{ rows: string[]; isWhole: boolean }>(`({
    rows: [...document.querySelectorAll(".transcript-rows > li")].map((row) => row.textContent),
    isWhole: [...document.querySelectorAll(".transcript-box")]
      .every(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight),
  })`);
  assert.ok(isWhole, "a row is out of sight, and so not in the page");
  return rows;
}

/** What is in the rows of calls, results and reasoning, each opened, in their order. */
async function steps(page: Page): Promise<string[]> {
  await page.evaluate("for (const step of document.querySelectorAll('.step')) step.open = true");
  const count = await page.locator(".step").count();
  const bodies = page.locator(".step .step-body");
  while ((await bodies.count()) < count) await page.waitForTimeout(10);
  return page.evaluate(
    "[...document.querySelectorAll('.step-text')].map((each) => each.textContent)",
  );
}

/** The same of what is stored. */
function storedSteps(messages: readonly StoredMessage[]): string[] {
  const shown = messages.filter(({ hidden }) => hidden !== true);
  return shown.flatMap((message, at) => {
    const { reasoning_content: reasoning = "", tool_calls: calls = [] } = message;
    const said = calls.flatMap(({ id, function: { arguments: written } }) => {
      const result = shown.slice(at).find((each) => each.tool_call_id === id);
      return result === undefined ? [written] : [written, result.content];
    });
    return reasoning === "" ? said : [reasoning, ...said];
  });
}

/** What happened in a chat, in the words that a count is kept by. */
function kindsOf(messages: readonly StoredMessage[]): string[] {
  return messages.flatMap((message) => [
    message.hidden === true ? "replaced" : message.role,
    ...(message.partial_reason === undefined ? [] : [message.partial_reason]),
    ...(message.is_error === true ? ["failed call"] : []),
    ...(message.reasoning_content === undefined ? [] : ["reasoning"]),
  ]);
}

/** Begins a turn: says something, answers again, or takes up what has no answer. */
async function begin(page: Page, random: Random, n: number): Promise<void> {
  const others = page.getByRole("button", {
    name: /^(Try again|Regenerate|Answer it|Dismiss)$/,
  });
  const offered = await others.all();
  const other = random(3) === 0 ? offered[random(offered.length)] : undefined;
  if (other === undefined) return say(page, `Say ${n}`);
  await other.dispatchEvent("click");
}

/** Stops the turn once its last answer was asked for; one that did not begin needs none. */
async function stopOnce(page: Page, model: Model): Promise<void> {
  const stop = page.getByRole("button", { name: "Stop the answer" });
  for (let idle = 0; idle < 30; idle++) {
    if ((await stop.count()) > 0) idle = 0;
    if (idle === 0 && model.left === 0) return stop.dispatchEvent("click");
    await page.waitForTimeout(10);
  }
}

test(`the transcript of ${leastChats * turnsOfChat} random turns is the same after a reload, and is what is stored`, {
  timeout: 900_000,
}, async (t) => {
  const random = seededRandom(seed);
  const model = new Model(random);
  const { url, chats: kept } = await serve(t, model);
  const expected = /50[0-9]|40[0-9]|Failed to load/;
  await withPage(url, { browser, expected }, async ({ page }) => {
    const quiet = new Quiet(page);
    const kinds = new Map<string, number>();
    const missing = () => wantedKinds.filter((kind) => !kinds.has(kind));
    for (let chat = 0; chat < leastChats || (missing().length > 0 && chat < mostChats); chat++) {
      const id = `local:${chat}`;
      await page.goto(`${url}/chats/${encodeURIComponent(id)}`);
      await quiet.until();
      for (let turn = 0; turn < turnsOfChat; turn++) {
        const where = `seed ${seed}, chat ${chat}, turn ${turn}`;
        const ends = model.plan();
        await begin(page, random, turn);
        if (ends === "with Stop") await stopOnce(page, model);
        await quiet.until();
        const before = await transcript(page);
        if (turn % 4 === 3) {
          await page.reload();
          await quiet.until();
          assert.deepEqual(before, await transcript(page), where);
        }
      }
      const { messages } = await kept.messages(id, { limit: 1_000 });
      assert.deepEqual(await steps(page), storedSteps(messages), `seed ${seed}, chat ${chat}`);
      for (const kind of kindsOf(messages)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    t.diagnostic(`seed ${seed}: ${JSON.stringify([...kinds])}`);
    assert.deepEqual(missing(), [], `seed ${seed}: kinds that no turn was`);
  });
});
