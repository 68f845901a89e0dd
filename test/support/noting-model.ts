// A model behind OpenAI's chat protocol that takes its time and notes when it speaks in which chat: what
// several servers ask it is seen in one place, by one clock.
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { bodyOf, loopback } from "./loopback.ts";
import { chatStream } from "./openai-server.ts";

/** What is said to it: the chat, and what else it takes to know the message again. */
export const wordsOf = (chat: string, key: string) => `said(${chat} ${key})`;

/** What it answers to that. */
export const answerTo = (words: string) => `heard ${words} once`;

/** One answer that it was asked for. */
export interface Spoken {
  readonly chat: string;
  readonly words: string;
  /** The whole last message, with what the companion wanted it to know. */
  readonly heard: string;
  /** By `performance.now()`, in milliseconds, as what follows. */
  readonly begunAt: number;
  endedAt?: number;
  /** Whoever asked went away before the end. */
  isCut?: boolean;
}

export interface HeldBack {
  /** What begins from now on is whole again. What was held back stays so. */
  pass(): void;
  /** What was held back goes on, too. */
  free(): void;
}

export interface NotingModel extends AsyncDisposable {
  /** For `--model`. */
  readonly name: string;
  /** In the order in which they began. */
  readonly spoken: readonly Spoken[];
  /** Waits until this holds of all that it was asked; looked at whenever one begins or ends. */
  until<T>(find: (spoken: readonly Spoken[]) => T | undefined | false): Promise<T>;
  /** Answers that begin from now on stop after their first word. */
  holdBack(): HeldBack;
}

/** @param pauseMs how long it thinks before each of the pieces of an answer. */
export async function notingModel(pauseMs: () => number): Promise<NotingModel> {
  const spoken: Spoken[] = [];
  const looking = new Set<() => void>();
  let gate: Promise<void> = Promise.resolve();
  const look = () => {
    for (const each of [...looking]) each();
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const sent = await bodyOf(incoming);
    const open = gate;
    const note = noteOf(sent.toString());
    spoken.push(note);
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    void closed.then(() => {
      note.endedAt = performance.now();
      note.isCut = !response.writableFinished;
      look();
    });
    look();
    await speak(response, note, { pauseMs, open, closed });
  };
  const server = await loopback(serve);
  return {
    name: `${server.url}/v1#noting-1`,
    spoken,
    async until(find) {
      const { promise, resolve } = Promise.withResolvers<NonNullable<ReturnType<typeof find>>>();
      const each = () => {
        const found = find(spoken);
        if (found !== undefined && found !== false) resolve(found as never);
      };
      looking.add(each);
      each();
      const found = await promise;
      looking.delete(each);
      return found as never;
    },
    holdBack() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      const pass = () => {
        gate = Promise.resolve();
      };
      const free = () => {
        pass();
        resolve();
      };
      return { pass, free };
    },
    [Symbol.asyncDispose]: server.close,
  };
}

async function speak(
  response: ServerResponse,
  { words }: Spoken,
  how: { pauseMs: () => number; open: Promise<void>; closed: Promise<void> },
): Promise<void> {
  const events = chatStream(answerTo(words)).split(/(?<=\n\n)/);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const cuts = [0, 1, Math.ceil(events.length / 2), events.length];
  for (let piece = 1; piece < cuts.length && !response.destroyed; piece++) {
    await wait(how.pauseMs());
    response.write(events.slice(cuts[piece - 1], cuts[piece]).join(""));
    if (piece === 1) await Promise.race([how.open, how.closed]);
  }
  response.end();
}

/** Of the newest message, whose words stand after what the companion wants to be known. */
function noteOf(body: string): Spoken {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
  const last = messages.findLast(({ role }) => role === "user")?.content;
  const heard = typeof last === "string" ? last : partsOf(last).join("\n");
  const words = /said\((\S+) [^)]*\)$/.exec(heard);
  if (words === null) throw new Error("nobody says such a thing");
  return { chat: words[1] ?? "", words: words[0], heard, begunAt: performance.now() };
}

const partsOf = (parts: unknown) => (parts as { text: string }[]).map(({ text }) => text);
