import { type DestinationStream, pino } from "pino";
import type { Logger } from "../logger.ts";
import type { LogLevel } from "./env.ts";

/** Fields that could hold a secret, should one ever be logged. */
const secrets = ["token", "apiKey", "authorization", "cookie", "password"];

/**
 * One line of JSON per event on stderr, written before the call returns.
 *
 * @param level what `LOG_LEVEL` says; it goes before `standard`, the command's own.
 */
export function openLog(
  level: LogLevel | undefined,
  standard: LogLevel,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger {
  const redact = secrets.flatMap((name) => [name, `*.${name}`]);
  return pino({ level: level ?? standard, redact }, destination);
}
