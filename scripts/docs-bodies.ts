// The Markdown that the generated parts of docs/ are made of; and the fields of the bodies in
// docs/reference/http.md, with one example of each, from their JSON Schemas.

type Row = readonly (string | number)[];

export function table(head: readonly string[], rows: readonly Row[]): string {
  const line = (cells: Row) =>
    `| ${cells.map((cell) => String(cell).replace(/`[^`|]*`|[|<]/g, escaped)).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}

/** A code span shows its characters as they are. */
const escaped = (part: string) => (part.startsWith("`") ? part : `\\${part}`);

export const fenced = (lines: string, language = "jsonl") => `\`\`\`${language}\n${lines}\`\`\`\n`;

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Values for fields whose schema has no example of its own. */
const samples: Readonly<Record<string, unknown>> = {
  at: "2026-03-04T09:15:00.000Z",
  chat_id: "local:me",
  client: "nova",
  code: "7Q4M-2XKD",
  content: "Is the lamp on?",
  created_at: "2026-03-04T09:15:00.000Z",
  event: "pat_level2",
  id: "m1",
  ids: ["m1"],
  intent: "QUESTION",
  last_active: "2026-03-04T09:15:00.000Z",
  message_id: "m1",
  metadata: { user_timezone: "Europe/Berlin" },
  model: "gpt-5-mini",
  mood: "calm",
  name: "Ann",
  persona: "You are kind.",
  facts: "Ann likes tea.",
  provider: "openai",
  reason: "still_valid",
  role: "user",
  seq: 7,
  session_id: "session-1",
  summary: "They spoke about the lamp.",
  timestamp: "2026-03-04T09:15:00.000Z",
  title: "The lamp",
  turn_id: "m1",
  up_to_seq: 7,
  what: "told a funny joke",
};

const on = { provider: "openai", model: "gpt-5-mini" };
const said = { id: "m1-1", role: "assistant", content: "It is on." };

/** Examples of bodies whose fields depend on each other, by the name of the body. */
const examples: Readonly<Record<string, unknown>> = {
  Answering: on,
  Compact: { summary: "They spoke about the lamp.", up_to_seq: 1, last_consolidated: 0 },
  OpenTurn: { id: "m1", content: "Is the lamp on?", ...on },
  SessionUsage: { ...on, generation: 1, bucket_generation: 1, tokens: 45, cost_usd: 0.001 },
  TurnEnd: {
    messages: [said],
    usage: { input_tokens: 40, output_tokens: 5, cost_usd: 0.001 },
    session_id: "session-1",
  },
  TurnSteps: { messages: [said] },
};

function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : { ...schemas[name], ...schema };
}

/** A value that the schema allows: with its required fields, or the first one if it requires none. */
export function exampleOf(given: Schema, schemas: Schemas, name = ""): unknown {
  const schema = resolved(given, schemas);
  const example = examples[given.$ref?.split("/").at(-1) ?? ""];
  const { const: only, enum: [first] = [], anyOf, properties } = schema;
  if (example !== undefined) return example;
  if (only !== undefined || first !== undefined) return only ?? first;
  const { required = [], items, minimum = 0 } = schema;
  const type = [schema.type ?? "object"].flat()[0];
  if (Object.hasOwn(samples, name) && type !== "boolean") return samples[name];
  if (anyOf?.[0] !== undefined) return exampleOf(anyOf[0], schemas, name);
  if (type === "array") return items === undefined ? [] : [exampleOf(items, schemas, name)];
  if (type === "string") return "text";
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return Math.max(minimum, 1);
  if (type === "null") return null;
  const shown = Object.entries(properties ?? {}).filter(([field], index) =>
    required.length === 0 ? index === 0 : required.includes(field),
  );
  return Object.fromEntries(
    shown.map(([field, each]) => [field, exampleOf(each, schemas, field)] as const),
  );
}

export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  const { minimum, maximum, maxLength } = schema;
  const type = [schema.type ?? "object"].flat().join(" or ");
  if (minimum !== undefined && maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
    return `${type}, ${minimum} to ${maximum}`;
  return maxLength === undefined ? type : `${type}, at most ${maxLength} characters`;
}

/** The fields of an object, and those of the objects in it that have no name, as `field.inner`. */
export function fieldTable(schema: Schema): string {
  const rows = rowsOf(schema, "");
  return rows.length === 0 ? "" : table(["field", "type", "meaning"], rows);
}

function rowsOf(schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const needed = schema.required?.includes(name) === true ? ", required" : "";
    const isList = field.items !== undefined;
    const inner = field.items ?? field;
    const own = [`\`${prefix}${name}\``, `${typeOf(field)}${needed}`, field.description ?? ""];
    return [own, ...rowsOf(inner, `${prefix}${name}${isList ? "[]" : ""}.`)];
  });
}

/** Every named body, by its name, with its fields. */
export function bodiesText(schemas: Schemas): string {
  const names = Object.keys(schemas).sort((a, b) => a.localeCompare(b));
  return names
    .map((name) => {
      const schema = schemas[name] ?? {};
      const says = schema.description === undefined ? "" : `${schema.description}\n`;
      const parts = [`### ${name}\n`, says, fieldTable(schema)];
      return parts.filter((part) => part !== "").join("\n");
    })
    .join("\n");
}
