import { errorName } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/logger.ts";
import type { Cluster } from "../../core/storage/cluster.ts";
import type { Consent } from "../package/record.ts";

/** Moments, as far as what somebody agreed to goes. */
interface Agreeing {
  onAgreed(listener: (consent: Consent, by: "here" | "elsewhere") => void): () => void;
  agreedElsewhere(consent: unknown): Promise<void>;
}

/**
 * What is agreed to at one process holds at all that run: a person who withdraws it does not know
 * which of them they reach.
 *
 * @returns what ends it.
 */
export function agreeWithOthers(cluster: Cluster, moments: Agreeing, logger: Logger): () => void {
  const endAgreed = moments.onAgreed((consent, by) => {
    if (by === "here")
      cluster.publish({ about: "consent", consent: consent as unknown as JsonObject });
  });
  const endTold = cluster.subscribe(({ about, consent }) => {
    if (about !== "consent") return;
    moments.agreedElsewhere(consent).catch((error: unknown) => {
      const fields = { error: errorName(error) };
      logger.error(fields, "what was agreed to at another process is not kept for the next run");
    });
  });
  return () => {
    endAgreed();
    endTold();
  };
}
