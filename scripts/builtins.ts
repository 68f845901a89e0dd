// How the published JavaScript loads Node's own modules. An `import` of one makes a view of it with
// every name that it exports, and so evaluates what Node keeps for whoever asks: `node:fs` its streams,
// `node:util` its parser of arguments, `node:process` the streams of the terminal. That is some 15 ms of
// a start. What is read from the module itself is only what is used.

const imports =
  /^import (?:([\w$]+|\* as [\w$]+)(?:, )?)?(?:\{ (.+) \} )? ?from "(node:[\w/]+)";$/gm;

/** The code of a chunk, with reads of Node's modules in the place of their imports. */
export function withoutImportsOfNode(code: string): string {
  const read = code.replaceAll(imports, (_, whole?: string, names?: string, module?: string) => {
    // Not plain `process`: a chunk may have a name of its own for it.
    const from = `globalThis.process.getBuiltinModule("${module}")`;
    const parts = [whole?.replace("* as ", ""), names && `{ ${names.replaceAll(" as ", ": ")} }`];
    return `const ${parts.flatMap((part) => (part ? [`${part} = ${from}`] : [])).join(", ")};`;
  });
  if (/^(?:import|export) .*"node:/m.test(read)) throw new Error("an import of Node is left");
  return read;
}
