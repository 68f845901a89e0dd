// A module that is loaded when it is needed, and lies in a chunk with others, gets a file of its own
// from the bundler that only passes on its names. Whoever loads it asks for the chunk itself here: each
// file on the way takes some 0.5 ms of a start.

interface Chunk {
  readonly fileName: string;
  readonly code: string;
  readonly isEntry: boolean;
}

const passesOn = /^export \{ (.+) \} from "\.\/([\w-]+\.js)";\s*$/;
const imports = /\bimport\("([\w./-]+\/)([\w-]+\.js)"\)/g;

/** The same chunks without those that only pass names on, and with imports that go where they led. */
export function withoutDetours<C extends Chunk>(chunks: readonly C[]): readonly C[] {
  const detours = new Map<string, string>();
  for (const { fileName, code, isEntry } of chunks) {
    const [, names, target] = passesOn.exec(code) ?? [];
    if (isEntry || names === undefined || target === undefined) continue;
    const fields = names.split(", ").map((name) => {
      const [from, to = from] = name.split(" as ");
      return `${to}: chunk.${from}`;
    });
    const then = `.then((chunk) => ({ ${fields.join(", ")} }))`;
    detours.set(fileName.split("/").at(-1) ?? "", `${target}")${then}`);
  }
  return chunks
    .filter(({ fileName }) => !detours.has(fileName.split("/").at(-1) ?? ""))
    .map((chunk) => ({
      ...chunk,
      code: chunk.code.replaceAll(imports, (whole, folder: string, name: string) => {
        const direct = detours.get(name);
        return direct === undefined ? whole : `import("${folder}${direct}`;
      }),
    }));
}
