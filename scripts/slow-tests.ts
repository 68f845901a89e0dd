import { globSync } from "node:fs";

/**
 * What `npm test` leaves to `npm run verify`: tests of PostgreSQL, of programs, shells and frameworks of others, of
 * processes that are started or killed, of disks that fail or lose power at every call, of homes damaged in every way,
 * of backups cut short, of answers of many megabytes, and long random rounds. They take more than half of the time of
 * all tests. What they start, kill, cut and damage in every way has a quicker test in `npm test`.
 */
export const slowTests: readonly string[] = globSync([
  "src/{postgres,app/backup}/**/*.test.ts",
  "src/{app/program,app/chats/pages,interchange/commands/export}.test.ts",
  "src/adapters/{langchain/{saver,removed-messages},openai/{kill,routes,run}}.test.ts",
  "src/core/storage/files/{file-file-store.crash,index,index-journal,journal,rewrite}.test.ts",
  "test/{cluster,postgres,mcp}-*.test.ts",
  "test/{python-agent,robot,telegram-bot,server-large-pages}.test.ts",
  "test/{turn,open-turn,package}-kill.test.ts",
  "test/{bit-rot,chat-files,disk-faults,home-damage,power-cut}.test.ts",
  "test/{awaited,lease,moments-exit,opentelemetry,server-start,skips}.test.ts",
  "test/cli-{beside-server,chat,completion}.test.ts",
  "test/{companion-restart,companion-shared.model,forget-beside-search}.test.ts",
]);
