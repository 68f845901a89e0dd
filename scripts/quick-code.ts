// What makes the published JavaScript start quickly, beside how it is divided into files (chunks.ts).

/**
 * The same code, with escapes in the place of all that is not ASCII. One character beyond Latin-1 has V8 keep a
 * whole file at two bytes a character, read it more slowly, and with it each function that runs for the first time.
 */
export function inAscii(code: string): string {
  // After a backslash, or in a raw text, an escape would be another text. No name holds such.
  const unsafe = /\\[^\0-\x7f]|String\.raw`[^`]*[^`\0-\x7f]/;
  if (unsafe.test(code)) throw new Error("a character cannot be escaped");
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

const nodeImports =
  /^import (?:([\w$]+|\* as [\w$]+)(?:, )?)?(?:\{ (.+) \} )? ?from "(node:[\w/]+)";$/gm;

/**
 * The code of a chunk, with reads of Node's modules in the place of their imports. An `import` of one makes a view
 * of it with every name that it exports, and so evaluates what Node keeps for whoever asks: `node:fs` its streams,
 * `node:util` its parser of arguments, `node:process` the streams of the terminal. That is some 15 ms of a start.
 * What is read from the module itself is only what is used.
 */
export function withoutImportsOfNode(code: string): string {
  const read = code.replaceAll(
    nodeImports,
    (_, whole?: string, names?: string, module?: string) => {
      // Not plain `process`: a chunk may have a name of its own for it.
      const from = `globalThis.process.getBuiltinModule("${module}")`;
      const parts = [whole?.replace("* as ", ""), names && `{ ${names.replaceAll(" as ", ": ")} }`];
      return `const ${parts.flatMap((part) => (part ? [`${part} = ${from}`] : [])).join(", ")};`;
    },
  );
  if (/^(?:import|export) .*"node:/m.test(read)) throw new Error("an import of Node is left");
  return read;
}
