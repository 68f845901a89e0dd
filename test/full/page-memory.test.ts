// The memory on the page: the persona and the facts edited, and the next prompt as the model gets it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Page } from "playwright-core";
import { HomePersona } from "../../src/app/home-persona.ts";
import { personaRoutes } from "../../src/app/persona-routes.ts";
import { FactsFile } from "../../src/companion/commands/facts-file.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { awake } from "../support/awake.ts";
import { temporaryDirectory } from "../support/command-line.ts";
import type { Companion } from "../support/server-fixture.ts";
import {
  field,
  gate,
  hasCount,
  hold,
  holds,
  looksFine,
  message,
  onPage,
  type Seen,
  say,
  test,
  type Visit,
  violations,
} from "./page-fixture.ts";

const firstFact = "Ori likes tea.";

/** The page of a companion whose persona and facts lie in a home. */
async function onMemory(
  t: TestContext,
  visit: Visit,
  use: (seen: Seen, c: Companion, home: string) => Promise<void>,
): Promise<void> {
  const home = temporaryDirectory(t);
  fs.writeFileSync(join(home, "facts.md"), `${firstFact}\n`);
  const given = { home, isEphemeral: false, persona: undefined };
  const persona = new HomePersona(given, silentLogger);
  const options = {
    persona: () => persona.text(),
    features: [personaRoutes(persona)],
    addFeatures: awake({}, { facts: new FactsFile(home, silentLogger) }),
  };
  await onPage({ path: "/memory", options, ...visit }, (seen, c) => use(seen, c, home));
}

const part = (page: Page, name: string) => page.getByRole("region", { name, exact: true });
const prompt = (page: Page) => part(page, "Next prompt");
const notBusy = (page: Page) => page.locator(":not([aria-disabled])");
const personaField = (page: Page) => page.getByRole("textbox", { name: "Persona" });
const saved = (page: Page, name: string, words = "Saved") =>
  part(page, name).getByRole("status").filter({ hasText: words }).waitFor();
const read = (home: string, name: string) => fs.readFileSync(join(home, name), "utf8");

async function addFact(page: Page, fact: string): Promise<void> {
  await page.getByLabel("New fact").fill(fact);
  await page.keyboard.press("Enter");
  await page.getByRole("listitem").filter({ hasText: fact }).waitFor();
}

/** The texts of the next prompt, by the name of their part. */
async function promptTexts(page: Page): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const details of await page.locator(".prompt-part").all()) {
    const name = (await details.locator(".prompt-name").textContent()) ?? "";
    texts[name] = (await details.locator("pre").allTextContents()).join("\n---\n");
  }
  return texts;
}

test("a persona and facts that are edited on the page are in the next request, which the page shows before", async (t) => {
  const script = [["Hello Ori."], ["Tea, then."]];
  await onMemory(t, { path: "/", script }, async ({ page, url }, c, home) => {
    await say(page, "Good morning");
    await message(page, "Hello Ori.").waitFor();
    await field(page).fill("What shall I drink?");
    await page.getByRole("button", { name: "Chat actions" }).click();
    await page.getByRole("link", { name: "Next prompt" }).click();
    await page.waitForURL(`${url}/memory?chat=local%3Ame`);
    await holds(
      page,
      "document.querySelector('.prompt-chat')?.getBoundingClientRect().top < innerHeight / 2",
    );
    // The persona: one key saves it.
    await personaField(page).fill("You are Nova.");
    await page.keyboard.press("Control+s");
    await saved(page, "Persona");
    assert.equal(read(home, "persona.md"), "You are Nova.\n");
    // Facts: added, edited, removed and brought back.
    await addFact(page, "The cat is called Miso.");
    await saved(page, "Facts");
    await page.getByRole("button", { name: `Edit: ${firstFact}` }).click();
    await page.getByLabel("Edited fact").fill("Ori likes green tea.");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Edit: Ori likes green tea." }).waitFor();
    assert.equal(
      await page.locator(":focus").getAttribute("aria-label"),
      "Edit: Ori likes green tea.",
    );
    await page.getByRole("button", { name: "Remove: The cat is called Miso." }).click();
    await saved(page, "Facts", "Removed");
    assert.equal(read(home, "facts.md"), "Ori likes green tea.\n");
    await page.keyboard.press("Enter"); // the focus is at "Undo remove"
    await page.getByRole("button", { name: "Remove: The cat is called Miso." }).waitFor();
    assert.equal(read(home, "facts.md"), "Ori likes green tea.\nThe cat is called Miso.\n");
    // What the page shows is what the model gets.
    await prompt(page).getByText('"The cat is called Miso."').waitFor({ state: "attached" });
    const texts = await promptTexts(page);
    await page.goto(`${url}/`);
    await field(page).press("Enter");
    await message(page, "Tea, then.").waitFor();
    const asked = c.model.requests.at(-1);
    assert.equal(`${texts["Persona"]}\n\n${texts["Facts"]}`, asked?.instructions);
    const marks = (text = "") => text.replaceAll(/context id-\d+/g, "context X");
    const ago = (text: string) => text.replaceAll(/, [\w ]+ ago/g, "");
    assert.equal(ago(marks(texts["Context"])), ago(marks(asked?.context)));
    const said = asked?.messages.map(({ content }) => content) ?? [];
    assert.deepEqual(said, [
      ...(texts["History"] ?? "").split("\n---\n"),
      texts["Your message"] ?? "",
    ]);
    assert.match(asked?.instructions ?? "", /^You are Nova\.\n\n[\s\S]*"Ori likes green tea\."/);
  });
});

