/**
 * What the core asks of a logger; pino's fits. Fields hold ids, counts and codes, never what a
 * person said.
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

const silence = () => undefined;
export const silentLogger: Logger = {
  debug: silence,
  info: silence,
  warn: silence,
  error: silence,
};
