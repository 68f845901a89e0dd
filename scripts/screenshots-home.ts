// The home of the screenshots: a companion that was talked with for days. Everything is made by the product itself.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { startCompanion } from "../src/companion/start-companion.ts";
import { openThroughline } from "../src/index.ts";
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

/** The oldest first. */
const chats: readonly (readonly [id: string, hoursAgo: number, ...words: string[]])[] = [
  ["local:stars", 900, "Which star is that, low in the west?", "At this hour it is Vega."],
  ["local:names", 200, "Names for a small blue boat?", "Tern, Sandpiper or Little Auk."],
  ["telegram:7", 80, "Good night, Nova", "Good night. The lamp is packed."],
  ["local:letters", 55, "A letter to the harbour office", "Gladly. What do you want of them?"],
  ["local:bike", 27.5, "My chain slips under load", "Then it is worn, or the cassette is."],
  ["local:recipe", 26, "Two leeks and a tin of beans?", "A white bean soup, with thyme."],
  ["local:tides", 5, "The height of the tide, in code", code],
  ["telegram:42", 3, "Is the kettle on?", "It is. Green, as always?"],
];

const missed =
  "I did. You were gone for two days, and we had stopped at the tide tables for Saturday.";

const hoursOfFeelings = 6.5;

/** What happened to the companion, in hours before now. */
const happened: readonly (readonly [hoursAgo: number, event: string])[] = [
  [6.2, "face_recognized"],
  [6, "conversation_reply"],
  [5.8, "pat_level2"],
  [5, "conversation_reply"],
  [4.4, "insult"],
  [4.3, "abuse"],
  [3.6, "conversation_reply"],
  [3, "pat_level1"],
  [2.2, "loud_noise"],
  [2, "face_recognized"],
  [1.5, "pat_level2"],
  [1, "conversation_reply"],
  [0.8, "face_recognized"],
];

/** Fills a home with chats of some weeks, a day of feelings, a persona and facts. */
export async function fillHome(home: string): Promise<void> {
  const now = Date.now();
  const clock = new HeldClock();
  const toHours = (hoursAgo: number) => clock.set(new Date(now - hoursAgo * hourMs).toISOString());
  toHours(1_000);
  const throughline = await openThroughline({ home, clock });
  const talk = async (id: string, question = "", answer = "") => {
    await throughline.chats.append(id, [{ role: "user", content: question }]);
    clock.pass(minuteMs);
    const by = { provider: "ollama", model: "qwen3" };
    await throughline.chats.append(id, [{ role: "assistant", content: answer, ...by }]);
  };
  const isRecent = ([, hours]: (typeof chats)[number]) => hours < hoursOfFeelings;
  for (const [id, hours, ...words] of chats.filter((chat) => !isRecent(chat))) {
    toHours(hours);
    await talk(id, ...words);
  }
  toHours(hoursOfFeelings);
  const companion = await startCompanion(throughline);
  const recent = chats.filter(isRecent);
  const due = [...happened];
  for (let hours: number = hoursOfFeelings; hours > 0.6; hours -= 0.1) {
    while ((due[0]?.[0] ?? 0) >= hours) companion.emotions.event(due.shift()?.[1] ?? "");
    for (let chat = recent[0]; chat !== undefined && chat[1] >= hours; chat = recent[0]) {
      recent.shift();
      await talk(chat[0], ...chat.slice(2).map(String));
    }
    clock.pass(0.1 * hourMs);
    companion.tick();
  }
  toHours(0.5);
  await talk("local:me", "I'm back! Did you miss me?", missed);
  await talk("local:me", "Right. When is low water, and is it light by then?", tide);
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
  const agreed = { messages: true, frames: true, audio: true, wording: consentWording };
  await post(`${url}/api/feedback/consent`, agreed);
  for (let step = 0; step < 8; step++) {
    await post(`${url}/api/frames`, await harbour(step), "image/jpeg");
    await post(`${url}/api/audio`, sound(step), "audio/pcm");
    await new Promise((done) => setTimeout(done, 600));
  }
  const what = "remembered the socks";
  await post(`${url}/api/feedback`, { sentiment: "positive", what, trigger: "laughter" });
  // The page says as long as it hears and sees.
  await post(`${url}/api/feedback/consent`, { ...agreed, frames: false, audio: false });
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

/** Posts a form, bytes of a type, or JSON. */
export async function post(url: string, body: object, type = "application/json"): Promise<void> {
  const isForm = body instanceof FormData;
  const bytes = Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body);
  const sent = isForm ? { body } : { body: bytes, headers: { "content-type": type } };
  const response = await fetch(url, { method: "POST", ...sent });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}
