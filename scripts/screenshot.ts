// node scripts/screenshot.ts: makes docs/images/page.png, the picture in the README, from a home that
// it fills. Needs Chromium (CHROMIUM_PATH, or /usr/bin/chromium).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { openThroughline } from "../src/index.ts";
import { buildCode } from "./build-code.ts";
import { buildPage } from "./build-page.ts";
import { root } from "./stamp.ts";

const chat = "local:me";
const said = [
  ["user", "I'm back! Did you miss me?"],
  [
    "assistant",
    "I did. You were gone for two days, and we had stopped at the tide tables for Saturday.",
  ],
  ["user", "Right. When is low water, and is it light by then?"],
  [
    "assistant",
    "Low water is at 06:52, and the sun rises at 07:31, so you walk out in twilight:\n\n" +
      "| | Saturday | Sunday |\n| --- | --- | --- |\n| low water | 06:52 | 07:40 |\n| sunrise | 07:31 | 07:32 |\n\n" +
      "Sunday is the better morning. Shall I remind you to pack the **lamp**?",
  ],
  ["user", "Sunday then. Yes, remind me please."],
  ["assistant", "Noted: Sunday, lamp, and a dry pair of socks this time."],
] as const;

const home = mkdtempSync(join(tmpdir(), "throughline-screenshot-"));
try {
  await fill();
  await buildCode();
  await buildPage();
  await withServer(async (url) => {
    mkdirSync(join(root, "docs/images"), { recursive: true });
    await withPage(url, async (page) => {
      await page.getByText("a dry pair of socks").waitFor();
      await page.waitForTimeout(500); // fonts and the face settle
      await page.screenshot({ path: join(root, "docs/images/page.png") });
    });
  });
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function fill(): Promise<void> {
  await using throughline = await openThroughline({ home });
  for (const [role, content] of said) await throughline.chats.append(chat, [{ role, content }]);
}

async function withServer(use: (url: string) => Promise<void>): Promise<void> {
  const program = join(root, "dist/app/main.js");
  const args = [program, "serve", "--home", home, "--port", "0", "--model", "offline"];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
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

async function withPage(url: string, use: (page: Page) => Promise<void>): Promise<void> {
  const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({
      viewport: { width: 1120, height: 720 },
      deviceScaleFactor: 1.5,
      colorScheme: "light",
    });
    await page.goto(url);
    await use(page);
  } finally {
    await browser.close();
  }
}
