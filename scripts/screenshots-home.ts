// The home of the screenshots: a companion that was talked with for days. Everything is made by the product itself.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { startCompanion } from "../src/companion/start-companion.ts";
import { type MessageInput, openThroughline } from "../src/index.ts";
import { consentWording } from "../src/moments/record/consent.ts";
import { HeldClock } from "../test/support/held-clock.ts";
import type { Asked } from "../test/support/ollama-server.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const models = { qwen3: [], "gemma3:12b": ["vision"], "llama3.2-vision": ["vision"] };

export const tide =
  "Low water is at 06:52, and the sun rises at 07:31, so you walk out in twilight:\n\n" +
  "| | Saturday | Sunday |\n| --- | --- | --- |\n| low water | 06:52 | 07:40 |\n| sunrise | 07:31 | 07:32 |\n\n" +
  "Sunday is the better morning. Shall I remind you to pack the **lamp**?";

export const code =
  "The twelfths rule gives the height without a table:\n\n```ts\n// Rises by 1, 2, 3, 3, 2, 1 twelfths of the range.\nconst twelfths = [1, 2, 3, 3, 2, 1];\n\n" +
  "export function height(low: number, high: number, hour: number): number {\n  const risen = twelfths.slice(0, hour).reduce((sum, part) => sum + part, 0);\n" +
  "  return low + ((high - low) * risen) / 12;\n}\n```\n\nFor a smooth curve take $h(t) = \\frac{a + b}{2} - \\frac{b - a}{2} \\cos \\frac{\\pi t}{6}$.";

const older: readonly (readonly [id: string, hoursAgo: number, ...words: string[]])[] = [
  ["telegram:42", 3, "Is the kettle on?", "It is. Green, as always?"],
  ["local:tides", 5, "Write me a function for the height of the tide", code],
  ["local:recipe", 27, "What can I cook with two leeks and a tin of beans?", "A white bean soup."],
  ["local:bike", 30, "My chain slips under load", "Then it is worn, or the cassette is."],
  ["local:letters", 55, "Help me write to the harbour office", "Gladly. What do you want?"],
  ["telegram:7", 80, "Good night, Nova", "Good night. The lamp is packed."],
  ["local:names", 200, "Names for a small blue boat?", "Tern, Sandpiper or Little Auk."],
  ["local:stars", 900, "Which star is that, low in the west?", "At this hour it is Vega."],
];

const today: readonly MessageInput[] = [
  { role: "user", content: "I'm back! Did you miss me?" },
  {
    role: "assistant",
    content:
      "I did. You were gone for two days, and we had stopped at the tide tables for Saturday.",
  },
  { role: "user", content: "Right. When is low water, and is it light by then?" },
  { role: "assistant", content: tide },
];

/** What happened to the companion, in hours before now. */
const happened: readonly (readonly [hoursAgo: number, event: string])[] = [
  [26, "face_recognized"],
  [25, "conversation_reply"],
  [20, "loud_noise"],
  [12, "insult"],
  [11.5, "pat_level1"],
  [6, "conversation_reply"],
  [2, "pat_level2"],
  [1, "face_recognized"],
];

/** Fills a home with chats of some weeks, a day of feelings, a persona and facts. */
export async function fillHome(home: string): Promise<void> {
  const now = Date.now();
  const clock = new HeldClock(new Date(now - 28 * hourMs).toISOString());
  const throughline = await openThroughline({ home, clock });
  const by = { provider: "ollama", model: "qwen3" };
  for (const [id, hours, question = "", answer = ""] of older.toReversed()) {
    const at = (minutes: number) =>
      new Date(now - hours * hourMs + minutes * minuteMs).toISOString();
    await throughline.chats.append(id, [
      { role: "user", content: question, timestamp: at(0) },
      { role: "assistant", content: answer, timestamp: at(1), ...by },
    ]);
  }
  for (const [index, message] of today.entries()) {
    const timestamp = new Date(now - (30 - index) * minuteMs).toISOString();
    const said = message.role === "assistant" ? { ...message, ...by } : message;
    await throughline.chats.append("local:me", [{ ...said, timestamp }]);
  }
  const companion = await startCompanion(throughline);
  let left = [...happened];
  for (let hours = 28; hours > 0.1; hours -= 0.1) {
    const due = left.filter(([hoursAgo]) => hoursAgo >= hours);
    left = left.filter(([hoursAgo]) => hoursAgo < hours);
    for (const [, event] of due) companion.emotions.event(event);
    clock.pass(0.1 * hourMs);
    companion.tick();
  }
  await throughline.close();
  writeFileSync(join(home, "persona.md"), persona);
  writeFileSync(join(home, "facts.md"), facts.join("\n"));
}

