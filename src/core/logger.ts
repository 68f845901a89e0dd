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

/**
 * The same logger, whose failures stop nothing: while no file can be opened, for example, a logger
 * that loads what it needs with its first line may throw.
 */
export function unfailing(logger: Logger): Logger {
  const at = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message);
    } catch {
      // There is no place left to tell it.
    }
  };
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

/** Runs a function of the application's, and logs what it throws. @throws what it throws. */
export function ofApplication<T>(logger: Logger, what: string, run: () => T): T {
  const note = (error: unknown): never => {
    logger.error(thrown(error), `${what} threw`);
    throw error;
  };
  try {
    const made = run();
    return made instanceof Promise ? (made.catch(note) as T) : made;
  } catch (error) {
    return note(error);
  }
}

/** The same logger, without the words of what `thrown` describes. */
export function withoutWords(logger: Logger): Logger {
  const at = (level: keyof Logger) => (fields: object, message: string) => {
    const { message: _, stack: __, ...rest } = fields as Record<string, unknown>;
    logger[level](rest, message);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

const silence = () => undefined;
export const silentLogger: Logger = {
  debug: silence,
  info: silence,
  warn: silence,
  error: silence,
};

/** Writes what is logged at `error` on standard error, and nothing else. */
export const standardError: Logger = {
  ...silentLogger,
  error(fields, says) {
    const { stack, ...rest } = fields as { readonly stack?: string };
    process.stderr.write(
      `throughline: ${says} ${JSON.stringify(rest)}\n${stack ? `${stack}\n` : ""}`,
    );
  },
};
