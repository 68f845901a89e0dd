// What can be told of the page without a browser.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { buildPage } from "../scripts/build-page.ts";
import { companion, problemOf } from "./support/server-fixture.ts";

const token = "t".repeat(10) + "0123456789abcdefABCDEF".repeat(3);
const views = ["/", "/chats", "/chats/local%3Ame", "/chats/a%2Fb", "/mood", "/waking"];
const allViews = [...views, "/sessions", "/memory", "/moments"];

await buildPage();

async function file(path: string): Promise<string> {
  const c = await companion();
  const response = await c.ask(path);
  assert.equal(response.status, 200);
  return response.text();
}

/** What browsers send for a click on a link of another site. */
const link = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
  accept: "text/html",
};

test("every view answers with the page before anyone has signed in, also from a link, and nobody may frame it", async () => {
  const c = await companion([], { token });
  const page = await file("/");
  for (const path of allViews) {
    const response = await c.ask(`${path}?gatewayUrl=ws://evil.example`, { headers: link });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    assert.match(response.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    assert.equal(await response.text(), page, path);
    const framed = await c.ask(path, { headers: { ...link, "sec-fetch-dest": "iframe" } });
    await problemOf(framed, 403, "THROUGHLINE_FORBIDDEN");
  }
});

test("a link on another site leads to no path beside the page, and no form there posts to it", async () => {
  const c = await companion();
  for (const path of ["/api/chats", "/api/session", "/metrics", "/healthz", "/nowhere"]) {
    await problemOf(await c.ask(path, { headers: link }), 403, "THROUGHLINE_FORBIDDEN");
  }
  const post = await c.ask("/chats", { method: "POST", headers: link });
  await problemOf(post, 403, "THROUGHLINE_FORBIDDEN");
});

test("no other path is a file of the page", async () => {
  const c = await companion();
  const steps = "/assets/..%2f..%2fpackage.json /assets/..%5c..%5cpackage.json";
  const others = "/chats/a/b /moods /index.html /built-from /assets/ /package.json /src/main.tsx";
  for (const path of `${steps} /assets/%2e%2e%2findex.html /assets/index.js%00.css ${others}`.split(
    " ",
  )) {
    await problemOf(await c.ask(path), 404, "THROUGHLINE_NOT_FOUND");
  }
});

test("a browser that goes to an address that is none is shown the page, and told 404", async () => {
  const c = await companion();
  const accept = "text/html,application/xhtml+xml,*/*;q=0.8";
  const response = await c.ask("/moods", { headers: { accept } });
  assert.equal(response.status, 404);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(await response.text(), await file("/"));
  for (const path of ["/api/moods", "/api", "/assets/no.js"]) {
    await problemOf(await c.ask(path, { headers: { accept } }), 404, "THROUGHLINE_NOT_FOUND");
  }
  const post = await c.ask("/moods", { method: "POST", headers: { accept } });
  await problemOf(post, 404, "THROUGHLINE_NOT_FOUND");
});

test("every file that was built is served as what it is, for good if its name says which", async () => {
  const c = await companion([], { token });
  const types = { css: "text/css; charset=utf-8", js: "text/javascript; charset=utf-8" };
  const names = readdirSync("dist/web/assets").filter((name) => !/\.(br|gz)$/.test(name));
  assert.ok(names.length >= 2);
  for (const name of names) {
    const { status, headers } = await c.ask(`/assets/${name}`);
    assert.equal(status, 200, name);
    const ending = name.split(".").at(-1) as keyof typeof types;
    assert.equal(headers.get("content-type"), types[ending], name);
    assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable", name);
    assert.match(name, /-[\w-]{8}\.\w+$/);
  }
  assert.equal((await c.ask("/icon.svg")).headers.get("content-type"), "image/svg+xml");
  assert.equal((await c.ask("/theme.js")).headers.get("content-type"), types.js);
  for (const name of readdirSync("dist/web/assets").filter((each) => each.endsWith(".br"))) {
    await problemOf(await c.ask(`/assets/${name}`), 404, "THROUGHLINE_NOT_FOUND");
  }
});

/** The page's script, the largest of its files. */
function scriptName(): string {
  const name = readdirSync("dist/web/assets").find((each) => /^index-.*\.js$/.test(each));
  assert.ok(name);
  return name;
}

for (const [accepted, encoding] of [
  ["gzip, deflate, br, zstd", "br"],
  ["gzip", "gzip"],
  ["GZIP;q=0.5", "gzip"],
  ["br;q=0, gzip;q=0", undefined],
  ["*", undefined],
  ["deflate, zstd", undefined],
  [undefined, undefined],
] as const) {
  test(`a client that accepts ${accepted ?? "nothing that it names"} gets the page as ${encoding ?? "it is"}`, async () => {
    const c = await companion();
    const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
    const path = `/assets/${scriptName()}`;
    const whole = readFileSync(`dist/web${path}`);
    const response = await c.ask(path, { headers });
    assert.equal(response.headers.get("content-encoding"), encoding ?? null);
    assert.equal(response.headers.get("vary"), "Accept-Encoding");
    const bytes = Buffer.from(await response.arrayBuffer());
    assert.equal(response.headers.get("content-length"), String(bytes.length));
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync, none: (packed: Buffer) => packed };
    assert.deepEqual(unpack[encoding ?? "none"](bytes), whole);
    assert.equal(bytes.length < whole.length / 2, encoding !== undefined);
    const head = await c.ask(path, { method: "HEAD", headers });
    assert.equal(head.status, 200);
    assert.equal((await head.arrayBuffer()).byteLength, 0);
    for (const name of ["content-encoding", "content-length", "content-type", "etag", "vary"]) {
      assert.equal(head.headers.get(name), response.headers.get(name), name);
    }
  });
}

