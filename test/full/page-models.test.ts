// A model chosen on the page: from an empty home without one, for each chat, and what is said before.
// The models are those of a server of our own, which speaks each provider's protocol.
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { parseModelName } from "../../src/core/models/model-name.ts";
import { ResponderRegistry } from "../../src/core/models/registry.ts";
import { openThroughline } from "../../src/core/throughline.ts";
import { createServer } from "../../src/server/server.ts";
import { modelServer } from "../support/model-server.ts";
import { hasCount, looksFine, message, say, sizes, test, withPage } from "./page-fixture.ts";

type Models = Awaited<ReturnType<typeof modelServer>>;

/** A companion in memory that finds the models of the server, and may ask OpenAI. */
async function serve(models: Models, named?: string) {
  const standard = named === undefined ? undefined : parseModelName(named);
  const responders = await ResponderRegistry.open({
    standard,
    settings: models.settings,
    allowed: ["openai"],
  });
  const throughline = await openThroughline({ storage: "memory", ...responders.standard });
  const turns = await throughline.turns({ model: responders });
  const server = createServer({ throughline, turns, version: "0.0.0" });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const close = async () => {
    await turns.close(0);
    await server.close();
    await throughline.close();
  };
  return { url, turns, [Symbol.asyncDispose]: close };
}

const picker = (page: Page): Locator => page.locator(".model-button");
const models = (page: Page): Locator => page.getByRole("dialog", { name: "Models" });
const answers = (page: Page, text: string): Promise<void> => message(page, text).last().waitFor();
const group = (page: Page, name: string): Locator => page.getByRole("group", { name });

test("from an empty home, one click chooses a model of Ollama: it answers, here and in new chats", async () => {
  await using server = await modelServer();
  await server.stop();
  await using home = await serve(server);
  await withPage(home.url, {}, async ({ page, context, url }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("heading", { name: "Run a model on this machine" }).waitFor();
    assert.equal(server.seen.length, 0, "nothing is asked before");
    await page.getByRole("button", { name: "Look for Ollama" }).click();
    await page.getByRole("heading", { name: "Ollama cannot be reached" }).waitFor();
    assert.equal(await picker(page).textContent(), "Built-in responder (no model)");
    await page.getByRole("button", { name: "Copy ollama pull qwen3" }).click();
    await page.getByText("Copied", { exact: true }).first().waitFor();
    assert.equal(await page.evaluate("navigator.clipboard.readText()"), "ollama pull qwen3");

    await server.start();
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByRole("heading", { name: "Ollama is running, but has no chat model" }).waitFor();
    server.offered.ollama = [{ name: "qwen3", size: 5_200_000_000 }, { name: "llama3" }];
    // Coming back from a terminal looks, too.
    await page.evaluate("window.dispatchEvent(new Event('focus'))");
    await page.getByRole("button", { name: "qwen3 5.2 GB" }).click();
    await page.locator("#message:focus").waitFor();
    await hasCount(page.locator(".set-up"), 0);
    await say(page, "Hello");
    await answers(page, "qwen3 hears you.");
    assert.equal(await message(page, "hears").locator(".by").textContent(), "Ollama \u00b7 qwen3");

    await page.reload();
    await answers(page, "qwen3 hears you.");
    assert.equal(await picker(page).textContent(), "Ollama \u00b7 qwen3");
    await page.goto(`${url}/chats/local%3Aother`);
    await page.getByText("Nothing here yet").waitFor();
    await say(page, "And here?");
    await answers(page, "qwen3 hears you.");
  });
  // A server that was started since learns from the browser what was chosen.
  await using next = await serve(server);
  await withPage(next.url, {}, async ({ page }) => {
    const chosen = JSON.stringify(JSON.stringify({ provider: "ollama", model: "qwen3" }));
    await page.evaluate(`localStorage.setItem("throughline-model", ${chosen})`);
    await page.reload();
    await picker(page).filter({ hasText: "Ollama \u00b7 qwen3" }).waitFor();
    await say(page, "Hello");
    await answers(page, "qwen3 hears you.");
  });
});

