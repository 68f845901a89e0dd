// A package as a tar file (POSIX ustar), written as it is read. No time and no owner goes in: the same
// package makes the same bytes.
const blockBytes = 512;

interface TarPart {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** How long the file becomes, from the lengths of what goes in. */
export function tarBytesOf(sizes: readonly number[]): number {
  const padded = sizes.map((bytes) => blockBytes + bytes + paddingOf(bytes));
  return padded.reduce((sum, bytes) => sum + bytes, 2 * blockBytes);
}

/**
 * The bytes, in one folder. Each part is read when it is its turn.
 *
 * @param failed is called when reading breaks off. The bytes then end in an error, so that they cannot be taken
 *   for whole.
 */
export async function* mediaTar(
  folder: string,
  parts: readonly (() => Promise<TarPart>)[],
  failed: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for (const read of parts) {
      const { path, bytes } = await read();
      yield header(`${folder}/${path}`, bytes.length);
      yield bytes;
      yield new Uint8Array(paddingOf(bytes.length));
    }
    yield new Uint8Array(2 * blockBytes);
  } catch (error) {
    failed(error);
    throw error;
  }
}

/** @param path at most 100 characters of ASCII, as all of ours are. */
function header(path: string, bytes: number): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.write(path, 0, 100, "latin1");
  block.write(`${octal(0o600, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, "latin1");
  block.write(`${octal(bytes, 11)}\0${octal(0, 11)}\0`, 124, "latin1");
  // The sum is made with blanks in its own place.
  block.write("        0", 148, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, "latin1");
  return block;
}

function paddingOf(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}
