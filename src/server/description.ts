// The description of the API. It is loaded when it is asked for.
import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import { problem } from "./answer-schemas.ts";
import { TurnEvents } from "./event-schemas.ts";
import { type AnyOperation, nothing, type Schemas } from "./operation.ts";

/** These operations, and the events of `GET /api/events` by name, in OpenAPI 3.1. */
export async function describe(
  operations: readonly AnyOperation[],
  events: Schemas,
  version: string,
): Promise<object> {
  const app = new OpenAPIHono();
  const { openAPIRegistry } = app;
  openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  for (const operation of operations) openAPIRegistry.registerPath(await described(operation));
  const ServerEvents = z
    .object(events)
    .openapi({ description: "The data of each event of `GET /api/events`, by the event's name." });
  openAPIRegistry.register("ServerEvents", ServerEvents);
  openAPIRegistry.register("TurnEvents", TurnEvents);
  return app.getOpenAPI31Document({
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
  });
}

/** Bytes of a type. A piece of a JSON document is no JSON value, so it may be anything. */
function asBytes(type: string) {
  return { schema: type === "application/json" ? z.unknown() : z.string() };
}

/** The same fields, none of them required, and files. */
function formOf(schema: z.ZodType): z.ZodType {
  const file = z.array(z.string().meta({ format: "binary" })).optional();
  return schema instanceof z.ZodObject ? schema.partial().extend({ file }) : schema;
}

async function described(
  operation: AnyOperation,
): Promise<Omit<RouteConfig, "middleware" | "hide">> {
  const { method, path, id, summary, description, params, query, headers, body, bytes } = operation;
  const responses: RouteConfig["responses"] = {};
  for (const [status, { says, schema, types = [] }] of Object.entries(operation.answers)) {
    const content: Record<string, { schema: z.ZodType }> = {};
    if (schema !== undefined) content["application/json"] = { schema: await schema() };
    for (const type of types) content[type] = asBytes(type);
    const hasBody = Object.keys(content).length > 0;
    responses[status] = hasBody ? { description: says, content } : { description: says };
  }
  responses["default"] = {
    description: "What went wrong.",
    content: { "application/problem+json": { schema: problem } },
  };
  const schema = body?.() ?? nothing();
  const form = { "multipart/form-data": { schema: formOf(schema) } };
  const content =
    bytes === undefined
      ? { "application/json": { schema }, ...(operation.form ? form : {}) }
      : Object.fromEntries(bytes.map((type) => [type, asBytes(type)]));
  const required = body !== undefined || bytes !== undefined;
  return {
    method,
    path,
    operationId: id,
    summary,
    description,
    responses,
    request: {
      params: params?.(),
      query: query?.(),
      headers: headers?.(),
      body: method === "post" ? { content, required } : undefined,
    },
  } as RouteConfig; // its type has no room for a property that is undefined
}
