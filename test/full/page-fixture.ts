// The page in a real browser, against the real server: Debian's Chromium, found or named by
// CHROMIUM_PATH. Locally a missing browser skips, with the reason; in CI it fails. Where Debian's
// chromium-headless-shell is installed too, it opens the pages that need no camera: the same engine
// without windows takes half of the processor time.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test as nodeTest, type TestContext, type TestOptions } from "node:test";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Route,
} from "playwright-core";
import { buildPage } from "../../scripts/build-page.ts";
import type { ScriptedStep } from "../support/scripted-responder.ts";
import { type Companion, companion, type FixtureOptions } from "../support/server-fixture.ts";

const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
const isThere = existsSync(executablePath);
const shellPath = "/usr/bin/chromium-headless-shell";

/** Why tests are skipped; `false`: they run. */
const skip = isThere || process.env["CI"] === "true" ? false : `no browser at ${executablePath}`;

type Body = (t: TestContext) => void | Promise<void>;

/** A test that needs the browser. */
export function test(name: string, ...rest: [Body] | [TestOptions, Body]): void {
  const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest;
  void nodeTest(name, { ...options, skip }, body);
}

// A server reads the page when it is made.
await buildPage();

let launched: Promise<Browser> | undefined;
let more: readonly string[] = [];
/** What the browser and its libraries write lies in here, and in no user's home. */
let home: string | undefined;

/** Starts the browser of this file with these arguments too. */
export function withArguments(...args: readonly string[]): void {
  more = args;
}

/** Starts the browser, for the first page of a file. */
async function launch(): Promise<Browser> {
  home = mkdtempSync(join(tmpdir(), "browser-"));
  const { XDG_RUNTIME_DIR, XDG_CONFIG_HOME, XDG_CACHE_HOME, ...others } = process.env;
  const isShell = more.length === 0 && !process.env["CHROMIUM_PATH"] && existsSync(shellPath);
  return chromium.launch({
    executablePath: isShell ? shellPath : executablePath,
    env: { ...others, HOME: home, TMPDIR: home },
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      "--disable-background-networking",
      ...more,
    ],
  });
}

after(async () => {
  try {
    await (await launched)?.close();
  } finally {
    if (home !== undefined) rmSync(home, { recursive: true, maxRetries: 5, retryDelay: 100 });
  }
});

export interface Seen {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly url: string;
  /** What the page complained of. It must be empty in the end. */
  readonly errors: string[];
}

export interface Visit {
  readonly script?: readonly (readonly ScriptedStep[])[];
  /** Runs before the page is opened. */
  readonly prepare?: (c: Companion) => Promise<void>;
  /** Runs inside the page before anything of it. */
  readonly inject?: () => void;
  /** Each task that the page gives itself begins so much later: what two of them do shows as two. */
  readonly lateMs?: number;
  readonly path?: string;
  /** Of the server. @default any free one */
  readonly port?: number;
  readonly options?: FixtureOptions;
  readonly browser?: BrowserContextOptions;
  /** Complaints that belong to the test, besides the 404 of what this server does not have. */
  readonly expected?: RegExp;
}

/** Far longer than anything of a page takes, also where three browsers share two slow processors. */
const longestMs = 30_000;

/** Opens the page of a companion, and takes both down again. */
export async function onPage(
  visit: Visit,
  use: (seen: Seen, c: Companion) => Promise<void>,
): Promise<void> {
  const c = await companion(visit.script, visit.options);
  await visit.prepare?.(c);
  const { url } = await c.listen({ host: "127.0.0.1", port: visit.port ?? 0 });
  try {
    await withPage(url, visit, (seen) => use(seen, c));
  } finally {
    // What a test that failed held back is held no more.
    await c.turns.close(0);
    await c.server.close();
    await c.throughline.close();
  }
}

/** Opens the page that a server serves. */
export async function withPage(
  url: string,
  visit: Omit<Visit, "script" | "prepare" | "options">,
  use: (seen: Seen) => Promise<void>,
): Promise<void> {
  launched ??= launch();
  const context = await (await launched).newContext(visit.browser);
  context.setDefaultTimeout(longestMs);
  if (visit.lateMs !== undefined) await context.addInitScript(delayTasks, visit.lateMs);
  if (visit.inject !== undefined) await context.addInitScript(visit.inject);
  const page = await context.newPage();
  const errors: string[] = [];
  const isExpected = (text: string, url: string) => {
    const isAbsent = / 404 \(Not Found\)/.test(text) && !url.includes("/api/chats");
    return isAbsent || visit.expected?.test(text) === true;
  };
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (line) => {
    if (line.type() !== "error" || isExpected(line.text(), line.location().url)) return;
    errors.push(line.text());
  });
  try {
    await page.goto(`${url}${visit.path ?? "/"}`);
    await use({ page, context, url, errors });
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

/** In the page: its messages to itself, by which React plans what is not urgent, come later. */
function delayTasks(lateMs: number): void {
  class LateChannel {
    readonly port1 = { onmessage: null as (() => void) | null };
    readonly port2 = { postMessage: () => setTimeout(() => this.port1.onmessage?.(), lateMs) };
  }
  (globalThis as unknown as Record<string, unknown>)["MessageChannel"] = LateChannel;
}

/** Opens another address of the page, without loading the page again. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
}

/** Types a message and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await field(page).fill(text);
  // On a keyboard of the screen Enter begins a new line.
  const isTouch = await page.evaluate("matchMedia('(hover: none) and (pointer: coarse)').matches");
  if (isTouch === true) await page.getByRole("button", { name: "Send", exact: true }).click();
  else await page.keyboard.press("Enter");
}

/** Where messages are typed. */
export function field(page: Page): Locator {
  return page.getByLabel("Message", { exact: true });
}

/** The messages that are in sight. */
export function messages(page: Page): Locator {
  return page.locator(".message");
}

/** One message by words of it. */
export function message(page: Page, text: string | RegExp): Locator {
  return messages(page).filter({ hasText: text });
}

/** axe as its driver for Playwright brings it along. */
const axe = () => {
  const { resolve } = createRequire(import.meta.resolve("@axe-core/playwright"));
  return readFileSync(resolve("axe-core/axe.min.js"), "utf8");
};

/**
 * What axe finds wrong with the page as it is, each with the elements. It is put into a document once, past what
 * Playwright does with an expression, and only what it finds leaves the page: its own driver takes ten times as long
 * to hand over what is fine.
 *
 * @param rules those that are asked; all when absent.
 */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if ((await page.evaluate("typeof axe")) === "undefined") {
    const client = await page.context().newCDPSession(page);
    await client.send("Runtime.evaluate", { expression: axe() });
    await client.detach();
  }
  const options = JSON.stringify({ resultTypes: ["violations"], runOnly: rules });
  return page.evaluate(`axe.run(document, ${options}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" ")))`);
}

