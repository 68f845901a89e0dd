import type { FreshnessRules } from "./freshness-options.ts";
import { bucketOf, type SessionState } from "./session-state.ts";
import { instantOf } from "./stamp.ts";

const hourMs = 3_600_000;

/**
 * One sentence for the person about an old session, at every tenth message of the provider. It is
 * shown beside the reply and never goes into what a model is sent. `undefined`: nothing to say.
 *
 * @param now milliseconds since 1970.
 */
export function ageNote(
  state: SessionState,
  provider: string,
  now: number,
  rules: FreshnessRules,
): string | undefined {
  const startedMs = instantOf(state.started_at);
  const count = bucketOf(state, provider).message_count;
  if (rules.sessionAgeWarningMs === 0 || startedMs === undefined) return undefined;
  const ageMs = now - startedMs;
  if (!(ageMs >= rules.sessionAgeWarningMs) || count === 0 || count % 10 !== 0) return undefined;
  return `This session is ${ageText(ageMs)} old. A reset begins a new one and keeps this one readable.`;
}

function ageText(ageMs: number): string {
  const hours = Math.floor(ageMs / hourMs);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours < 1) return "less than an hour";
  return hours === 1 ? "1 hour" : `${hours} hours`;
}
