import { globSync } from "node:fs";

/**
 * What `npm test` leaves to `npm run verify`: tests of PostgreSQL, programs of others that use a home or a server, and
 * answers of many megabytes. They take a third of the time of all tests.
 */
export const slowTests: readonly string[] = globSync([
  "src/postgres/**/*.test.ts",
  "test/{cluster,postgres,mcp}-*.test.ts",
  "test/{python-agent,robot,telegram-bot,server-large-pages}.test.ts",
]);
