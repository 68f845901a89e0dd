import { ThroughlineError } from "../errors.ts";
import { aFunction, checkArgument } from "../options.ts";
import type { InputTrigger, OutputSink, SpeechToText } from "./coordinator-ports.ts";

/** Every line is an input, until there are no more. Closing the lines is the caller's part. */
export function textInput(lines: AsyncIterable<string>): InputTrigger {
  checkArgument(Object(lines)[Symbol.asyncIterator], "what iterates over lines", aFunction);
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      const line = await iterator.next();
      return line.done === true ? undefined : { text: line.value };
    },
  };
}

/** For a companion without ears: refuses sound with `THROUGHLINE_MEDIA_TYPE`. */
export const textOnly: SpeechToText = {
  async transcribe() {
    throw new ThroughlineError("Sound cannot be heard here: speech to text is not set up.", {
      code: "THROUGHLINE_MEDIA_TYPE",
    });
  },
};

/**
 * Answers as plain text, each ended by a line break; a turn that was not answered says so in
 * brackets. Control characters of the answer, such as terminal escapes, are left out.
 *
 * @param write What it returns is awaited.
 */
export function textOutput(write: (text: string) => unknown): OutputSink {
  checkArgument(write, "write", aFunction);
  let isLineOpen = false;
  const put = async (text: string) => {
    const plain = text.replace(unsafe, "");
    if (plain === "") return;
    isLineOpen = !plain.endsWith("\n");
    await write(plain);
  };
  return {
    async begin() {
      isLineOpen = false;
    },
    write: put,
    async end({ outcome, reason }) {
      const notes = { answered: "", interrupted: "(interrupted)", failed: "(no answer)" };
      const note = reason === undefined ? notes[outcome] : `(${reason})`;
      if (note !== "") await put(isLineOpen ? ` ${note}` : note);
      if (isLineOpen) await put("\n");
    },
  };
}

const unsafe = /(?![\n\t])\p{Cc}/gu;
