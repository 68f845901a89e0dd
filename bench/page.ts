// The page in a browser: what its first load weighs, when one can type, what a long chat takes of memory, and what the
// page costs while nothing happens. Needs Chromium (CHROMIUM_PATH, or /usr/bin/chromium).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import { buildPage } from "../scripts/build-page.ts";
import { fillChat } from "./child.ts";
import { type Figure, ms } from "./figure.ts";
import type { Run } from "./run.ts";
import { median, spread } from "./samples.ts";

const program = fileURLToPath(new URL("../dist/app/main.js", import.meta.url));
const messages = 5_000;
/** The views that are looked at later load by themselves until then. */
const settledMs = 12_000;
const idleSeconds = 30;
/** As each address shows that one can type. */
const field = "textarea:not([disabled])";

/** The four figures of the page. */
export async function pageFigures({ dir }: Run): Promise<Figure[]> {
  await buildPage();
  const home = `${dir}/home`;
  await fillChat(home, "long", messages);
  const bare = await bareServer();
  const server = await serve(home);
  const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  try {
    return [
      ...(await firstLoad(browser, server.url, bare.url)),
      await memory(browser, server.url),
      await idle(browser, server.url),
    ];
  } finally {
    await browser.close();
    await server.stop();
    bare.close();
  }
}

async function firstLoad(browser: Browser, url: string, bare: string): Promise<Figure[]> {
  const times: Record<"ours" | "bare", number[]> = { ours: [], bare: [] };
  const weights: { readonly first: number; readonly all: number }[] = [];
  for (let round = -1; round < 9; round++) {
    const bareMs = await inFreshContext(browser, (page) => timeToType(page, bare));
    const isWeighed = round >= 6;
    const ourMs = await inFreshContext(browser, async (page, cdp) => {
      const weigh = await weigher(cdp);
      const took = await timeToType(page, url);
      if (isWeighed) {
        const first = weigh();
        await page.waitForTimeout(settledMs);
        weights.push({ first, all: weigh() });
      }
      return took;
    });
    if (round === -1) continue; // the browser's own code is compiled in it
    times.ours.push(ourMs);
    times.bare.push(bareMs);
  }
  const kb = (bytes: number) => Math.round(bytes / 1_000);
  const first = kb(median(weights.map((each) => each.first)));
  const all = kb(median(weights.map((each) => each.all)));
  return [
    {
      says: `the first load on the wire until one can type (${first} kB), against 200 kB`,
      ratio: first / 200,
      target: 1,
      details: { [`with what loads in the ${settledMs / 1_000} s after it, kB`]: all },
    },
    {
      says: `time until one can type, nothing cached (${ms(median(times.ours))}), against a page of one field (${ms(median(times.bare))})`,
      ratio: median(times.ours) / median(times.bare),
      details: { "ours, ms": spread(times.ours), "one field, ms": spread(times.bare) },
    },
  ];
}

/** From the request of the address to a field that takes a letter. */
async function timeToType(page: Page, url: string): Promise<number> {
  const started = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.locator(field).first().pressSequentially("a");
  return performance.now() - started;
}

/** Counts what comes over the wire, heads included. */
async function weigher(cdp: CDPSession): Promise<() => number> {
  let bytes = 0;
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await cdp.send("Network.enable");
  return () => bytes;
}

/** A chat that is scrolled back to its first message. */
async function memory(browser: Browser, url: string): Promise<Figure> {
  const most = 17;
  const used = await inFreshContext(browser, async (page, cdp) => {
    await page.goto(`${url}/chats/long`);
    await page.locator(".transcript-box").waitFor();
    const start = page.getByText("Start of the chat");
    for (let i = 0; i < 1_000 && !(await start.isVisible()); i++) {
      await page.evaluate("document.querySelector('.transcript-box').scrollTo(0, 0)");
      await page.waitForTimeout(30);
    }
    await start.waitFor();
    await cdp.send("HeapProfiler.enable");
    await cdp.send("HeapProfiler.collectGarbage");
    return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1_000_000;
  });
  return {
    says: `the page's own memory with a chat of ${messages.toLocaleString("en")} messages, all of them read (${used.toFixed(1)} MB), against ${most} MB`,
    ratio: used / most,
    target: 1,
  };
}

/** The main thread's time while a chat is open and nothing happens. */
async function idle(browser: Browser, url: string): Promise<Figure> {
  const most = 7;
  const each = await inFreshContext(browser, async (page, cdp) => {
    await page.goto(`${url}/chats/long`);
    await page.locator(field).first().waitFor();
    await page.waitForTimeout(settledMs);
    await cdp.send("Performance.enable");
    const taskMs = async () => {
      const { metrics } = await cdp.send("Performance.getMetrics");
      return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1_000;
    };
    const before = await taskMs();
    await page.waitForTimeout(idleSeconds * 1_000);
    return ((await taskMs()) - before) / idleSeconds;
  });
  return {
    says: `the main thread's time in a second in which nothing happens (${ms(each)}), against ${most} ms`,
    ratio: each / most,
    target: 1,
  };
}

async function inFreshContext<T>(
  browser: Browser,
  use: (page: Page, cdp: CDPSession) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    return await use(page, await context.newCDPSession(page));
  } finally {
    await context.close();
  }
}

async function serve(home: string) {
  const args = [program, "serve", "--home", home, "--port", "0", "--model", "offline"];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = /http:\S+/.exec(line.toString())?.[0];
  if (url === undefined) throw new Error(`the server did not name its address: ${line}`);
  const stop = async () => {
    server.kill("SIGTERM");
    await once(server, "exit");
  };
  return { url, stop };
}

/** The floor: what the browser takes for a page that is nothing but one field. */
async function bareServer() {
  const html = "<!doctype html><title>One field</title><textarea></textarea>";
  const server = createServer((_, response) => response.end(html));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
