import { classify } from "./error-class.ts";
import { S3Error } from "./s3-port.ts";
import { UploadStop } from "./upload-stop.ts";

/** How often right bytes are sent that the service calls wrong. */
const attempts = 3;

/**
 * Sends until the service agrees on what arrived. `send` reads and compares its bytes each time,
 * and returns `undefined` where the answer names another digest.
 *
 * @throws `UploadStop` `digest`: three times over.
 */
export async function untilDigestHolds<T>(send: () => Promise<T | undefined>): Promise<T> {
  let cause: unknown;
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const answer = await send();
      if (answer !== undefined) return answer;
      cause = undefined;
    } catch (error) {
      if (!(error instanceof S3Error) || classify(error) !== "digest") throw error;
      cause = error;
    }
  }
  throw new UploadStop("digest", { cause });
}
