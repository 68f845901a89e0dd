// Files with messages on the page: chosen, pasted, dropped, sent, shown, and gone with their chat.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { pdf, png } from "../support/sample-files.ts";
import { type Companion, me } from "../support/server-fixture.ts";
import {
  field,
  gate,
  hasCount,
  holds,
  looksFine,
  message,
  onPage,
  say,
  test,
} from "./page-fixture.ts";

const picture = { name: "cat.png", mimeType: "image/png", buffer: Buffer.from(png.bytes) };
const plan = { name: "plan.pdf", mimeType: "application/pdf", buffer: Buffer.from(pdf.bytes) };

const chips = (page: Page) => page.locator(".composer .file-chip");
const thumbs = (page: Page) => page.locator(".message-files img");

async function choose(page: Page, ...files: readonly (typeof picture)[]): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach files" }).click();
  await (await chooser).setFiles([...files]);
}

/** Gives the page a file in an event of the browser: a person's paste or drop. */
async function give(page: Page, how: "paste" | "drop", name: string): Promise<void> {
  await page.evaluate(
    ({ how, name, data }) => {
      // biome-ignore lint/suspicious/noExplicitAny: of the page, whose types are not here
      const dom = globalThis as unknown as Record<string, any>;
      const transfer = new dom["DataTransfer"]();
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      transfer.items.add(new dom["File"]([bytes], name, { type: "image/png" }));
      const init = { bubbles: true, cancelable: true };
      const event =
        how === "paste"
          ? new dom["ClipboardEvent"]("paste", { ...init, clipboardData: transfer })
          : new dom["DragEvent"]("drop", { ...init, dataTransfer: transfer });
      dom["document"]
        .querySelector(how === "paste" ? "#message" : ".talk-head")
        .dispatchEvent(event);
    },
    { how, name, data: picture.buffer.toString("base64") },
  );
}

test("files are chosen, pasted and dropped, sent, shown after a reload, and forgotten with the chat", async () => {
  await onPage({ script: [["Seen"], ["Again"]], expected: /404/ }, async ({ page, url }, c) => {
    await choose(page, picture, plan);
    await give(page, "paste", "pasted.png");
    await give(page, "drop", "dropped.png");
    await hasCount(chips(page), 4);
    await hasCount(chips(page).locator("canvas"), 3);
    await page.getByRole("button", { name: "Remove pasted.png" }).click();
    await hasCount(chips(page), 3);
    await page.locator("#message:focus").waitFor();
    await say(page, "look");
    await message(page, "Seen").waitFor();
    await hasCount(chips(page), 0);
    await hasCount(thumbs(page), 2);
    const { messages } = await c.throughline.chats.messages("local:me");
    const names = messages[0]?.attachments?.map(({ name }) => name);
    assert.deepEqual(names, ["cat.png", "plan.pdf", "dropped.png"]);
    const [asked] = c.model.requests[0]?.messages ?? [];
    assert.match(asked?.content ?? "", /^look\n\n\[image: cat\.png, not shown to you\]/);
    await page.getByText("script-1 does not take PDF files").waitFor();

    await page.reload();
    await thumbs(page).first().waitFor();
    await holds(
      page,
      "[...document.querySelectorAll('.message-files img')].every(({ naturalWidth }) => naturalWidth === 1)",
    );
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download plan.pdf" }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), "plan.pdf");
    await download.delete();
    await page.getByRole("button", { name: "Open cat.png" }).click();
    await page.getByRole("dialog").getByRole("img", { name: "cat.png" }).waitFor();
    await page.keyboard.press("Escape");

    const address = await thumbs(page).first().getAttribute("src");
    const statusOf = () => page.evaluate(async (path) => (await fetch(path)).status, `${address}`);
    assert.equal(await statusOf(), 200);
    await choose(page, picture); // without a word
    await page.locator("#message:focus").waitFor();
    await page.keyboard.press("Enter");
    await message(page, "Again").waitFor();
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("button", { name: "Forget…" }).click();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Forget/ })
      .click();
    await page.getByText("Forgotten").first().waitFor();
    assert.equal(await statusOf(), 404);
    assert.equal((await c.ask(`${me}/messages?if_exists=true`)).status, 204);
    assert.ok(url);
  });
});

