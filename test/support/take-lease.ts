// A process of its own for lease.test.ts: takes the lease of the home it is given, prints one line
// of JSON about it, and keeps it until its standard input ends. Every line that it reads is answered
// by what `check` says.
import { createInterface } from "node:readline";
import { isThroughlineError } from "../../src/core/errors.ts";
import { type Lease, takeLease } from "../../src/core/storage/files/lease.ts";

const [, , home = ""] = process.argv;
const startedAt = performance.now();

function attempt(act: () => void): void {
  let answer: object = { held: true };
  try {
    act();
  } catch (error) {
    if (!isThroughlineError(error)) throw error;
    answer = { held: false, code: error.code, message: error.message };
  }
  process.stdout.write(`${JSON.stringify({ ...answer, ms: performance.now() - startedAt })}\n`);
}

let lease: Lease | undefined;
attempt(() => {
  lease = takeLease(home);
});
for await (const _ of createInterface({ input: process.stdin })) attempt(() => lease?.check());
lease?.release();
