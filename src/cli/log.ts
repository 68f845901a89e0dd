import { pino } from "pino";
import type { Logger } from "../logger.ts";
import type { LogLevel } from "./env.ts";

/** Fields that could hold a secret, should one ever be logged. */
const secrets = ["token", "apiKey", "authorization", "password"];

/** One line of JSON per event on stderr. `LOG_LEVEL` goes before the command's own level. */
export function openLog(level: LogLevel | undefined, standard: LogLevel): Logger {
  const redact = secrets.flatMap((name) => [name, `*.${name}`]);
  return pino({ level: level ?? standard, redact }, pino.destination({ fd: 2, sync: true }));
}
