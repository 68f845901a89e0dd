// The description of the API. It is loaded when it is asked for.
import { z } from "zod";
import { problem } from "./answer-schemas.ts";
import { TurnEvents } from "./event-schemas.ts";
import { nothing, type Operation, paramsOf, type Schemas } from "./operation.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** Describes operations, and the events of `GET /api/events` by name, in OpenAPI 3.1. */
export async function describe(
  operations: readonly Operation[],
  events: Schemas,
  version: string,
): Promise<object> {
  const schemas: Record<string, JsonSchema> = {};
  const ServerEvents = z.object(events).meta({
    id: "ServerEvents",
    description: "The data of each event of `GET /api/events`, by the event's name.",
  });
  inJson(ServerEvents, schemas);
  inJson(TurnEvents, schemas);
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const { method, path } = operation;
    paths[path] = { ...paths[path], [method]: await described(operation, schemas) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Throughline",
      version,
      description:
        "The session layer for conversational agents and companions. Every POST needs the Content-Type " +
        "`application/json`, even without a body, and no `Content-Encoding`; sending a message takes " +
        "`multipart/form-data` too. Every error is a problem " +
        "(RFC 9457) with a stable `code`. Fields may be added to answers; none is renamed.",
      license: { name: "MIT" },
    },
    // Where the server has no token, none is asked for.
    security: [{ token: [] }, {}],
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } }, schemas },
    paths,
  };
}

/** Writes a schema as JSON Schema. Those with an id are put into `schemas`, and referred to. */
function inJson(schema: z.ZodType, schemas: Record<string, JsonSchema>): JsonSchema {
  // A schema with an id is referred to only where it is part of another.
  const whole = z.toJSONSchema(z.object({ schema }), {
    io: "input",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      // A whole number in a query has the pattern of its text; every `z.int()` has these bounds.
      if (jsonSchema.type === "integer") delete jsonSchema.pattern;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  const text = JSON.stringify(whole).replaceAll("#/$defs/", "#/components/schemas/");
  const { $defs, properties } = JSON.parse(text) as {
    readonly $defs?: Readonly<Record<string, JsonSchema>>;
    readonly properties: { readonly schema: JsonSchema };
  };
  for (const [id, { id: _, ...named }] of Object.entries($defs ?? {})) schemas[id] = named;
  return properties.schema;
}

/** Describes bytes of a type. A piece of a JSON document is no JSON value, so it may be anything. */
function asBytes(type: string) {
  return { schema: type === "application/json" ? {} : { type: "string" } };
}

/** Takes the same fields, none of them required, and files. */
function formOf(schema: z.ZodType): z.ZodType {
  const file = z.array(z.string().meta({ format: "binary" })).optional();
  return schema instanceof z.ZodObject ? schema.partial().extend({ file }) : schema;
}

async function described(
  operation: Operation,
  schemas: Record<string, JsonSchema>,
): Promise<object> {
  const { method, id, summary, description, query, headers, body, bytes } = operation;
  const responses: Record<string, object> = {};
  for (const [status, { says, schema, types = [] }] of Object.entries(operation.answers)) {
    const content: Record<string, JsonSchema> = {};
    if (schema !== undefined)
      content["application/json"] = { schema: inJson(await schema(), schemas) };
    for (const type of types) content[type] = asBytes(type);
    const hasBody = Object.keys(content).length > 0;
    responses[status] = hasBody ? { description: says, content } : { description: says };
  }
  responses["default"] = {
    description: "What went wrong.",
    content: { "application/problem+json": { schema: inJson(problem, schemas) } },
  };
  const parameters = [
    ...parametersOf("path", paramsOf(operation), schemas),
    ...parametersOf("query", query?.(), schemas),
    ...parametersOf("header", headers?.(), schemas),
  ];
  const about = { operationId: id, summary, description, responses };
  const withParameters = parameters.length > 0 ? { ...about, parameters } : about;
  if (method !== "post" && method !== "put") return withParameters;
  const schema = body?.() ?? nothing();
  const content: Record<string, JsonSchema> = {};
  if (bytes === undefined) content["application/json"] = { schema: inJson(schema, schemas) };
  if (operation.form) content["multipart/form-data"] = { schema: inJson(formOf(schema), schemas) };
  for (const type of bytes ?? []) content[type] = asBytes(type);
  const required = body !== undefined || bytes !== undefined;
  return { ...withParameters, requestBody: { content, required } };
}

function parametersOf(
  place: string,
  all: z.ZodObject | undefined,
  schemas: Record<string, JsonSchema>,
): readonly object[] {
  return Object.entries(all?.shape ?? {}).map(([name, field]) => {
    const { description, ...schema } = inJson(field, schemas);
    return { name, in: place, required: !field.safeParse(undefined).success, description, schema };
  });
}
