import { globSync } from "node:fs";

/**
 * What `npm test` leaves to `npm run verify`: tests of PostgreSQL, programs, shells and frameworks of others, answers
 * of many megabytes, processes killed at every place of their work, disks that fail or lose power at every call,
 * homes damaged in every way, backups cut short, and long random rounds. They take more than half of the time of
 * all tests. What they kill, cut and damage everywhere has a quicker test in `npm test`.
 */
export const slowTests: readonly string[] = globSync([
  "src/{postgres,app/backup}/**/*.test.ts",
  "src/{app/chats/pages,adapters/langchain/saver,adapters/openai/{kill,run}}.test.ts",
  "src/core/storage/files/{file-file-store.crash,index-journal}.test.ts",
  "test/{cluster,postgres,mcp}-*.test.ts",
  "test/{python-agent,robot,telegram-bot,server-large-pages}.test.ts",
  "test/{turn,open-turn,package}-kill.test.ts",
  "test/{bit-rot,chat-files,disk-faults,home-damage,power-cut}.test.ts",
  "test/{awaited,cli-beside-server,cli-completion,companion-restart,moments-exit}.test.ts",
  "test/{opentelemetry,skips}.test.ts",
]);
