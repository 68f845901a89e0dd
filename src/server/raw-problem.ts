// Problems where there is no request that the app could answer: the connection closes after each.
import type { ServerResponse } from "node:http";
import type { Problem } from "./problem.ts";
import { securityHeaders } from "./security-headers.ts";

/** As it goes over the wire. */
export function rawProblem(told: Problem, more: Readonly<Record<string, string>> = {}): string {
  const body = JSON.stringify(told);
  const headers = { ...headersOf(body), ...more };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${told.status} ${told.title}`, ...lines, "", body].join("\r\n");
}

export function writeProblem(outgoing: ServerResponse, told: Problem): void {
  const body = JSON.stringify(told);
  outgoing.writeHead(told.status, headersOf(body)).end(body);
}

function headersOf(body: string) {
  return {
    ...securityHeaders,
    connection: "close",
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
  };
}
