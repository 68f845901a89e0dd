// The command line as tests start it in a process of its own.
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Under `npm test` and `npm run verify`, which build first, the program that users get; or the source. */
export const program = join(
  root,
  process.env["THROUGHLINE_BUILT"] === "1" ? "dist/app/main.js" : "src/app/main.ts",
);

/** Where processes find what others compiled, so that starts take half the time. */
export const compileCache =
  process.env["NODE_COMPILE_CACHE"] ?? join(root, "node_modules/.cache/throughline");