test("a chat is switched by keyboard, and what happens to its sessions is said before", async () => {
  await using server = await modelServer();
  const names = ["gpt-5", "gpt-5-mini", "gpt-5-nano"];
  server.offered.openai = names.map((id, at) => ({ id, created: 9 - at }));
  server.offered.ollama = [{ name: "qwen3" }, { name: "llama3" }];
  await using home = await serve(server, "ollama/qwen3");
  await withPage(home.url, {}, async ({ page, context, url }) => {
    await picker(page).click();
    assert.equal(await group(page, "OpenAI").locator(".models-words").textContent(), "");
    await page.keyboard.press("Escape");
    await page.locator(".model-button:focus").waitFor();
    await say(page, "Hello");
    await answers(page, "qwen3 hears you.");

    await page.locator(".model-button").focus();
    await page.keyboard.press("Enter");
    await group(page, "OpenAI").getByText("starts a session of its own").waitFor();
    assert.equal(
      await group(page, "OpenAI").locator(".models-words").textContent(),
      "OpenAI gets the messages of this chat and starts a session of its own.",
    );
    assert.equal(
      await group(page, "Ollama").locator(".models-words").textContent(),
      "Each continues the session with Ollama and gets the messages of this chat.",
    );
    assert.equal(
      await models(page).locator(".models-notes").textContent(),
      "The session with Ollama (1 answer) is kept if you switch, and continues when you switch back.",
    );
    for (const key of ["ArrowUp", "ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) {
      await page.keyboard.press(key);
    }
    await page.getByText("from your next message").waitFor();
    assert.equal(await picker(page).textContent(), "OpenAI \u00b7 gpt-5");

    // It is kept until a message was sent, also without the page.
    await page.reload();
    await page.getByText("from your next message").waitFor();
    await say(page, "And you?");
    await answers(page, "gpt-5 hears you.");
    await hasCount(page.getByText("from your next message"), 0);
    await picker(page).click();
    await group(page, "Ollama").getByText("continues its session (1 answer)").waitFor();

    // With a longer list there is a filter.
    server.offered.openai = [...Array(12).keys()].map((n) => ({ id: `gpt-5-v${n}`, created: n }));
    await fetch(`${url}/api/models?again=true`);
    await page.keyboard.press("Escape");
    await page.reload();
    await answers(page, "gpt-5 hears you.");
    await picker(page).click();
    await page.getByRole("combobox").waitFor();
    await page.keyboard.type("v1 open");
    await hasCount(page.getByRole("option"), 3);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await picker(page).textContent(), "OpenAI \u00b7 gpt-5-v10");
    await picker(page).click();
    await page.keyboard.type("nothing");
    await page.getByText("No model has \u201cnothing\u201d in its name.").waitFor();
    // A press elsewhere closes it.
    await page.mouse.click(640, 500);
    await models(page).waitFor({ state: "detached" });
    assert.equal(context.pages().length, 1);
  });
});

test("a provider that is down is named, the others can be chosen, and it is asked again", async () => {
  await using server = await modelServer();
  server.offered.ollama = [{ name: "qwen3" }, { name: "llama3" }];
  server.offered.instead = (path, response) => {
    if (!path.startsWith("/openai")) return false;
    response.writeHead(500).end();
    return true;
  };
  await using home = await serve(server, "ollama/qwen3");
  await withPage(home.url, {}, async ({ page }) => {
    await picker(page).click();
    await page.getByText("OpenAI refused to list its models (HTTP 500).").waitFor();
    delete server.offered.instead;
    server.offered.openai = [{ id: "gpt-5", created: 1 }];
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByRole("option", { name: "gpt-5" }).waitFor();
    await page.getByRole("option", { name: "llama3" }).click();
    // What a model refuses can be asked of another one.
    await say(page, "Hello");
    await answers(page, "llama3 hears you.");
  });
});

for (const only of [[sizes.desk], [sizes.phone, sizes["desk at 400 %"]]]) {
  const [viewport] = only as [(typeof only)[0]];
  test(`axe finds nothing wrong with the set-up card and the picker, from ${viewport.width} px`, async () => {
    await using server = await modelServer();
    await server.stop();
    await using home = await serve(server);
    await server.start();
    server.offered.ollama = [{ name: "qwen3", size: 5_200_000_000 }, { name: "llama3:latest" }];
    server.offered.openai = [{ id: "gpt-5", created: 1 }];
    const browser = { viewport, hasTouch: viewport.width < 1_000 };
    await withPage(home.url, { browser }, async ({ page, url }) => {
      await page.goto(`${url}/chats/local%3Aone`);
      await page.getByText("Use OpenAI, Anthropic or another server").click();
      await page.getByRole("button", { name: "Look for Ollama" }).click();
      await page.getByRole("button", { name: "qwen3 5.2 GB" }).waitFor();
      await looksFine(page, "the card", { only });
      await page.getByRole("button", { name: "qwen3 5.2 GB" }).click();
      await say(page, "Hello");
      await answers(page, "qwen3 hears you.");
      await picker(page).click();
      await page.getByRole("option", { name: "gpt-5" }).waitFor();
      const also = async (look: string) => {
        const size = page.viewportSize() ?? assert.fail();
        const { x, y, width, height } = (await models(page).boundingBox()) ?? assert.fail();
        assert.ok(x >= 0 && x + width <= size.width, look);
        assert.ok(y >= 0 && y + height <= size.height, look);
      };
      await looksFine(page, "the picker", { only, also });
      await page.getByRole("option", { name: "gpt-5" }).click();
      await page.getByText("from your next message").waitFor();
    });
  });
}
