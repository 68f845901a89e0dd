import assert from "node:assert/strict";
import { inspect } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import type { Answer } from "./apart.ts";

interface Asked {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

// Thousands of failed calls are part of what is done here: their stacks are what costs.
Error.stackTraceLimit = 2;

assert.ok(parentPort !== null && typeof workerData === "string");
const port = parentPort;
const functions: Record<string, (...args: readonly unknown[]) => unknown> = await import(
  workerData
);

async function answer({ id, name, args }: Asked): Promise<Answer> {
  try {
    return { id, value: await functions[name]?.(...args) };
  } catch (error) {
    return { id, failure: inspect(error) };
  }
}

port.on("message", (asked: Asked) => {
  void answer(asked).then((answered) => port.postMessage(answered));
});
