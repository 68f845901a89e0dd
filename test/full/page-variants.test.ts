// Regenerated answers and branches: stepped through, chosen, live in a second tab, linked both ways.
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import {
  go,
  hasCount,
  looksFine,
  message,
  messages,
  onPage,
  say,
  test,
  useBrowser,
} from "./page-fixture.ts";

useBrowser();

const count = (page: Page, words: string) =>
  page.getByRole("group", { name: "Answers to the same message" }).filter({ hasText: words });
const step = (page: Page, to: "Previous" | "Next") =>
  page.getByRole("button", { name: `${to} answer` });

async function act(page: Page, words: string | RegExp, action: string): Promise<void> {
  await message(page, words).hover();
  await message(page, words).getByRole("button", { name: action }).click();
}

test("an answer is regenerated twice, the first is chosen again, and the model gets that one", async () => {
  const script = [["Alpha"], ["Beta"], ["Gamma"], ["Delta"], ["Bye"]];
  await onPage({ script }, async ({ page, context, url }, c) => {
    await say(page, "Name one");
    await message(page, "Alpha").waitFor();
    await hasCount(count(page, ""), 0);
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 2 of 2").waitFor();
    await act(page, "Beta", "Regenerate");
    await count(page, "Answer 3 of 3").waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await count(other, "Answer 3 of 3").waitFor();

    await step(page, "Previous").click();
    await message(page, "Beta").waitFor();
    await count(page, "Answer 2 of 3").waitFor();
    await message(other, "Beta").waitFor();
    await page.keyboard.press("Enter"); // the button kept the focus
    await count(page, "Answer 1 of 3").waitFor();
    await message(page, "Alpha").waitFor();
    await count(other, "Answer 1 of 3").waitFor();
    await hasCount(messages(other), 2);
    await page.keyboard.press("Enter");
    assert.equal(await step(page, "Previous").getAttribute("aria-disabled"), "true");

    await page.reload();
    await count(page, "Answer 1 of 3").waitFor();
    await hasCount(messages(page), 2);
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 4 of 4").waitFor();
    await message(other, "Delta").waitFor();
    await count(other, "Answer 4 of 4").waitFor();
    await other.bringToFront();
    for (const words of ["Gamma", "Beta", "Alpha"]) {
      await step(other, "Previous").click();
      await message(other, words).waitFor();
    }
    await message(page, "Alpha").waitFor();
    await page.bringToFront();
    await say(page, "Thanks");
    await message(page, "Bye").waitFor();
    await hasCount(count(page, ""), 0);
    const asked = c.model.requests.at(-1)?.messages.map(({ content }) => content);
    assert.deepEqual(asked, ["Name one", "Alpha", "Thanks"]);
  });
});

test("a step that fails says so, and what is shown stays", async () => {
  const visit = { script: [["Alpha"], ["Beta"], ["More"]], expected: /409|Conflict/ };
  await onPage(visit, async ({ page }, c) => {
    await say(page, "Name one");
    await message(page, "Alpha").waitFor();
    await act(page, "Alpha", "Regenerate");
    await count(page, "Answer 2 of 2").waitFor();
    // Said through another program, of which this page is not told.
    await c.throughline.chats.append("local:me", [{ role: "user", content: "By the way" }]);
    await step(page, "Previous").click();
    await page.getByRole("alert").filter({ hasText: "More was said since" }).waitFor();
    await message(page, "By the way").waitFor();
    await hasCount(message(page, "Beta"), 1);
    await hasCount(count(page, ""), 0);
  });
});

test("branches are made at a message and by an edit, and lead there and back", async () => {
  const script = [["By the lake"], ["At noon"], ["A salad"], ["In May"]];
  await onPage({ script }, async ({ page, context, url }, c) => {
    await say(page, "Plan a picnic");
    await message(page, "By the lake").waitFor();
    await say(page, "When?");
    await message(page, "At noon").waitFor();
    const other = await context.newPage();
    await other.goto(url);
    await message(other, "At noon").waitFor();

    await act(page, "By the lake", "Branch from here");
    await page.getByText("Branched from “Plan a picnic”").waitFor();
    await hasCount(messages(page), 2);
    const branch = page.url();
    const link = message(other, "By the lake").getByRole("link", { name: "1 branch" });
    await link.waitFor();
    c.clock.pass(1_000); // the oldest branch comes first

    await page.getByRole("link", { name: "“Plan a picnic”" }).click();
    await page.getByRole("region", { name: "Search result: By the lake" }).waitFor();
    await hasCount(messages(page), 4);
    await act(page, "When?", "Edit in a new chat");
    await page.locator("textarea").first().fill("What to eat?");
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await message(page, "A salad").waitFor();
    const old = (await c.throughline.chats.messages("local:me")).messages;
    assert.deepEqual(
      old.map(({ content }) => content),
      ["Plan a picnic", "By the lake", "When?", "At noon"],
    );
    await page.getByText("Branched from “Plan a picnic”").waitFor();

    await message(other, "By the lake").getByText("2 branches").click();
    const listed = message(other, "By the lake").getByRole("listitem").getByRole("link");
    await hasCount(listed, 2);
    await listed.first().click();
    await other.waitForURL(branch);

    // Nothing comes before the first message: its edit begins another chat, linked all the same.
    await page.goto(url);
    await act(page, /^YouPlan a picnic/, "Edit in a new chat");
    await page.locator("textarea").first().fill("Plan a hike");
    await page.getByRole("button", { name: /^Send/ }).first().click();
    await message(page, "In May").waitFor();
    await page.getByRole("link", { name: "“Plan a picnic”" }).click();
    await page.getByText("Start of the chat").waitFor();
    await page.locator(".edge").getByRole("link", { name: "1 branch" }).waitFor();

    // A forgotten branch is no branch.
    const branchId = decodeURIComponent(new URL(branch).pathname.slice("/chats/".length));
    await c.ask(`/api/chats/${encodeURIComponent(branchId)}`, { method: "DELETE" });
    await message(page, "By the lake").getByRole("link", { name: "1 branch" }).waitFor();
  });
});

test("axe finds nothing wrong with answers and branches", async () => {
  const script = [["By the lake"], ["On the hill"]];
  await onPage({ script }, async ({ page, url }, c) => {
    const first = await c.turns.submit("local:me", { content: "Plan a picnic" }).done;
    await (await c.turns.retry("local:me")).done;
    const { chats } = c.throughline;
    await chats.fork("local:me", first.user.id, "local:one");
    await chats.fork("local:me", first.user.id, "local:two");
    await chats.fork("local:me", undefined, "local:three");
    await chats.fork("local:me", undefined, "local:four");
    await page.goto(url);
    await count(page, "Answer 2 of 2").waitFor();
    await page.locator("li details.branches > summary").first().click();
    await page.locator(".edge summary").click();
    await looksFine(page, "answers");
    await go(page, "/chats/local%3Aone");
    await page.getByText("Branched from").waitFor();
    await looksFine(page, "a branch");
  });
});
