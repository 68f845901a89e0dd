import { errorName, refusedStatus } from "./errors.ts";

/**
 * What the core asks of a logger; pino's fits. Fields hold ids, counts and codes, never what a
 * person said. The one exception: `message` and `stack` of what the application's own code threw.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The same logger, whose failures stop nothing: one that loads what it needs with its first line may throw. */
export function unfailing(logger: Logger): Logger {
  return ofLevels((level) => (fields, message) => {
    try {
      logger[level](fields, message);
    } catch {
      // There is no place left to tell it.
    }
  });
}

function ofLevels(at: (level: keyof Logger) => Logger["error"]): Logger {
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Longest text of an exception in a log line. */
const maxThrownChars = 2_000;

/** Describes what the application's own code threw: the fields of a log line. A refusal has no words there. */
export function thrown(error: unknown): object {
  const isRefusal = refusedStatus(error) !== undefined || errorName(error) === "ResponderError";
  if (isRefusal || !(error instanceof Error)) return { error: errorName(error) };
  const { name, message, stack = "" } = error;
  const cut = (text: string) => text.slice(0, maxThrownChars);
  return { error: name, message: cut(message), stack: cut(stack) };
}

/** Calls back those who watch now. One that throws or rejects is logged: nothing else ends with it. */
export function callBack<A extends readonly unknown[]>(
  watchers: Iterable<(...args: A) => unknown>,
  logger: Logger,
  ...args: A
): void {
  const failed = (error: unknown) => logger.error(thrown(error), "a watcher failed");
  for (const watcher of [...watchers]) {
    try {
      const called = watcher(...args);
      if (called instanceof Promise) called.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** The same logger, without the words of what `thrown` describes. */
export function withoutWords(logger: Logger): Logger {
  return ofLevels((level) => (fields, says) => {
    const { message: _, stack: __, ...rest } = fields as { message?: unknown; stack?: unknown };
    logger[level](rest, says);
  });
}

export const silentLogger: Logger = ofLevels(() => () => undefined);

/** Writes what is logged at `error` on standard error, and nothing else. */
export const standardError: Logger = {
  ...silentLogger,
  error(fields, says) {
    const { stack = "", ...rest } = fields as { readonly stack?: string };
    process.stderr.write(`throughline: ${says} ${JSON.stringify(rest)}\n${stack}\n`);
  },
};