test("an edit is kept over a reload, and one that others overtook is not lost", async (t) => {
  await onMemory(t, { expected: /409/ }, async ({ page }, _, home) => {
    await personaField(page).fill("Mine.");
    await page.reload();
    await page.getByRole("button", { name: "Revert" }).waitFor();
    assert.equal(await personaField(page).inputValue(), "Mine.");
    fs.writeFileSync(join(home, "persona.md"), "By hand.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const alert = page.getByRole("alert").filter({ hasText: "changed elsewhere" });
    await alert.waitFor();
    assert.equal(read(home, "persona.md"), "By hand.");
    assert.equal(await personaField(page).inputValue(), "Mine.");
    await alert.getByText("Show the other text").click();
    await alert.getByText("By hand.").waitFor();
    assert.deepEqual(await violations(page), []);
    await alert.getByRole("button", { name: "Save mine instead" }).click();
    await saved(page, "Persona");
    assert.equal(read(home, "persona.md"), "Mine.\n");
    // Back to the default: the file goes.
    await page.getByRole("button", { name: "Use the default" }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await part(page, "Persona").getByText("The built-in persona").waitFor();
    assert.ok(!fs.existsSync(join(home, "persona.md")));
    // A fact is added to what others wrote since.
    fs.writeFileSync(join(home, "facts.md"), "By hand.\n");
    await addFact(page, "Mine.");
    assert.equal(read(home, "facts.md"), "By hand.\nMine.\n");
    // One that is gone elsewhere is not brought back, and what was typed can be added.
    await page.getByRole("button", { name: "Edit: Mine." }).click();
    fs.writeFileSync(join(home, "facts.md"), "By hand.\n");
    await page.getByLabel("Edited fact").fill("Mine, still.");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "changed or removed elsewhere" }).waitFor();
    assert.equal(await page.getByLabel("New fact").inputValue(), "Mine, still.");
    assert.equal(read(home, "facts.md"), "By hand.\n");
  });
});

test("what is typed while something is being saved stays, and a second press changes nothing", async (t) => {
  await onMemory(t, {}, async ({ page, errors }, _, home) => {
    let held = gate();
    await page.route("**/api/{persona,facts}", async (route) => {
      if (route.request().method() === "POST") await held.until;
      await route.continue();
    });
    const letGo = () => {
      held.open();
      held = gate();
    };
    await personaField(page).fill("You are");
    await personaField(page).press("Control+s");
    await personaField(page).pressSequentially(" Nova.");
    letGo();
    await saved(page, "Persona");
    assert.equal(await personaField(page).inputValue(), "You are Nova.");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    letGo();
    await page.getByRole("button", { name: "Save", exact: true }).waitFor({ state: "detached" });
    assert.equal(read(home, "persona.md"), "You are Nova.\n");

    await page.getByLabel("New fact").fill("Tea.");
    await page.keyboard.press("Enter");
    await page.getByLabel("New fact").pressSequentially("Mil");
    letGo();
    const row = (fact: string) => page.getByRole("listitem").filter({ hasText: fact });
    await row("Tea.").waitFor();
    await holds(page, "document.querySelector('.fact-add input').value === 'Mil'");

    await page.getByRole("button", { name: "Edit: Tea." }).click();
    await page.getByLabel("Edited fact").fill("Green tea");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Add" }).and(page.locator("[aria-disabled]")).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type(" with");
    await page.keyboard.press("Enter");
    letGo();
    await holds(page, "document.querySelector('[aria-label=\"Edited fact\"]') !== null");
    await prompt(page).getByText('"Green tea"').waitFor({ state: "attached" });
    await page.keyboard.type(" milk.");
    assert.equal(await page.getByLabel("Edited fact").inputValue(), "Green tea with milk.");
    // Who typed somewhere else meanwhile goes on there.
    await page.getByLabel("Edited fact").fill("Green tea.");
    await page.keyboard.press("Enter");
    await page.getByLabel("New fact").press("End");
    await page.keyboard.type("k");
    letGo();
    await row("Green tea.").waitFor();
    await page.keyboard.type(".");
    assert.equal(await page.getByLabel("New fact").inputValue(), "Milk.");
    await page.getByRole("button", { name: "Remove: Green tea." }).dblclick({ delay: 100 });
    letGo();
    await page.getByRole("button", { name: "Undo remove" }).dblclick({ delay: 100 });
    letGo();
    await row("Green tea.").waitFor();
    await hasCount(page.getByRole("alert"), 0);
    assert.equal(read(home, "facts.md"), `${firstFact}\nGreen tea.\n`);

    // Another fact is changed while one is on its way.
    await page.getByRole("button", { name: "Remove: Green tea." }).click();
    await page.getByRole("button", { name: `Remove: ${firstFact}` }).click();
    held.open(); // also for the second one when it is tried again
    await hasCount(page.getByRole("listitem").filter({ hasText: /tea/ }), 0);
    assert.match(errors.splice(0).join(), /^[^,]*409 \(Conflict\)$/, "the second was tried again");
  });
});

