const lineFeed = 0x0a;

/** A line as it lies in the file, without its line feed. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Of its first byte, from the start of the file. */
  readonly offset: number;
  readonly bytes: Uint8Array;
  /**
   * `"whole"`: the bytes are the line. A longer line comes in pieces, `"start"` and then `"rest"`,
   * so that it needs no more memory than its pieces do.
   */
  readonly part: "whole" | "start" | "rest";
}

/**
 * Splits bytes at 0x0A and at nothing else: U+2028 and a bare CR are what somebody said. An empty
 * last line is no line. Lines of up to `maxBytes` come whole.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Line> {
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  let number = 1;
  let offset = 0;
  let isLong = false;
  const take = (part: Line["part"]): Line => {
    const line = { number, offset, bytes: Buffer.concat(kept), part };
    offset += keptBytes;
    kept = [];
    keptBytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(lineFeed, from);
      const piece = chunk.subarray(from, end === -1 ? chunk.length : end);
      kept.push(piece);
      keptBytes += piece.length;
      if (keptBytes > maxBytes) {
        yield take(isLong ? "rest" : "start");
        isLong = true;
      }
      if (end === -1) break;
      if (!isLong) yield take("whole");
      else if (keptBytes > 0) yield take("rest");
      kept = [];
      offset++;
      number++;
      isLong = false;
      from = end + 1;
    }
  }
  if (keptBytes > 0) yield take(isLong ? "rest" : "whole");
}
