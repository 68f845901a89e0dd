import { kindOf } from "./attachments.ts";
import { printableLine } from "./printable.ts";
import {
  type Records,
  type RenderedChat,
  type RenderRow,
  renderRows,
  speakers,
} from "./render-rows.ts";

/** Even if something got past the escaping: no script runs and nothing is loaded. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/**
 * A chat as one HTML file that stands alone, in pieces: readable in light and dark and on paper, with
 * no script and nothing to load. Every stored text is escaped: it is text, whatever it says. The files of
 * messages are in it: pictures are shown, all others are downloads.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`: there is no such zone.
 */
export async function* toHtml(chat: RenderedChat, records: Records): AsyncGenerator<string> {
  const rows = renderRows(records, chat.zone);
  yield head(chat);
  for await (const row of rows) {
    yield rowHtml(row);
    if (row.kind !== "message") continue;
    yield* filesHtml(row, chat);
    yield "</article>\n";
  }
  yield "</main>\n</body>\n</html>\n";
}

function head({ zone = "UTC", ...chat }: RenderedChat): string {
  const key = escaped(printableLine(chat.key));
  const title = escaped(printableLine(chat.title ?? ""));
  const titleHtml = title === "" ? "" : `<p dir="auto">${title}</p>\n`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Chat ${key}</title>
<style>${htmlStyle}</style>
</head>
<body>
<header>
<h1>Chat <bdi>${key}</bdi></h1>
${titleHtml}<p>Times are in ${escaped(zone)}.</p>
</header>
<main>
`;
}

function rowHtml(row: RenderRow): string {
  if (row.kind === "day") return `<h2>${escaped(row.day)}</h2>\n`;
  if (row.kind === "note") return `<p class="note">${escaped(row.note)}</p>\n`;
  const by = row.by === "" ? "" : ` <bdi>${escaped(row.by)}</bdi>`;
  const time = row.time === "" ? "" : ` <time datetime="${row.at}">${row.time}</time>`;
  const marks = row.marks.map((mark) => ` <em>${escaped(mark)}</em>`).join("");
  const reasoning = row.reasoning === "" ? "" : reasoningHtml(row.reasoning);
  const text = row.text === "" ? "" : `<div class="text" dir="auto">${escaped(row.text)}</div>\n`;
  const calls = row.calls.map((call) => {
    // A parser drops the first line feed in `pre`: here it is one of ours.
    const given = `<pre dir="ltr">\n${escaped(call.arguments)}</pre>`;
    return `<p>Calls <bdi>${escaped(call.name)}</bdi></p>\n${given}\n`;
  });
  return `<article class="${row.role}">
<p class="who"><b>${speakers[row.role]}</b>${by}${time}${marks}</p>
${reasoning}${text}${calls.join("")}`;
}

type MessageRow = Extract<RenderRow, { readonly kind: "message" }>;

async function* filesHtml(
  { files }: MessageRow,
  { readFile }: RenderedChat,
): AsyncGenerator<string> {
  for (const { label, file } of files) {
    const bytes = file && (await readFile?.(file.sha256));
    const name = `<bdi>${escaped(label)}</bdi>`;
    if (file === undefined || bytes === undefined) {
      yield `<p>File ${name}</p>\n`;
      continue;
    }
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
    const shown = escaped(printableLine(file.name));
    if (kindOf(file) === "picture") {
      const src = `data:${file.type};base64,${data}`;
      yield `<figure>\n<img alt="${shown}" src="${src}">\n<figcaption>${name}</figcaption>\n</figure>\n`;
    } else {
      // Of no type that a browser would show.
      const href = `data:application/octet-stream;base64,${data}`;
      yield `<p>File <a download="${shown}" href="${href}">${name}</a></p>\n`;
    }
  }
}

function reasoningHtml(reasoning: string): string {
  const text = `<div class="text" dir="auto">${escaped(reasoning)}</div>`;
  return `<details>\n<summary>Reasoning</summary>\n${text}\n</details>\n`;
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

/** Style in the colours of the reader's system, light or dark, and on paper. */
const htmlStyle = `
:root { color-scheme: light dark; }
body {
  margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem;
  background: Canvas; color: CanvasText; font: 1rem/1.55 system-ui, sans-serif;
}
h1, header p, article p { overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 1rem; border-bottom: 1px solid GrayText; font-size: 1.1rem; }
header p, .note, .who, figcaption { font-size: .875rem; }
article { margin: .75rem 0; padding: .75rem 1rem; border-left: 3px solid GrayText; }
article.user { border-color: Highlight; }
article p, pre, figure { margin: .35rem 0; }
figure img { display: block; max-width: 100%; max-height: 30rem; }
.note { text-align: center; }
.text, pre { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
pre, .tool .text { font: .875rem/1.5 ui-monospace, monospace; }
@media print { h2, .who { break-after: avoid; } }
`;
