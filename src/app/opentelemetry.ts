// OpenTelemetry in the program.
import { errorName, isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { Feature } from "./feature.ts";

/** Where every copy of `@opentelemetry/api` 1.x finds the SDK that is registered. */
const registered = Symbol.for("opentelemetry.js.api.1");

export const opentelemetry: Feature = {
  telemetry: async (logger: Logger) => {
    if (!Object.hasOwn(globalThis, registered)) return undefined;
    const { openTelemetry } = await import("../adapters/opentelemetry/open-telemetry.ts");
    try {
      return await openTelemetry();
    } catch (error) {
      if (!isThroughlineError(error, "THROUGHLINE_CONFIGURATION")) throw error;
      const says = "nothing is traced until: npm install @opentelemetry/api";
      logger.warn({ error: errorName(error) }, says);
      return undefined;
    }
  },
};
