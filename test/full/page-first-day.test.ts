// What a new user does in the first minutes, from an empty home, with the program itself and an Ollama of two
// models: each step takes at most two clicks or one key.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { bytesUnder, Process, temporaryDirectory } from "../support/command-line.ts";
import { hasPicture, ollamaServer, wordsOf } from "../support/ollama-server.ts";
import { png } from "../support/sample-files.ts";
import { message, say, test, withPage } from "./page-fixture.ts";

const code = "let tide = 6.5;";

/** Answers that show what the model was given. */
async function talkingOllama() {
  let answers = 0;
  return ollamaServer({
    models: { qwen3: [], llava: ["vision"] },
    answer({ model, messages }) {
      const newest = messages.at(-1);
      const words = wordsOf(newest);
      if (words.includes("code")) return `Here:\n\n\`\`\`js\n${code}\n\`\`\`\n`;
      if (words.includes("allergic")) {
        return wordsOf(messages[0]).includes("hazelnuts") ? "Hazelnuts." : "I do not know.";
      }
      answers++;
      return `${model} answer ${answers}, ${hasPicture(newest) ? "with a picture" : "words only"}`;
    },
  });
}

async function serve(t: TestContext, home: string, ollama: string): Promise<Process> {
  const variables = { THROUGHLINE_MODEL: "ollama/qwen3", OLLAMA_HOST: ollama };
  return new Process(t, ["serve", "--port", "0"], { home, variables });
}

async function act(page: Page, words: string | RegExp, action: string): Promise<void> {
  await message(page, words).hover();
  await message(page, words).getByRole("button", { name: action }).click();
}

test("a first day: model, picture, code, variants, a branch, a pat, a fact, search, and forgetting", async (t) => {
  const home = join(temporaryDirectory(t), "home");
  await using ollama = await talkingOllama();
  const served = await serve(t, home, ollama.url);
  await withPage(await served.url(), { expected: /404/ }, async ({ page, context, url }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);

    // A model: two clicks.
    await page.locator(".model-button").click();
    await page.getByRole("dialog", { name: "Models" }).getByText("llava").click();

    // A picture: chosen, and sent with one key.
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Attach files" }).click();
    const file = { name: "harbour.png", mimeType: "image/png", buffer: Buffer.from(png.bytes) };
    await (await chooser).setFiles([file]);
    await say(page, "What is on it?");
    await message(page, "llava answer 1, with a picture").waitFor();
    assert.ok(bytesUnder(home).includes(Buffer.from(png.bytes).toString("latin1")));

    // Code: one click.
    await say(page, "Some code, please");
    await page.locator("pre").filter({ hasText: code }).waitFor();
    await page.getByRole("button", { name: "Copy code" }).click();
    for (let i = 0; i < 100; i++) {
      if ((await page.evaluate("navigator.clipboard.readText()")) === code) break;
      await page.waitForTimeout(20);
    }
    assert.equal(String(await page.evaluate("navigator.clipboard.readText()")).trim(), code);

    // Another answer, and the first one again: a click each.
    await say(page, "Name a boat");
    await message(page, "llava answer 2").waitFor();
    await act(page, "llava answer 2", "Regenerate");
    await message(page, "llava answer 3").waitFor();
    await page.getByRole("button", { name: "Previous answer" }).click();
    await message(page, "llava answer 2").waitFor();

    // A branch: one click, linked both ways.
    const origin = page.url();
    await act(page, "llava answer 1", "Branch from here");
    await page.getByText("Branched from").waitFor();
    await say(page, "And now elsewhere");
    await message(page, "llava answer 4").waitFor();
    await page.goto(origin);
    await page.getByText("1 branch").waitFor();

    // A pat: one click.
    await page.getByRole("button", { name: "Pat", exact: true }).click();
    await page.getByText("It felt that").first().waitFor();

    // A fact: typed, one key, and in the next answer.
    await page.getByRole("link", { name: "Memory" }).click();
    await page.getByPlaceholder(/Add a fact/).fill("Ori must not eat hazelnuts.");
    await page.keyboard.press("Enter");
    await page.getByText("Saved").first().waitFor();
    await page.goto(origin);
    await say(page, "What is Ori allergic to?");
    await message(page, "Hazelnuts.").waitFor();

    // Everything is found: one key, and the words.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("elsewhere");
    await page.locator("mark").filter({ hasText: "elsewhere" }).first().waitFor();
    await page.keyboard.press("Escape");

    // Forgotten with its picture, which the branch has too: three clicks, since it is for good.
    const shown = await page.locator(".message-files img").first().getAttribute("src");
    for (const chat of [origin, undefined]) {
      if (chat === undefined) await page.getByRole("link", { name: /What is on it/ }).click();
      else await page.goto(chat);
      await page.getByRole("button", { name: "Chat actions" }).click();
      await page.getByRole("button", { name: "Forget…" }).click();
      await page.getByRole("button", { name: "Forget permanently" }).click();
      await page.getByRole("heading", { name: "Forgotten" }).waitFor();
      await page.getByRole("button", { name: "Done" }).click();
    }
    assert.equal((await fetch(new URL(`${shown}`, url))).status, 404);
    assert.equal(bytesUnder(home).includes(Buffer.from(png.bytes).toString("latin1")), false);
  });
});
