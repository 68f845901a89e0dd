import type { Logger } from "../../core/logger.ts";
import type { UploadEvent } from "./uploader-ports.ts";

/** Warns, once for each time that uploads begin to be refused, of what a person can mend. */
export function tellRefusal(logger: Logger, event: UploadEvent): void {
  if (event.type !== "target_parked") return;
  if (event.error.class === "no_client") {
    logger.warn(
      { reason: "no_client" },
      "packages stay on this machine until: npm install @aws-sdk/client-s3",
    );
  } else if (event.error.class === "no_credentials") {
    logger.warn(
      { reason: "no_credentials" },
      "packages stay on this machine until there are credentials for the bucket",
    );
  }
}
