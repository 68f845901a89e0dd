// node scripts/screenshots.ts: makes every picture in docs/images, from a home that it fills and the program that
// users run, with an Ollama on this machine that answers from a list. Needs Chromium (CHROMIUM_PATH, or
// /usr/bin/chromium).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import sharp from "sharp";
import { ollamaServer } from "../test/support/ollama-server.ts";
import { buildCode } from "./build-code.ts";
import { buildPage } from "./build-page.ts";
import { addMoment, answerTo, fillHome, harbour, models, post } from "./screenshots-home.ts";
import { root } from "./stamp.ts";

interface Shot {
  readonly name: string;
  readonly path: string;
  readonly colorScheme?: "light" | "dark";
  /** @default a desk */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** Brings the page to where it is to be seen. */
  readonly look: (page: Page) => Promise<unknown>;
}

const desk = { width: 1200, height: 760 };
const phone = { width: 390, height: 780 };
const socks = (page: Page) => page.getByText("a dry pair of socks").last().waitFor();

const shots: readonly Shot[] = [
  { name: "page", path: "/", look: socks },
  { name: "talk-dark", path: "/", colorScheme: "dark", look: socks },
  { name: "talk-phone", path: "/", viewport: phone, look: socks },
  {
    name: "drawer-phone",
    path: "/",
    viewport: phone,
    colorScheme: "dark",
    look: async (page) => {
      await page.getByRole("button", { name: "Show chats" }).click();
      await page.getByText("Good night, Nova").waitFor();
    },
  },
  {
    name: "models",
    path: "/",
    look: async (page) => {
      await page.locator(".model-button").click();
      await page.getByRole("dialog", { name: "Models" }).getByText("llama3.2-vision").waitFor();
    },
  },
  {
    name: "attachments",
    path: "/chats/local%3Aboat",
    look: (page) => page.getByText("before you painted her").waitFor(),
  },
  {
    name: "code",
    path: "/chats/local%3Atides",
    look: async (page) => {
      await page.locator("math").first().waitFor();
      await page.locator("pre [class^=hljs]").first().waitFor();
    },
  },
  {
    name: "mood",
    path: "/mood",
    viewport: { width: 1200, height: 1180 },
    look: (page) => page.locator(".history-chart canvas").first().waitFor(),
  },
  {
    name: "moments",
    path: "/moments",
    viewport: { width: 1200, height: 1200 },
    look: async (page) => {
      await page.locator(".moment-item").first().click();
      await page.locator(".moment-item img").first().waitFor();
    },
  },
  {
    name: "memory",
    path: "/memory",
    viewport: { width: 1200, height: 1240 },
    look: (page) => page.getByText("Ori must not eat hazelnuts.").first().waitFor(),
  },
  {
    name: "restart",
    path: "/waking",
    look: (page) => page.getByRole("heading", { name: "Restart notices" }).waitFor(),
  },
  {
    name: "sessions",
    path: "/sessions",
    colorScheme: "dark",
    look: (page) => page.getByText("gemma3:12b").first().waitFor(),
  },
  {
    name: "chats",
    path: "/chats",
    look: (page) => page.locator(".chat-item").first().waitFor(),
  },
];

const home = mkdtempSync(join(tmpdir(), "throughline-screenshots-"));
const ollama = await ollamaServer({ models, answer: answerTo });
try {
  await buildCode();
  await buildPage();
  await fillHome(home);
  await withServer(async (url) => {
    await talk(url);
    await takeAll(url);
  });
} finally {
  await ollama.close();
  rmSync(home, { recursive: true, force: true });
}

/** What is said to the running companion, so that it has answers, a picture and a moment of today. */
async function talk(url: string): Promise<void> {
  const form = new FormData();
  form.set("content", "Found this in a drawer. Do you know her?");
  form.set("model", "gemma3:12b");
  form.set("provider", "ollama");
  const picture = new Blob([new Uint8Array(await harbour())], { type: "image/jpeg" });
  form.set("file", picture, "harbour-2019.jpg");
  await post(`${url}/api/chats/local%3Aboat/messages`, form);
  const content = "Sunday then. Yes, remind me please.";
  await post(`${url}/api/chats/local%3Ame/messages`, { content });
  await addMoment(url);
}

async function takeAll(url: string): Promise<void> {
  mkdirSync(join(root, "docs/images"), { recursive: true });
  const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    for (const shot of shots) await take(browser, url, shot);
  } finally {
    await browser.close();
  }
}

async function take(browser: Browser, url: string, shot: Shot): Promise<void> {
  const { name, path, colorScheme = "light", viewport = desk, look } = shot;
  const page = await browser.newPage({ viewport, colorScheme, deviceScaleFactor: 1.5 });
  page.setDefaultTimeout(10_000);
  await page.goto(`${url}${path}`);
  try {
    await look(page);
    await page.waitForTimeout(700); // fonts and the face settle
    const picture = sharp(await page.screenshot());
    // 256 colours are a third of the bytes, and look the same.
    await picture.png({ palette: true }).toFile(join(root, `docs/images/${name}.png`));
  } catch (cause) {
    throw new Error(`${name} cannot be shown`, { cause });
  } finally {
    await page.close();
  }
}

async function withServer(use: (url: string) => Promise<void>): Promise<void> {
  const program = join(root, "dist/app/main.js");
  const args = [program, "serve", "--home", home, "--port", "0", "--model", "ollama/qwen3"];
  const env = { ...process.env, OLLAMA_HOST: ollama.url };
  const server = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = (await once(server.stdout, "data")) as [Buffer];
    const url = /http:\S+/.exec(line.toString())?.[0];
    if (url === undefined) throw new Error(`the server did not name its address: ${line}`);
    await use(url);
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
  }
}
