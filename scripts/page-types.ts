// The page's types of what goes over the wire, made of api/openapi.json.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./stamp.ts";

/** What api/openapi.json uses of JSON Schema. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly description?: string;
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export const typesFile = join(root, "dashboard/src/api/openapi-types.ts");
const documentFile = join(root, "api/openapi.json");
const header = "// Generated from api/openapi.json: run `npm run generate`.";

/** The types of the committed document, as TypeScript. */
export function pageTypes(): string {
  const { components } = JSON.parse(readFileSync(documentFile, "utf8")) as OpenApi;
  const named = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  const types = named.map(([name, schema]) => {
    return `${commentOf(schema, "")}export type ${name} = ${typeOf(schema, "")};\n`;
  });
  return `${header}\n\n${types.join("\n")}`;
}

/** @param indent of the line that the type begins on. */
function typeOf(schema: Schema, indent: string): string {
  const { $ref, anyOf, enum: values, type } = schema;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf("/") + 1);
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(each, indent)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
  const types = type === undefined ? ["unknown"] : [type].flat();
  return types.map((each) => typeNamed(each, schema, indent)).join(" | ");
}

function typeNamed(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case "unknown":
    case "null":
    case "boolean":
    case "string":
      return type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `readonly ${element(typeOf(schema.items ?? {}, indent))}[]`;
    case "object":
      return objectOf(schema, indent);
    default:
      throw new Error(`a schema has the type ${type}, which this script does not know`);
  }
}

/** An object that may hold more than it names has only the named fields in its type. */
function objectOf(schema: Schema, indent: string): string {
  const { properties = {}, required = [], additionalProperties: more } = schema;
  const fields = Object.entries(properties);
  if (fields.length === 0) {
    const value = typeof more === "object" ? typeOf(more, indent) : "unknown";
    return `Readonly<Record<string, ${value}>>`;
  }
  const inner = `${indent}  `;
  const lines = fields.map(([name, field]) => {
    const type = typeOf(field, inner);
    const isRequired = required.includes(name);
    const member = isRequired ? `${name}: ${type}` : `${name}?: ${type} | undefined`;
    return `${commentOf(field, inner)}${inner}readonly ${member};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

function element(type: string): string {
  return /\||^readonly /.test(type) && !type.startsWith("{") ? `(${type})` : type;
}

function commentOf({ description }: Schema, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description} */\n`;
}
