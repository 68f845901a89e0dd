import type { Clock } from "./clock.ts";
import type { NewId } from "./ids.ts";
import type { Logger } from "./logger.ts";
import type { Telemetry } from "./telemetry.ts";
import type { Timers } from "./timers.ts";

/** What the core and its extensions have of the world around them: a test passes its own. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly keepPhotoMetadata?: boolean | undefined;
}
