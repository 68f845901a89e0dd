// Talking when things go wrong: what waits, what is cut off, what a reload keeps, where the focus goes.
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import type { ScriptedStep } from "../support/scripted-responder.ts";
import { type Companion, companion, me } from "../support/server-fixture.ts";
import {
  field,
  gate,
  go,
  hasCount,
  hold,
  holds,
  message,
  messages,
  onPage,
  say,
  test,
} from "./page-fixture.ts";

const lostServer = /ERR_|Failed to load/;
const nothingKept = "sessionStorage.getItem('throughline-words') === null";
const isComposing = "document.activeElement?.id === 'message'";
const stop = (page: Page) => page.getByRole("button", { name: "Stop the answer" });

/** What stands between a page and its server, and is cut where a test says. */
class Wire {
  readonly port: number;
  /** Where it leads; `undefined`: to nowhere. */
  to: number | undefined;
  readonly #ends: Set<Socket>;

  static async open(t: TestContext): Promise<Wire> {
    const ends = new Set<Socket>();
    const listener = createServer((client) => {
      const server = wire.to === undefined ? undefined : connect(wire.to, "127.0.0.1");
      if (server === undefined) return void client.destroy();
      for (const [from, into] of [
        [client, server],
        [server, client],
      ] as const) {
        ends.add(from);
        from.on("error", () => undefined); // "close" follows
        from.on("close", () => {
          ends.delete(from);
          into.destroy();
        });
        from.pipe(into);
      }
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const wire = new Wire((listener.address() as { port: number }).port, ends);
    t.after(() => {
      wire.cut();
      listener.close();
    });
    return wire;
  }

  private constructor(port: number, ends: Set<Socket>) {
    this.port = port;
    this.#ends = ends;
  }

  /** As when the server is killed: nothing more comes, in the middle of whatever it was. */
  cut(): void {
    this.to = undefined;
    for (const end of this.#ends) end.destroy();
  }
}

/** Talks over a wire to a companion, whose page begins with an answer that does not end. */
async function overWire(
  t: TestContext,
  use: (page: Page, wire: Wire, c: Companion) => Promise<void>,
): Promise<void> {
  const wire = await Wire.open(t);
  const hosts = [`127.0.0.1:${wire.port}`];
  const script: ScriptedStep[][] = [
    ["Once upon", { type: "hang" }],
    ["In those days", { type: "hang" }],
  ];
  await onPage({ script, options: { hosts }, expected: lostServer }, async ({ page, url }, c) => {
    wire.to = Number(new URL(url).port);
    await page.goto(`http://127.0.0.1:${wire.port}/`);
    await say(page, "A story");
    await message(page, "Once upon").waitFor();
    await use(page, wire, c);
    await page.goto("about:blank");
  });
}

/** The next run of a companion, at the other end of the wire. */
async function restart(wire: Wire, first: Companion): Promise<Companion> {
  await first.turns.close(0);
  const { throughline } = first;
  const next = await companion([["Again"]], { throughline, hosts: [`127.0.0.1:${wire.port}`] });
  const { port } = await next.listen({ host: "127.0.0.1", port: 0 });
  wire.to = port;
  return next;
}

/** In the page: that a stream is at its end is heard after what the events tell of the next turn. */
const lateEnds = () => {
  const { fetch } = globalThis;
  const lateMs = 300;
  globalThis.fetch = async (...asked) => {
    const response = await fetch(...asked);
    const isStream = response.headers.get("content-type")?.includes("event-stream") === true;
    if (!isStream || response.body === null) return response;
    const late = { flush: () => new Promise<void>((resolve) => setTimeout(resolve, lateMs)) };
    return new Response(response.body.pipeThrough(new TransformStream(late)), response);
  };
};

test("two pages of one chat show every answer as it comes, from both of them", async () => {
  const rounds = Array.from({ length: 3 }, (_, n) => ({ n, one: gate(), two: gate() }));
  const script = rounds.flatMap(({ n, one, two }): ScriptedStep[][] => [
    [`One ${n} `, { type: "wait", until: one.until }, "is done"],
    [`Two ${n} `, { type: "wait", until: two.until }, "is done"],
  ]);
  await onPage({ script, inject: lateEnds }, async ({ page, context, url }) => {
    const other = await context.newPage();
    await other.goto(url);
    for (const { n, one, two } of rounds) {
      await say(page, `first ${n}`);
      for (const each of [page, other]) await message(each, `One ${n}`).waitFor();
      await say(other, `second ${n}`);
      await message(other, `second ${n}`).filter({ hasText: "Queued" }).waitFor();
      one.open();
      for (const each of [page, other]) {
        await message(each, `Two ${n}`).waitFor();
        await stop(each).waitFor();
      }
      two.open();
      for (const each of [page, other]) {
        await message(each, `Two ${n} is done`).waitFor();
        await stop(each).waitFor({ state: "detached" });
      }
    }
  });
});

/** In the page: `hide` says whether it is in sight, and a minute out of sight is over at once. */
const hideable = () => {
  // biome-ignore lint/suspicious/noExplicitAny: a page's globals, which tests have no types of.
  const all = globalThis as any;
  const plain = all.setTimeout;
  all.setTimeout = (call: () => void, ms = 0) => plain(call, ms === 60_000 ? 0 : ms);
  let isHidden = false;
  Object.defineProperty(all.document, "hidden", { get: () => isHidden });
  all.hide = (isOut: boolean) => {
    isHidden = isOut;
    all.document.dispatchEvent(new all.Event("visibilitychange"));
  };
};

test("a window that was out of sight for a minute shows what was said in another one since then", async () => {
  await onPage({ script: [["One"]], inject: hideable }, async ({ page, context, url }) => {
    await holds(page, "navigator.locks.query().then(({ held }) => held.length === 1)");
    const other = await context.newPage();
    await other.goto(url);
    await holds(other, "navigator.locks.query().then(({ pending }) => pending.length === 1)");
    await page.evaluate("hide(true)");
    await holds(other, "navigator.locks.query().then(({ pending }) => pending.length === 0)");
    await say(other, "Hello");
    await message(other, "One").waitFor();
    await page.evaluate("hide(false)");
    await message(page, "One").waitFor();
  });
});

test("what is typed is there after a reload and on the way back, until it is sent or left", async () => {
  await onPage({ script: [["Got it"]], path: "/chats/local%3Anew" }, async ({ page, url }) => {
    const isKept = "document.querySelector('#message')?.value === 'half a thou'";
    await field(page).fill("half a thou");
    await page.goto(`${url}/mood`);
    await page.getByRole("heading", { name: "Mood", level: 1 }).waitFor();
    await page.goBack();
    await holds(page, isKept);
    await page.reload();
    await holds(page, isKept);
    // It is the chat that New chat opens.
    await go(page, "/chats");
    const open = page.getByRole("button", { name: "New chat" });
    await open.click();
    await holds(page, isKept);
    await page.goBack();
    await open.waitFor();
    await page.reload();
    await open.click();
    await holds(page, isKept);
    await field(page).press("Enter");
    await message(page, "Got it").waitFor();
    await holds(page, nothingKept);

    await message(page, "half a thou").hover();
    await page.getByRole("button", { name: "Edit in a new chat" }).click();
    const edited = page.getByLabel("Edited message");
    await edited.fill("better words");
    await page.reload();
    await edited.waitFor();
    assert.equal(await edited.inputValue(), "better words");
    await page.getByRole("button", { name: "Cancel" }).click();
    await holds(page, "document.activeElement?.ariaLabel === 'Edit in a new chat'");
    await holds(page, nothingKept);
  });
});

test("a message that could not be sent, or was on its way, is there after a reload, and is sent again as the same", async () => {
  const visit = { script: [["Got it"], ["Got it"]], expected: lostServer };
  await onPage(visit, async ({ page }, c) => {
    const path = "**/api/chats/*/messages";
    let keys: (string | undefined)[] = [];
    page.on("request", (each) => {
      const key = each.headers()["idempotency-key"];
      if (key !== undefined) keys.push(key);
    });
    for (const [chat, says, fails] of [
      ["local:one", "Not sent: Can't reach Throughline.", true],
      ["local:two", "Sending", false],
    ] as const) {
      keys = [];
      await go(page, `/chats/${encodeURIComponent(chat)}`);
      await page.getByText("Nothing here yet").waitFor();
      // Else it is held back.
      await page.route(path, (route) => (fails ? route.abort() : undefined));
      await say(page, "Can you hear me?");
      const sent = message(page, "Can you hear me?");
      await sent.filter({ hasText: says }).waitFor();
      while (keys.length === 0) await page.waitForTimeout(20);
      await page.reload();
      await sent.filter({ hasText: "This may not have been sent" }).waitFor();
      await page.unroute(path);
      await page.getByRole("button", { name: "Send again" }).click();
      await message(page, "Got it").waitFor();
      assert.equal(keys.length, 2);
      assert.equal(keys[0], keys[1]);
      await hasCount(messages(page), 2);
      assert.equal((await c.throughline.chats.messages(chat)).messages.length, 2);
      await holds(page, nothingKept);
    }
  });
});

test("a message that arrived before the page was left is not shown as one that may not have", async () => {
  const rest = gate();
  const script = [["Coming ", { type: "wait" as const, until: rest.until }, "now"]];
  await onPage({ script, expected: lostServer }, async ({ page }, c) => {
    await field(page).waitFor();
    await page.route("**/api/chats/*/messages", async (route) => {
      const key = route.request().headers()["idempotency-key"] ?? "";
      await c.say("Hello", { "idempotency-key": key, accept: "text/event-stream" });
    });
    // It is told of by the events too: this page does not hear them.
    await page.route("**/api/events", (route) => route.abort());
    await page.reload();
    await say(page, "Hello");
    await holds(page, `!(${nothingKept})`);
    while (c.model.requests.length === 0) await page.waitForTimeout(20);
    await page.reload();
    await message(page, "Coming").waitFor();
    await hasCount(page.getByRole("button", { name: "Send again" }), 0);
    await holds(page, nothingKept);
    rest.open();
    await message(page, "Coming now").waitFor();
  });
});

test("a page forgets what was typed in a chat that is forgotten: while it shows it, before it hears of anything, while it is away", async () => {
  await onPage({ script: [["One"], ["One"], ["One"]] }, async ({ page, url }, c) => {
    const typed = async () => {
      await say(page, "Hello");
      await message(page, "One").waitFor();
      await field(page).fill("a secret");
      await holds(page, `!(${nothingKept})`);
    };
    const forget = async () => assert.equal((await c.ask(me, { method: "DELETE" })).status, 200);
    await typed();
    await forget();
    await holds(page, nothingKept);
    await page.goto(url);
    await page.getByText("Nothing here yet").waitFor();
    assert.equal(await field(page).inputValue(), "");

    await typed();
    const late = gate();
    await page.route("**/api/events", async (route) => {
      await late.until;
      await route.continue();
    });
    const read = page.waitForResponse((response) => response.url().includes("me/messages"));
    await page.goto(`${url}/chats`);
    await (await read).finished();
    await page.getByRole("link", { name: "One" }).or(page.getByText("Hello")).first().waitFor();
    await forget();
    late.open();
    await holds(page, nothingKept);
    await hasCount(page.getByText("Hello"), 0);
    await page.unroute("**/api/events");

    await page.goto(url);
    await typed();
    await page.goto("about:blank");
    await forget();
    await page.goto(`${url}/chats`);
    await holds(page, nothingKept);
  });
});

test("what is typed as soon as there is a field is kept and sent", async () => {
  await onPage({ script: [["One"]], lateMs: 300 }, async ({ page }) => {
    await say(page, "Hello");
    await message(page, "One").waitFor();
  });
});

test("the focus moves to the composer when what had it goes: Stop, Move to draft, Erase", async () => {
  const script: ScriptedStep[][] = [["Once", { type: "hang" }], ["Two"]];
  await onPage({ script, expected: lostServer }, async ({ page }) => {
    await say(page, "A story");
    await stop(page).focus();
    await page.keyboard.press("Enter");
    await message(page, "Stopped").waitFor();
    await stop(page).waitFor({ state: "detached" });
    await holds(page, isComposing);

    await message(page, "Stopped").getByRole("button", { name: "Regenerate" }).focus();
    await page.keyboard.press("Enter");
    await message(page, "Two").waitFor();
    await holds(page, isComposing);

    await page.route("**/api/chats/*/messages", (route) => route.abort());
    await say(page, "Unsent");
    await page.getByRole("button", { name: "Move to draft" }).focus();
    await page.keyboard.press("Enter");
    await holds(page, isComposing);
    assert.equal(await field(page).inputValue(), "Unsent");

    await message(page, "A story").getByRole("button", { name: "Erase" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Erase permanently" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("A message was removed.").waitFor();
    await holds(page, isComposing);
  });
});

test("a message that takes too long to send is taken back into the draft", async () => {
  await onPage({}, async ({ page }) => {
    const letGo = await hold(page, "**/messages");
    await say(page, "Hello?");
    await message(page, "Sending").waitFor();
    const button = page.getByRole("button", { name: "Move to draft" });
    await hasCount(button, 0); // most messages are sent before it could be used
    await page.evaluate("for (const each of document.getAnimations()) each.finish()");
    await button.click();
    await message(page, "Hello?").waitFor({ state: "detached" });
    assert.equal(await field(page).inputValue(), "Hello?");
    letGo();
  });
});

test("while the server is away an answer that broke off says so, what is queued stays so, and is lost with its server", async (t) => {
  await overWire(t, async (page, wire, c) => {
    const { to } = wire;
    await stop(page).waitFor();
    wire.cut();
    await message(page, "Once upon").filter({ hasText: "The connection was lost" }).waitFor();
    await stop(page).waitFor({ state: "detached" });
    await hasCount(page.locator(".thinking"), 0);
    wire.to = to;
    await page.getByText("The connection was lost").waitFor({ state: "detached" });
    await message(page, "Once upon").waitFor();
    await stop(page).click();
    await message(page, "Stopped").waitFor();

    await say(page, "Another");
    await message(page, "In those days").waitFor();
    await say(page, "And then?");
    const waiting = message(page, "And then?");
    await waiting.filter({ hasText: "Queued" }).waitFor();
    const answering = page.locator(".beside-row .tag", { hasText: "answering" });
    await answering.waitFor();
    wire.cut();
    await page.getByText("Can't reach Throughline.").waitFor();
    await waiting.filter({ hasText: "Queued" }).waitFor();
    const next = await restart(wire, c);
    t.after(() => next.server.close());
    await waiting
      .filter({ hasText: "The companion restarted before it reached this message." })
      .waitFor();
    await hasCount(answering, 0);
    await page.getByRole("button", { name: "Send again" }).click();
    await message(page, "Again").waitFor();
  });
});

test("Shift+Enter begins a new line, Enter sends both; Enter of an input method, also as Safari reports it, sends nothing", async () => {
  await onPage({ script: [["Two lines"], ["Hello"]] }, async ({ page, context, url }, c) => {
    await field(page).fill("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    await page.keyboard.press("Enter");
    await message(page, "Two lines").waitFor();
    await field(page).fill("にほ");
    for (const own of ["keyCode: 229", "isComposing: true, keyCode: 13"]) {
      const event = `new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ${own} })`;
      await page.evaluate(`document.activeElement.dispatchEvent(${event})`);
    }
    await field(page).press("End");
    assert.equal(await field(page).inputValue(), "にほ");
    await field(page).press("Enter");
    await message(page, "Hello").waitFor();
    const { messages: stored } = await c.throughline.chats.messages("local:me");
    assert.deepEqual(
      stored.map(({ content }) => content),
      ["one\ntwo", "Two lines", "にほ", "Hello"],
    );

    // Copying says that it was done, or could not be.
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
    await message(page, "Two lines").hover();
    const copy = message(page, "Two lines").getByRole("button", { name: "Copy" });
    await copy.click();
    await message(page, "Two lines").getByText("Copied").waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), "Two lines");
    await context.clearPermissions();
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
    await page.evaluate("document.execCommand = () => false");
    await copy.click();
    await message(page, "Two lines").getByText("Could not copy").waitFor();
  });
});

test("on a phone Enter begins a new line, and the button sends", async () => {
  const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
  await onPage({ script: [["Hello"]], browser: phone }, async ({ page }, c) => {
    await field(page).click();
    await page.keyboard.type("one");
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    assert.equal(await page.locator("#message-hint").textContent(), "");
    await page.getByRole("button", { name: "Send" }).click();
    await message(page, "Hello").waitFor();
    const { messages: stored } = await c.throughline.chats.messages("local:me");
    assert.equal(stored[0]?.content, "one\ntwo");
  });
});
