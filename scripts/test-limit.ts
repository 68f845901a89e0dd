// Loaded into every process of tests: one that hangs, such as for what a failed test left open, ends
// some day as failed, and the others go on.
const longestMs = 20 * 60_000;

setTimeout(() => {
  process.stderr.write(`tests: not done after ${longestMs / 60_000} minutes: given up\n`);
  process.exit(1);
}, longestMs).unref();
