// The languages that blocks of code are highlighted in: lowlight's common ones, without loading them.
const languages: readonly (readonly [grammar: string, title: string, aliases: string])[] = [
  ["arduino", "Arduino", "ino"],
  ["bash", "Bash", "sh zsh"],
  ["c", "C", "h"],
  ["cpp", "C++", "cc c++ h++ hpp hh hxx cxx"],
  ["csharp", "C#", "cs c#"],
  ["css", "CSS", ""],
  ["diff", "Diff", "patch"],
  ["go", "Go", "golang"],
  ["graphql", "GraphQL", "gql"],
  ["ini", "INI", ""],
  ["ini", "TOML", "toml"],
  ["java", "Java", "jsp"],
  ["javascript", "JavaScript", "js mjs cjs"],
  ["javascript", "JSX", "jsx"],
  ["json", "JSON", "jsonc json5"],
  ["kotlin", "Kotlin", "kt kts"],
  ["less", "Less", ""],
  ["lua", "Lua", "pluto"],
  ["makefile", "Makefile", "mk mak make"],
  ["markdown", "Markdown", "md mkdown mkd"],
  ["objectivec", "Objective-C", "mm objc obj-c obj-c++ objective-c++"],
  ["perl", "Perl", "pl pm"],
  ["php", "PHP", ""],
  ["php-template", "PHP", ""],
  ["python", "Python", "py gyp ipython"],
  ["python-repl", "Python", "pycon"],
  ["r", "R", ""],
  ["ruby", "Ruby", "rb gemspec podspec thor irb"],
  ["rust", "Rust", "rs"],
  ["scss", "SCSS", ""],
  ["shell", "Shell", "console shellsession"],
  ["sql", "SQL", ""],
  ["swift", "Swift", ""],
  ["typescript", "TypeScript", "ts mts cts"],
  ["typescript", "TSX", "tsx"],
  ["vbnet", "Visual Basic", "vb"],
  ["wasm", "WebAssembly", ""],
  ["xml", "HTML", "html xhtml"],
  ["xml", "SVG", "svg"],
  ["xml", "XML", "rss atom xjb xsd xsl plist wsf"],
  ["yaml", "YAML", "yml"],
];

interface Language {
  /** What lowlight calls it; `undefined`: it knows no such language. */
  readonly grammar: string | undefined;
  /** For people. */
  readonly title: string;
}

/** By each of their names. A grammar's own name has the title that comes last. */
export const byName: ReadonlyMap<string, Language> = new Map(
  languages.flatMap(([grammar, title, aliases]) =>
    [grammar, ...aliases.split(" ")]
      .filter((name) => name !== "")
      .map((name) => [name, { grammar, title }]),
  ),
);

/** Text, or nothing said: not highlighted. */
const plain = ["", "text", "txt", "plain", "plaintext", "none"];

/** The language that a block of code names, as written after its fence. */
export function languageOf(written: string): Language {
  const name = written.toLowerCase();
  if (plain.includes(name)) return { grammar: undefined, title: name === "" ? "Code" : "Text" };
  return byName.get(name) ?? { grammar: undefined, title: written };
}
