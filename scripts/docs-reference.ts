// The generated pages of docs/reference: HTTP from the OpenAPI document, the command line from its own
// help, and what each entry point exports from the comments in the source.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { run } from "../src/app/program.ts";
import { readEnvironment, variableHelp } from "../src/cli/env.ts";
import type { Io } from "../src/cli/io.ts";
import { settings, settingsIn } from "../src/cli/settings-table.ts";
import {
  bodiesText,
  exampleOf,
  fenced,
  fieldTable,
  type Schema,
  type Schemas,
  table,
  typeOf,
} from "./docs-bodies.ts";

/** Every generated page of docs/reference, by the name of its part. */
export async function referenceParts(): Promise<Readonly<Record<string, string>>> {
  return {
    http: httpReference(),
    cli: await cliReference(),
    exports: exportsReference(),
    "configuration-keys": configurationKeys(),
    environment: fenced(`${variableHelp}\n`, "text"),
  };
}

/** The keys of the configuration file, from the table of all settings. */
function configurationKeys(): string {
  const code = (text: string) => text.replace(/[^\s,]*[<_/][^\s,]*/g, "`$&`");
  const rows = settingsIn("key").map(([name, key]) => {
    const { form, check, standard = "none", help } = settings[name];
    return [`\`${key}\``, code(form ?? check[0]), standard, help];
  });
  return table(["key", "value", "default", "meaning"], rows);
}

interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { description: string; content?: Readonly<Record<string, { schema: Schema }>> }>
  >;
}

function httpReference(): string {
  const { paths, components } = JSON.parse(readFileSync("api/openapi.json", "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Schemas };
  };
  const groups = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    const [, first = "", second = ""] = path.split("/");
    const group = first === "api" ? second : "service";
    for (const [method, operation] of Object.entries(operations)) {
      const text = operationText(`${method.toUpperCase()} ${path}`, operation, components.schemas);
      groups.set(group, [...(groups.get(group) ?? []), text]);
    }
  }
  const routes = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([group, operations]) => `## ${group}\n\n${operations.join("\n")}`);
  return [...routes, `## Bodies\n\n${bodiesText(components.schemas)}`].join("\n");
}

function operationText(name: string, operation: Operation, schemas: Schemas): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map((each) => {
    const where = each.required ? `${each.in}, required` : each.in;
    return [`\`${each.name}\``, where, typeOf(each.schema), each.description ?? ""];
  });
  const bodies = Object.entries(requestBody?.content ?? {}).map(
    ([type, { schema }]) => `\`${type}\` ${typeOf(schema)}`,
  );
  const answers = Object.entries(responses)
    .filter(([status]) => status !== "default")
    .map(([status, { description: says, content = {} }]) => {
      const types = Object.entries(content).map(
        ([type, { schema }]) => `\`${type}\` ${typeOf(schema)}`,
      );
      return [status, says, types.join(", ")];
    });
  const parts = [
    `### ${name.replace(/[{}]/g, (brace) => `\\${brace}`)}\n\n${summary}.\n`,
    description === undefined ? "" : `${description}\n`,
    rows.length === 0 ? "" : table(["parameter", "in", "type", "meaning"], rows),
    bodies.length === 0 ? "" : `Body: ${bodies.join(", or ")}\n`,
    fieldTable(requestBody?.content["application/json"]?.schema ?? {}),
    table(["status", "when", "body"], answers),
    exampleText(operation, schemas),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** What to send, or what comes back from a route that takes no fields. */
function exampleText({ requestBody, responses }: Operation, schemas: Schemas): string {
  const json = "application/json";
  const shown = (says: string, schema: Schema | undefined) => {
    const example = schema === undefined ? {} : exampleOf(schema, schemas);
    if (Object.keys(example as object).length === 0) return undefined;
    return `${says}:\n\n${fenced(`${JSON.stringify(example)}\n`, "json")}`;
  };
  const sent = shown("Send", requestBody?.content[json]?.schema);
  const [, answer] = Object.entries(responses).find(([status]) => /^2/.test(status)) ?? [];
  return sent ?? shown("Answer", answer?.content?.[json]?.schema) ?? "";
}

async function cliReference(): Promise<string> {
  const top = await helpOf([]);
  const parts = [`## throughline\n\n${fenced(top, "text")}`];
  for (const name of commandsIn(top)) {
    const help = await helpOf([name]);
    parts.push(`## throughline ${name}\n\n${fenced(help, "text")}`);
    for (const part of commandsIn(help)) {
      const text = await helpOf([name, part]);
      parts.push(`### throughline ${name} ${part}\n\n${fenced(text, "text")}`);
    }
  }
  return parts.join("\n");
}

/** The names of the commands that a help text lists. */
function commandsIn(help: string): readonly string[] {
  const [, list = ""] = /^Commands:\n((?: {2}.*\n)+)/m.exec(help) ?? [];
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = ""]) => name);
  return names.filter((name) => name !== "help");
}

async function helpOf(command: readonly string[]): Promise<string> {
  let text = "";
  const output = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString();
      done();
    },
  });
  const io = { output, errors: output } as unknown as Io;
  await run([...command, "--help"], io, () => readEnvironment({}, "/home/you"));
  return text.endsWith("\n") ? text : `${text}\n`;
}

function exportsReference(): string {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const parts: string[] = [];
  for (const [entry, target] of Object.entries(exports)) {
    if (typeof target === "string") continue;
    const path = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
    const rows = exportsOf(path).map(({ name, kind, says }) => [`\`${name}\``, kind, says]);
    parts.push(`## throughline${entry.slice(1)}\n\n${table(["name", "is", "what"], rows)}`);
  }
  return parts.join("\n");
}

interface Exported {
  readonly name: string;
  readonly kind: string;
  readonly says: string;
}

const kinds = "^export (?:async |abstract )?(function\\*?|class|const|interface|type)";

/** What a module exports, by name: its own declarations and those that it passes on. */
function exportsOf(path: string): readonly Exported[] {
  const source = readFileSync(path, "utf8");
  const own = source.matchAll(new RegExp(`${kinds} (\\w+)`, "gm"));
  const passedOn = source.matchAll(/^export (?:type )?\{([^}]*)\}/gm);
  const names = [
    ...Array.from(own, ([, , name = ""]) => name),
    ...Array.from(passedOn, ([, list = ""]) => list.split(",")).flat(),
  ].map((name) => name.trim().replace(/^type /, ""));
  return names
    .filter((name) => name !== "")
    .map((name) => declarationOf(name, path))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** The kind of a declaration, and the first sentence of its comment: here, or where its name comes from. */
function declarationOf(name: string, path: string): Exported {
  const source = readFileSync(path, "utf8");
  const pattern = `(?:/\\*\\*((?:(?!\\*/)[\\s\\S])*?)\\*/\\n)?${kinds} ${name}\\b`;
  const [, comment = "", kind] = new RegExp(pattern, "m").exec(source) ?? [];
  if (kind === undefined) {
    const list = `^(?:import|export) (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from "([^"]+)"`;
    const [, from] = new RegExp(list, "m").exec(source) ?? [];
    if (from === undefined) throw new TypeError(`nothing declares ${name}`);
    return declarationOf(name, join(dirname(path), from));
  }
  const text = comment
    .replace(/^\s*\*\s?/gm, "")
    .trim()
    .replace(/\s*\n\s*/g, " ");
  const [sentence = ""] = /^.*?[.:](?=\s|$)/.exec(text) ?? [text];
  return { name, kind, says: sentence.replace(/:$/, ".") };
}
