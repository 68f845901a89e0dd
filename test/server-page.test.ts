// What can be told of the page without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { companion } from "./server-fixture.ts";

async function file(path: string): Promise<string> {
  const c = await companion();
  const response = await c.ask(path);
  assert.equal(response.status, 200);
  return response.text();
}

for (const [path, type] of [
  ["/", "text/html; charset=utf-8"],
  ["/page.js", "text/javascript; charset=utf-8"],
  ["/page.css", "text/css; charset=utf-8"],
  ["/icon.svg", "image/svg+xml"],
] as const) {
  test(`${path} is served as ${type}, and asked for anew`, async () => {
    const c = await companion();
    const { headers } = await c.ask(`${path}?gatewayUrl=ws://evil.example`);
    assert.equal(headers.get("content-type"), type);
    assert.equal(headers.get("cache-control"), "no-cache");
  });
}

test("the page runs under its own policy: no script, style or handler in it, nothing from elsewhere", async () => {
  const html = await file("/");
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|javascript:|https?:/i);
  for (const [, tag] of html.matchAll(/<script([^>]*)>/g)) assert.match(tag!, /src="\/page\.js"/);
  assert.match(html, /<script[^>]*><\/script>/);
  assert.doesNotMatch(await file("/page.css"), /url\(|@import/);
});

test("what was said gets onto the page as text, and nothing is taken from the address", async () => {
  const script = await file("/page.js");
  assert.doesNotMatch(
    script,
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\("on|DOMParser/,
  );
  assert.doesNotMatch(script, /location|URLSearchParams|localStorage|https?:/);
});

test("every element that the script asks for is on the page", async () => {
  const html = await file("/");
  const ids = new Set([...html.matchAll(/\sid="([\w-]+)"/g)].map(([, id]) => id));
  const asked = [...(await file("/page.js")).matchAll(/byId\("([\w-]+)"\)/g)].map(([, id]) => id);
  assert.ok(asked.length > 10);
  for (const id of asked) assert.ok(ids.has(id), id);
});

test("every field has a label, every button words, and the page a language", async () => {
  const html = await file("/");
  assert.match(html, /<html lang="en">/);
  for (const [, id] of html.matchAll(/<(?:input|textarea)[^>]*\sid="([\w-]+)"/g)) {
    assert.ok(html.includes(`<label for="${id}">`), id);
  }
  for (const [, words] of html.matchAll(/<button[^>]*>([^<]*)<\/button>/g))
    assert.ok(words!.trim());
  assert.match(html, /role="log"/);
  assert.match(html, /role="alert"/);
});

/** The contrast of two colours, after WCAG 2. */
function contrast(a: string, b: string): number {
  const luminance = (hex: string) => {
    const [r, g, b] = [1, 3, 5].map((at) => {
      const c = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  };
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light! + 0.05) / (dark! + 0.05);
}

test("text can be read in light and in dark: a contrast of 4.5 at least", async () => {
  const css = await file("/page.css");
  const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(
    ([, rules]) =>
      new Map([...rules!.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, k, v]) => [k!, v!])),
  );
  for (const colors of [light!, dark!]) {
    for (const [text, ground] of [
      ["ink", "paper"],
      ["ink", "user"],
      ["ink", "other"],
      ["quiet", "paper"],
      ["quiet", "user"],
      ["quiet", "other"],
      ["accent", "paper"],
      ["on-accent", "accent"],
      ["alert", "paper"],
    ] as const) {
      const ratio = contrast(colors.get(text)!, colors.get(ground)!);
      assert.ok(ratio >= 4.5, `${text} on ${ground}: ${ratio}`);
    }
    assert.ok(contrast(colors.get("line")!, colors.get("paper")!) >= 3, "line on paper");
  }
});