test("what a browser has of the page is not sent again, each form by its own tag", async () => {
  const c = await companion();
  const tags = new Set<string | null>();
  for (const encoding of ["br", "gzip", "identity"]) {
    for (const path of ["/", "/theme.js"]) {
      const headers = { "accept-encoding": encoding };
      const tag = (await c.ask(path, { headers })).headers.get("etag");
      assert.match(tag ?? "", /^"[\w-]{22}"$/);
      tags.add(tag);
      const held = { ...headers, "if-none-match": `"other", W/${tag}` };
      const again = await c.ask(path, { headers: held });
      assert.equal(again.status, 304);
      assert.equal(await again.text(), "");
      assert.equal(again.headers.get("etag"), tag);
      assert.equal(again.headers.get("vary"), "Accept-Encoding");
      const old = { ...headers, "if-none-match": '"other"' };
      assert.equal((await c.ask(path, { headers: old })).status, 200);
    }
  }
  assert.equal(tags.size, 6);
  const accept = { accept: "text/html", "if-none-match": [...tags].join(", ") };
  assert.equal((await c.ask("/moods", { headers: accept })).status, 404);
});

test("the page comes with the licence of every package that it holds code of", async () => {
  const c = await companion([], { token });
  const response = await c.ask("/THIRD-PARTY.txt");
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
  const parts = (await response.text()).split(/\n-{80}\n/).slice(1);
  const names = new Set(
    sources.flatMap(([, text]) =>
      // Types leave no code in the page.
      [
        ...text
          .replace(/^import type [^;]*;/gm, "")
          .matchAll(/ from "((?:@[\w.-]+\/)?[a-z][\w.-]*)/g),
      ].map(([, name = ""]) => name),
    ),
  );
  assert.ok(names.has("react") && names.has("react-markdown"), [...names].join(" "));
  // Two that only other packages import.
  for (const name of [...names, "scheduler", "micromark"]) {
    const part = parts.find((each) => each.trimStart().startsWith(`${name} `));
    assert.match(
      part ?? "",
      /Permission is hereby granted|Permission to use, copy, modify|into the public domain/,
      name,
    );
  }
});

test("the page runs under its own policy: no script, style or handler in it, nothing from elsewhere", async () => {
  const html = await file("/");
  assert.match(html, /<html lang="en">.*<title>Throughline<\/title>.*<noscript>.*<\/noscript>/s);
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|javascript:|https?:|data:/i);
  const scripts = [...html.matchAll(/<script([^>]*)>([^<]*)<\/script>/g)];
  assert.ok(scripts.length > 0);
  for (const [, tag, inside] of scripts) {
    assert.match(tag!, /src="\/(assets\/[\w-]+|theme)\.js"/);
    assert.equal(inside, "");
  }
  for (const name of readdirSync("dist/web/assets").filter((each) => each.endsWith(".css"))) {
    assert.doesNotMatch(await file(`/assets/${name}`), /url\(|@import/, name);
  }
});

const sources = readdirSync("dashboard/src", { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".test.ts"))
  .map((name) => [name, readFileSync(`dashboard/src/${name}`, "utf8")] as const);

test("no source of the page makes elements or code of text, or takes an address from where it was opened", () => {
  assert.ok(sources.length > 20);
  const ways =
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc/;
  for (const [name, text] of sources) {
    assert.doesNotMatch(text, ways, name);
    assert.doesNotMatch(text, /location\.(search|hash|href)|https?:\/\/[a-z]/, name);
  }
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

/** The colours of light and of dark. */
function palettes(): readonly ReadonlyMap<string, string>[] {
  const css = readFileSync("dashboard/src/styles.css", "utf8");
  const pairs = [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
  return [2, 3].map((at) => new Map(pairs.map((pair) => [pair[1]!, pair[at]!])));
}

test("text can be read in light and in dark: a contrast of 4.5 at least", () => {
  for (const colors of palettes()) {
    const grounds = ["bg", "surface", "raised"];
    for (const [text, ground] of [
      ...["ink", "muted", "accent", "danger"].flatMap((ink) => grounds.map((on) => [ink, on])),
      ...[
        ["ink", "accent-soft"],
        ["accent", "accent-soft"],
        ["accent-ink", "accent"],
        ["danger", "danger-soft"],
      ],
    ] as [string, string][]) {
      const ratio = contrast(colors.get(text)!, colors.get(ground)!);
      assert.ok(ratio >= 4.5, `${text} on ${ground}: ${ratio}`);
    }
    assert.ok(contrast(colors.get("edge")!, colors.get("surface")!) >= 3, "edges of fields");
  }
});
