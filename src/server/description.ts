// The description of the API. It is loaded when somebody asks for it: what it is made with takes longer
// to load than all that answers requests.
import { OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import * as feedbackAnswers from "../moments/routes/feedback-answer-schemas.ts";
import * as answers from "./answer-schemas.ts";
import * as events from "./event-schemas.ts";
import { type AnswerName, type AnyOperation, nothing } from "./operation.ts";

const schemas = Object.fromEntries(
  [answers, feedbackAnswers].flatMap((file) => Object.entries(file)),
) as Readonly<Record<AnswerName, z.ZodType>>;

/** These operations in OpenAPI 3.1. */
export function describe(operations: readonly AnyOperation[], version: string): object {
  const app = new OpenAPIHono();
  const { openAPIRegistry } = app;
  openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  for (const operation of operations) openAPIRegistry.registerPath(described(operation));
  for (const [name, schema] of Object.entries(events)) openAPIRegistry.register(name, schema);
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      ...{ title: "Throughline", version },
      description:
        "The session layer for conversational agents and companions. Every POST is " +
        "`application/json`, also one that sends nothing, and without a `Content-Encoding`. Every error is a problem (RFC 9457) " +
        "with a stable `code`. Fields may be added to answers; none is renamed.",
      license: { name: "MIT" },
    },
    // Where the server has no token, none is asked for.
    security: [{ token: [] }, {}],
  });
}

/** Under the name of JSON a schema that says text would say a JSON string: a piece is no value at all. */
function asBytes(type: string) {
  return { schema: type === "application/json" ? z.unknown() : z.string() };
}

function described(operation: AnyOperation): Omit<RouteConfig, "middleware" | "hide"> {
  const { method, path, id, summary, description, params, query, headers, body, bytes } = operation;
  const responses: RouteConfig["responses"] = {};
  for (const [status, { says, schema, types = [] }] of Object.entries(operation.answers)) {
    const json =
      schema === undefined ? [] : [["application/json", { schema: schemas[schema] }] as const];
    const content = [...json, ...types.map((type) => [type, asBytes(type)] as const)];
    responses[status] = {
      description: says,
      ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
    };
  }
  responses["default"] = {
    description: "What went wrong.",
    content: { "application/problem+json": { schema: schemas.problem } },
  };
  const content =
    bytes === undefined
      ? { "application/json": { schema: body?.() ?? nothing() } }
      : Object.fromEntries(bytes.map((type) => [type, asBytes(type)]));
  return {
    ...{ method, path, operationId: id, summary, responses },
    ...(description === undefined ? {} : { description }),
    request: {
      ...(params === undefined ? {} : { params: params() }),
      ...(query === undefined ? {} : { query: query() }),
      ...(headers === undefined ? {} : { headers: headers() }),
      ...(method === "post"
        ? { body: { content, required: body !== undefined || bytes !== undefined } }
        : {}),
    },
  };
}
