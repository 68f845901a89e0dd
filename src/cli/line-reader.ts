import { emitKeypressEvents, type Key } from "node:readline";
import { createInterface } from "node:readline/promises";
import { PassThrough, type Readable } from "node:stream";
import type { Io } from "./io.ts";

/** The lines of a pipe, or of a person at a terminal. */
export interface LineReader {
  next(): Promise<IteratorResult<string, undefined>>;
  /** Shows that a line is awaited. */
  prompt(): void;
  /** Calls back at Ctrl-C, which is a key at a terminal and no signal. */
  onInterrupt(listener: () => void): void;
  close(): void;
}

/** Asks the terminal to mark what is pasted (bracketed paste), and to stop doing so. */
const markPastes = "\u001b[?2004h";
const markNoPastes = "\u001b[?2004l";

/** Stands for a line break in a line that is edited: there a real one would end the line. One that is typed is one. */
const breakSign = "\u2424";

export function readLines(io: Pick<Io, "input" | "output" | "isInteractive">): LineReader {
  return io.isInteractive ? terminalLines(io) : pipedLines(io.input);
}

function pipedLines(input: Readable): LineReader {
  const lines = linesOf(input);
  return {
    next: () => lines.next(),
    prompt: () => undefined,
    onInterrupt: () => undefined,
    close: () => void input.destroy(), // one that stays open would keep the process alive
  };
}

/** Splits at LF and CRLF alone: readline splits at U+2028 and U+2029 too, which are part of what is said. */
async function* linesOf(input: Readable): AsyncGenerator<string, undefined> {
  let line = "";
  for await (const text of input.setEncoding("utf8")) {
    const [first = "", ...others] = String(text).split("\n");
    line += first;
    for (const next of others) {
      yield line.replace(/\r$/, "");
      line = next;
    }
  }
  if (line !== "") yield line;
  return undefined;
}

/**
 * Lines that a person edits. A pasted text is inserted whole, with its line breaks, and so is a line
 * break by Alt+Enter: only Enter ends a line.
 */
function terminalLines({ input, output }: Pick<Io, "input" | "output">): LineReader {
  const lines = createInterface({
    input: new NoKeys(input),
    output,
    terminal: true,
    prompt: "> ",
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  const iterator = lines[Symbol.asyncIterator]();
  let pasted: string[] | undefined;
  const onKey = (text: string | undefined, key: Key) => {
    if (key.name === "paste-start") pasted = [];
    else if (key.name === "paste-end") {
      const whole = pasted?.join("") ?? "";
      pasted = undefined;
      lines.write(editable(whole), {});
    } else if (pasted !== undefined) pasted.push(text ?? "");
    else if (key.name === "return" && key.meta) lines.write(breakSign, {});
    else lines.write(text, key);
  };
  const close = () => lines.close();
  emitKeypressEvents(input);
  input.on("keypress", onKey);
  input.once("end", close);
  input.resume(); // a question before may have paused it
  output.write(markPastes);
  lines.once("close", () => {
    input.off("keypress", onKey);
    input.off("end", close);
    input.pause();
    output.write(markNoPastes);
  });
  return {
    async next() {
      const line = await iterator.next();
      if (line.done === true) return { value: undefined, done: true };
      return { value: line.value.replaceAll(breakSign, "\n"), done: false };
    },
    prompt: () => lines.prompt(),
    onInterrupt: (listener) => void lines.on("SIGINT", listener),
    close,
  };
}

/** What the editor reads from: nothing, since each key is handed to it. It sets the terminal's mode. */
class NoKeys extends PassThrough {
  readonly #terminal: Readable & { setRawMode?: (mode: boolean) => unknown };

  constructor(terminal: Readable) {
    super();
    this.#terminal = terminal;
  }

  setRawMode(mode: boolean): void {
    this.#terminal.setRawMode?.(mode);
  }
}

/** A pasted text as the editor takes it: without control characters, and without a last line break. */
function editable(pasted: string): string {
  return pasted
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/\n+$/, "")
    .replaceAll("\n", breakSign)
    .replace(/(?!\t)\p{Cc}/gu, "");
}

/**
 * Asks a yes-or-no question. Only for an interactive `io`. Enter alone is a no, and so is the end of the input or
 * Ctrl-C.
 */
export async function confirm(io: Io, question: string): Promise<boolean> {
  const lines = createInterface({ input: io.input, output: io.errors, terminal: true });
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  lines.on("SIGINT", () => lines.close());
  try {
    const asked = lines.question(`${question} [y/N] `, { signal: ended.signal });
    return /^\s*y(es)?\s*$/i.test(await asked.catch(() => "no"));
  } finally {
    lines.close();
  }
}