test("what is typed and saved before a person leaves the view is saved and right when they come back", async (t) => {
  await onMemory(t, {}, async ({ page }, _, home) => {
    const held = gate();
    await page.route("**/api/{persona,facts}", async (route) => {
      if (route.request().method() === "POST") await held.until;
      await route.continue();
    });
    await personaField(page).fill("You are");
    await page.keyboard.press("Control+s");
    await page.getByLabel("New fact").fill("Tea.");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Talk", exact: true }).click();
    await field(page).waitFor();
    await page.goBack();
    // Neither is saved twice.
    await personaField(page).press("Control+s");
    await page.getByLabel("New fact").press("Enter");
    await personaField(page).press("End");
    await page.keyboard.type(" Nova.");
    held.open();
    await page.getByRole("listitem").filter({ hasText: "Tea." }).waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).and(notBusy(page)).waitFor();
    assert.equal(await personaField(page).inputValue(), "You are Nova.");
    await holds(page, "document.querySelector('.fact-add input').value === ''");
    await hasCount(page.getByRole("alert"), 0);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await saved(page, "Persona");
    assert.equal(read(home, "persona.md"), "You are Nova.\n");
    assert.equal(read(home, "facts.md"), `${firstFact}\nTea.\n`);
    await page.reload();
    await part(page, "Persona").getByText("From persona.md").waitFor();
    assert.equal(await personaField(page).inputValue(), "You are Nova.");
  });
});

test("what is too long is said before it is saved, and which facts do not fit", async (t) => {
  await onMemory(t, {}, async ({ page }, _, home) => {
    await personaField(page).fill("x".repeat(64 * 1024 + 1));
    await page.getByText("This is longer than 64 KiB").waitFor();
    assert.ok(await page.getByRole("button", { name: "Save", exact: true }).isDisabled());
    await page.keyboard.press("Control+s");
    await page.getByRole("button", { name: "Revert" }).click();
    assert.ok(!fs.existsSync(join(home, "persona.md")));
    await addFact(page, "y".repeat(3_800));
    await addFact(page, "z".repeat(300));
    await page.getByText("1 fact does not fit into the 4,000 characters").waitFor();
    await page.getByRole("listitem").filter({ hasText: "zzz" }).getByText("Cut").waitFor();
  });
});

test("a server without persona and facts still shows the next prompt and the working memory", async () => {
  await onPage({ path: "/memory" }, async ({ page }) => {
    await prompt(page).getByText("scripted/script-1").waitFor();
    await part(page, "Working memory").waitFor();
    await part(page, "Facts").waitFor({ state: "detached" });
    await part(page, "Persona").waitFor({ state: "detached" });
  });
});

test("the prompt of one chat is not shown under the name of another", async () => {
  const prepare = async ({ throughline: { chats } }: Companion) => {
    for (const id of ["local:tea", "local:cake"]) {
      await chats.append(id, [{ role: "user", content: `More ${id}` }]);
    }
  };
  await onPage({ path: "/memory?chat=local%3Atea", prepare }, async ({ page }) => {
    const part = (text: string) => page.locator(".prompt-part pre").getByText(text);
    await part("More local:tea").waitFor({ state: "attached" });
    const letGo = await hold(page, "**/prompt*");
    await page.getByRole("combobox", { name: "Chat" }).selectOption("local:cake");
    await part("More local:tea").waitFor({ state: "detached" });
    letGo();
    await part("More local:cake").waitFor({ state: "attached" });
  });
});

test("axe finds nothing wrong with the memory", async (t) => {
  const prepare = async ({ turns }: Companion) => {
    await turns.submit("local:me", { content: "Good morning" }).done;
  };
  await onMemory(t, { prepare, script: [["Hello."]] }, async ({ page }) => {
    await personaField(page).fill("You are Nova.");
    await page.getByRole("button", { name: `Edit: ${firstFact}` }).click();
    for (const summary of await page.locator(".prompt-part summary").all()) await summary.click();
    await looksFine(page, "memory");
  });
});
