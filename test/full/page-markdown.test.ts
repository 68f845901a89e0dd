// A model's words as Markdown: pictures are named and not loaded, formulas stay as they were written.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Companion } from "../support/server-fixture.ts";
import { message, onPage, say, skip, useBrowser } from "./page-fixture.ts";

useBrowser();

const said = (content: string) => async (c: Companion) => {
  await c.throughline.chats.append("local:me", [{ role: "assistant", content }]);
};

test("a picture is shown as its words and its host, and is loaded only when it is opened", {
  skip,
}, async () => {
  const words =
    "Look: ![a **sleeping** cat](https://cats.example/c.png?id=7 'Mia') here\n\n" +
    "![](//dogs.example/d.png) and ![inline](data:image/gif;base64,R0lGODlhAQABAAAAACw=)\n\n" +
    "[![built](https://ci.example/b.svg)](https://code.example/repo)";
  const path = "/chats/local%3Anew";
  await onPage({ path, prepare: said(words) }, async ({ page, url }) => {
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(url)) foreign.push(request.url());
    });
    await page.goto(url);
    const row = message(page, "Look:");
    const chips = row.locator(".picture");
    await chips.nth(3).waitFor();
    assert.deepEqual(await chips.allTextContents(), [
      "a sleeping cat cats.example Open",
      "Picture dogs.example Open",
      "inline no address",
      "built ci.example Open",
    ]);
    const open = row.getByRole("link", { name: "Open the picture, cats.example" });
    assert.equal(await open.getAttribute("href"), "https://cats.example/c.png?id=7");
    assert.match((await open.getAttribute("rel")) ?? "", /noreferrer/);
    const link = row.getByRole("link", { name: "code.example", exact: true });
    assert.equal(await link.getAttribute("href"), "https://code.example/repo");
    assert.equal(await page.locator("a a, #content img").count(), 0);
    assert.deepEqual(foreign, []);
  });
});

test("LaTeX is shown as it was written, between words that are Markdown", { skip }, async () => {
  const formulas = [
    "$a_1 * b_1 * c$",
    "\\(\\alpha_{i} \\_ \\{x\\}\\)",
    "\\[\n\\frac{a}{b}\n= c_{2} \\\\\n\\]",
    "$$\nx^{*}_1 < y & z\n$$",
    "\\begin{align*}\na &= b \\\\\n_c_ &= *d*\n\\end{align*}",
  ];
  const words = `So **if** ${formulas[0]} and ${formulas[1]}, then\n\n${formulas[2]}\n\n- *or* ${formulas[3]}\n\n${formulas[4]}\n\nIn \`$code_x$\`, from $5 to $6_`;
  await onPage({ prepare: said(words) }, async ({ page }) => {
    const row = message(page, "So if");
    await row.waitFor();
    assert.deepEqual(await row.locator(".math").allTextContents(), formulas);
    assert.deepEqual(await row.locator("strong, em").allTextContents(), ["if", "or"]);
    assert.equal(await row.locator("code").textContent(), "$code_x$");
    assert.match((await row.textContent()) ?? "", /from \$5 to \$6_/);
  });
});

test("an answer is read out as words, without the signs of Markdown", { skip }, async () => {
  const words =
    "# Tea\n\n**Green** *and* [black](https://tea.example 'Tea'), ![a cup](https://tea.example/c.png), $x_1 * y_1 * z$";
  await onPage({ script: [[words]] }, async ({ page }) => {
    const told = page.locator("p[aria-live=polite]");
    await say(page, "What do you like?");
    await told.getByText("Companion: Tea").waitFor();
    assert.equal(
      await told.textContent(),
      "Companion: Tea\n\nGreen and black, a cup, $x_1 * y_1 * z$",
    );
  });
});