/** The sizes in which every view is looked at: a desk, a phone, and a desk at 400 %. */
export const sizes = {
  desk: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
  "desk at 400 %": { width: 320, height: 256 },
} as const;

const tooWide = `[...document.querySelectorAll(":root, .transcript-box, .nav li")]
  .filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.className || each.tagName)`;

/**
 * Looks at the page as it is in light and dark and in every size: axe finds nothing, and nothing is wider than
 * its place.
 *
 * @param also what else holds in each size.
 */
export async function looksFine(
  page: Page,
  what: string,
  {
    only = Object.values(sizes),
    also,
  }: {
    readonly only?: readonly { readonly width: number; readonly height: number }[];
    readonly also?: (what: string) => Promise<void>;
  } = {},
): Promise<void> {
  const before = page.viewportSize();
  for (const viewport of only) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      const look = `${what}, ${colorScheme}, ${viewport.width} px`;
      // Nothing but the colours differs between the two.
      const rules = colorScheme === "dark" ? ["color-contrast"] : undefined;
      assert.deepEqual(await violations(page, rules), [], look);
      assert.deepEqual(await page.evaluate(tooWide), [], `it fits: ${look}`);
      await also?.(look);
    }
  }
  if (before !== null) await page.setViewportSize(before);
}

/** A promise to hold a scripted model back with, and what lets it go on. */
export function gate(): { readonly until: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { until: promise, open: resolve };
}

/** Holds the requests to an address. @returns what lets them go, and those that come later. */
export async function hold(page: Page, address: string | RegExp): Promise<() => void> {
  const { until, open } = gate();
  const goOn = (route: Route) => route.continue().catch(() => undefined); // it was taken back
  await page.route(address, (route) => until.then(() => goOn(route)));
  return open;
}

/** What is typed in a field while its words are saved would be lost: it takes none, then its dialog closes. */
export async function takesNoWords(field: Locator, letGo: () => void): Promise<void> {
  const before = await field.inputValue();
  await field.press("End");
  await field.page().keyboard.type("more");
  assert.equal(await field.inputValue(), before);
  letGo();
  await field.waitFor({ state: "detached" });
}

/** Waits until an expression holds inside the page. (`waitForFunction` needs what its policy forbids.) */
export async function holds(page: Page, expression: string): Promise<void> {
  const until = performance.now() + longestMs;
  while (performance.now() < until) {
    if ((await page.evaluate(expression)) === true) return;
    await page.waitForTimeout(25);
  }
  assert.fail(`this never held: ${expression}`);
}

/** So many of these are on the page: at once, or soon, because not all of a page changes in one go. */
export async function hasCount(locator: Locator, count: number): Promise<void> {
  const until = performance.now() + longestMs;
  while ((await locator.count()) !== count && performance.now() < until) {
    await locator.page().waitForTimeout(20);
  }
  assert.equal(await locator.count(), count);
}

/** Above this share a machine is not one on which a page can be timed. */
const mostTaken = 0.1;

/**
 * What a page takes in time can be told only on a machine that is there: if the test fails, and the
 * host gave more than a tenth of the machine's time to others, it is skipped and says so.
 */
export function unlessStarved(test: (t: TestContext) => Promise<void>) {
  return async (t: TestContext): Promise<void> => {
    const before = machineTime();
    try {
      await test(t);
    } catch (error) {
      const now = machineTime();
      const taken = (now.taken - before.taken) / (now.all - before.all);
      if (!(taken > mostTaken)) throw error;
      t.diagnostic(String(error));
      t.skip(`the host took ${Math.round(taken * 100)} % of this machine's time`);
    }
  };
}

/** As Linux counts it; where nothing counts, nothing was taken. */
function machineTime(): { readonly all: number; readonly taken: number } {
  if (!existsSync("/proc/stat")) return { all: 1, taken: 0 };
  const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const times = line.split(/\s+/).slice(1, 9).map(Number);
  return { all: times.reduce((sum, time) => sum + time, 0), taken: times[7] ?? 0 };
}
