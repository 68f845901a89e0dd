import { createRequire } from "node:module";
import type { DestinationStream, Logger as Pino } from "pino";
import { type Logger, unfailing, withoutWords } from "../core/logger.ts";
import { type LogLevel, logLevels } from "./settings-table.ts";

/** Fields that could hold a secret, should one ever be logged. */
const secrets = ["token", "apiKey", "authorization", "cookie", "password"];

/**
 * One line of JSON per event on stderr, written before the call returns. It holds no words: all code here is ours.
 *
 * @param level what `LOG_LEVEL` says; it goes before `standard`, the command's own.
 */
export function openLog(
  level: LogLevel | undefined,
  standard: LogLevel,
  destination?: DestinationStream,
): Logger {
  const lowest = level ?? standard;
  let opened: Pino | undefined;
  /** Logs at a level. What writes is loaded with the first line: many runs have none. */
  const at = (name: keyof Logger) => {
    if (logLevels.indexOf(name) < logLevels.indexOf(lowest)) return () => undefined;
    return (fields: object, message: string) => {
      opened ??= openPino(lowest, destination);
      opened[name](fields, message);
    };
  };
  const logger = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  return unfailing(withoutWords(logger));
}

function openPino(level: LogLevel, destination: DestinationStream | undefined): Pino {
  const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
  const redact = secrets.flatMap((name) => [name, `*.${name}`]);
  return pino({ level, redact }, destination ?? pino.destination({ fd: 2, sync: true }));
}