test("a message that was not sent keeps its files, and is sent again as the same one", async () => {
  const rest = gate();
  const script = [["First", { type: "wait" as const, until: rest.until }], ["Second"], ["Third"]];
  await onPage({ script, expected: /ERR_FAILED/ }, async ({ page }, c) => {
    const keys: (string | undefined)[] = [];
    await page.route("**/messages", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      keys.push(route.request().headers()["idempotency-key"]);
      return keys.length === 1 ? route.abort() : route.continue();
    });
    await choose(page, picture);
    await say(page, "lost on its way");
    await message(page, "lost on its way").locator(".file-chip").waitFor();
    await page.getByRole("button", { name: "Send again" }).click();
    await message(page, "First").waitFor();
    assert.equal(keys[0], keys[1]);
    // Behind a turn that runs it waits, with its files.
    await choose(page, plan);
    await say(page, "and this");
    await message(page, "and this").getByText("Queued").waitFor();
    rest.open();
    await message(page, "Second").waitFor();
    await hasCount(page.locator(".message-files"), 2);
    const { messages } = await c.throughline.chats.messages("local:me");
    const sent = messages.filter(({ role }) => role === "user");
    assert.deepEqual(
      sent.map(({ attachments }) => attachments?.map(({ name }) => name)),
      [["cat.png"], ["plan.pdf"]],
    );
    // Edited in a new chat it has its files again.
    await message(page, "and this").hover();
    await message(page, "and this").getByRole("button", { name: "Edit in a new chat" }).click();
    await page.getByLabel("Edited message").fill("and that");
    await page.getByRole("button", { name: "Send in a new chat" }).click();
    await message(page, "Third").waitFor();
    await message(page, "and that").getByRole("link", { name: "Download plan.pdf" }).waitFor();
  });
});

test("a reload keeps the names of files that were not sent, and says to attach them again", async () => {
  await onPage({ script: [["Seen"]] }, async ({ page }) => {
    await field(page).fill("look");
    await choose(page, picture, plan);
    await page.reload();
    await page.getByText("Files do not survive a reload of the page.").waitFor();
    await hasCount(page.locator(".file-chip.is-lost"), 2);
    assert.equal(await page.getByRole("button", { name: "Send", exact: true }).isDisabled(), true);
    await choose(page, picture);
    await hasCount(page.locator(".file-chip.is-lost"), 1);
    await page.getByRole("button", { name: "Remove plan.pdf" }).click();
    const many = Array.from({ length: 10 }, (_, n) => ({ ...picture, name: `${n}.png` }));
    await choose(page, ...many);
    await page.getByText("A message takes at most 10 files: 9.png was left out.").waitFor();
    await hasCount(chips(page), 10);
    await field(page).press("Enter");
    await message(page, "Seen").waitFor();
    await hasCount(thumbs(page), 10);
  });
});

test("axe finds nothing wrong with files", async () => {
  const prepare = async ({ turns }: Companion) => {
    const files = [png, { ...pdf, name: `${"a long name ".repeat(8)}.pdf` }];
    await turns.submit("local:me", { content: "look", attachments: files }).done;
  };
  await onPage({ script: [["Seen"]], prepare }, async ({ page }) => {
    await choose(page, plan);
    await page.reload();
    await page.locator(".file-chip.is-lost").waitFor();
    await choose(page, picture);
    await hasCount(chips(page), 2);
    await thumbs(page).waitFor({ state: "attached" });
    await looksFine(page, "files");
    await page.getByRole("button", { name: "Open cat.png" }).click();
    await page.getByRole("dialog").waitFor();
    await looksFine(page, "opened");
  });
});