const persona =
  "You are Nova, the companion of Ori, who lives by the sea and mends boats.\n" +
  "Be warm, direct and brief. Say when you do not know something.";
const facts = [
  "Ori must not eat hazelnuts.",
  "Ori's boat is called Tern, and leaks a little.",
  "Ori gets up before the tide, and likes green tea.",
];

/** What the model says to what is said while the pictures are made. */
export function answerTo({ messages }: Asked): string {
  const newest = JSON.stringify(messages.at(-1)?.content ?? "");
  if (newest.includes("image_url")) {
    return "A small blue boat at low water, with her mast down. Is that Tern, before you painted her?";
  }
  return newest.includes("Sunday")
    ? "Noted: Sunday, lamp, and a dry pair of socks this time."
    : "Hello, Ori. The tide is out.";
}

/** A drawn picture of a boat at sea, as JPEG; `step` moves the boat. */
export function harbour(step = 0): Promise<Buffer> {
  const x = 250 + step * 9;
  const y = 300 + Math.round(Math.sin(step) * 5);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480">
<defs><linearGradient id="sky" x2="0" y2="1"><stop stop-color="#f6c98f"/><stop offset="1" stop-color="#9fc6d8"/></linearGradient></defs>
<rect width="640" height="480" fill="url(#sky)"/><circle cx="470" cy="170" r="46" fill="#fff3d2"/>
<rect y="270" width="640" height="210" fill="#2f6f86"/><path d="M0 330 q80 -16 160 0 t160 0 t160 0 t160 0 v150 h-640z" fill="#255d73"/>
<path d="M${x} ${y} h170 l-28 52 h-112z" fill="#1d4e9e"/><path d="M${x + 84} ${y - 150} v150" stroke="#4b3621" stroke-width="6"/>
<path d="M${x + 90} ${y - 146} l72 128 h-72z" fill="#fbf7ec"/><path d="M${x + 78} ${y - 120} l-52 102 h52z" fill="#efe6d2"/></svg>`;
  return sharp(Buffer.from(svg)).jpeg({ quality: 85 }).toBuffer();
}

/** Has the server hear and see something, and keeps a moment of it. */
export async function addMoment(url: string): Promise<void> {
  await post(`${url}/api/feedback/consent`, {
    messages: true,
    frames: true,
    audio: true,
    wording: consentWording,
  });
  for (let step = 0; step < 8; step++) {
    await send(`${url}/api/frames`, "image/jpeg", await harbour(step));
    await send(`${url}/api/audio`, "audio/pcm", sound(step));
    await new Promise((done) => setTimeout(done, 600));
  }
  const what = "remembered the socks";
  await post(`${url}/api/feedback`, { sentiment: "positive", what, trigger: "button" });
}

/** 600 ms of a hum that swells. */
function sound(step: number): Buffer {
  const samples = new Int16Array(9_600);
  for (let i = 0; i < samples.length; i++) {
    const swell = 0.3 + 0.7 * Math.abs(Math.sin((i / samples.length + step) * 2.2));
    samples[i] = Math.round(9_000 * swell * Math.sin(i / 9));
  }
  return Buffer.from(samples.buffer);
}

const post = (url: string, body: object) =>
  send(url, "application/json", Buffer.from(JSON.stringify(body)));

async function send(url: string, type: string, body: Buffer): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": type },
    body: new Uint8Array(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}
