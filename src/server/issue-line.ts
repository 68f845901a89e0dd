import { z } from "zod";

/** Names the place and what is wanted there; never the value. */
export function issueLine(issue: z.core.$ZodIssue, where: string, schema: z.ZodType): string {
  const place = issue.path.map(String).join(".");
  return `${place === "" ? where : place}: ${wordsOf(issue, schema)}`;
}

function unknownFields(keys: readonly string[], known: readonly string[]): string {
  const names = keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 40)));
  const all = known.length === 0 ? "it takes none" : `the fields are ${known.join(", ")}`;
  return `unknown field ${names.join(", ")}; ${all}`;
}

/** Lists the names that an object may have at a place of a schema. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let at: unknown = schema;
  for (const step of [...path, undefined]) {
    while (at instanceof z.ZodOptional || at instanceof z.ZodNullable) at = at.unwrap();
    if (step === undefined) break;
    if (at instanceof z.ZodArray) at = at.element;
    else if (at instanceof z.ZodObject) at = at.shape[step as string];
  }
  return at instanceof z.ZodObject ? Object.keys(at.shape) : [];
}

/** How the library's own messages begin. */
const notOurs = /^(Invalid (input|option|string)|Too (small|big)): /;
const types: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** What is wanted, in our words where a schema has none of its own. */
function wordsOf(issue: z.core.$ZodIssue, schema: z.ZodType): string {
  const { code, message } = issue;
  if (code === "unrecognized_keys") return unknownFields(issue.keys, fieldsAt(schema, issue.path));
  if (!notOurs.test(message)) return message;
  if (message.endsWith("received undefined")) return "is missing";
  if (code === "invalid_type") return `must be ${types[issue.expected] ?? issue.expected}`;
  if (code === "invalid_format") return "has another form than is wanted";
  if (code === "invalid_value") return `must be ${issue.values.map(String).join(" or ")}`;
  if (code === "too_small") {
    const bound = issue.inclusive === false ? "more than" : "at least";
    return `must be ${bound} ${amount(issue.minimum, issue.origin)}`;
  }
  if (code === "too_big") {
    const bound = issue.inclusive === false ? "less than" : "at most";
    return `must be ${bound} ${amount(issue.maximum, issue.origin)}`;
  }
  return message;
}

function amount(count: number | bigint, origin: string): string {
  if (origin !== "string") return `${count}`;
  return count === 1 ? "1 character" : `${count} characters`;
}
