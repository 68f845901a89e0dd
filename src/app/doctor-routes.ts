import { z } from "zod";
import { examine } from "../cli/doctor/doctor.ts";
import type { Settings } from "../cli/settings.ts";
import { keptFor } from "../core/clock.ts";
import { ThroughlineError } from "../core/errors.ts";
import type { ServerFeature } from "../server/options.ts";
import { json, type Router } from "../server/router.ts";
import { checkers } from "./features.ts";

const findings = async () => {
  const check = z.object({
    id: z.string(),
    status: z.enum(["ok", "note", "damaged", "failed"]),
    says: z.string().describe("One line for people, with what to do."),
  });
  return z
    .looseObject({ damaged: z.boolean(), failed: z.boolean(), checks: z.array(check) })
    .meta({ id: "Findings" });
};

/** How long an answer counts, in milliseconds: all that is stored is read for it. */
const validMs = 60_000;

/** What `doctor` says of what a running server stores. */
export function doctorRoutes(
  settings: Settings,
  { version, hasToken }: { readonly version: string; readonly hasToken: boolean },
): ServerFeature {
  return (router: Router) => {
    const find = keptFor(validMs, router.ports.clock, async () => {
      return examine(settings, { version, checkers: await checkers(true), isOpen: true });
    });
    router.get("/api/doctor", {
      id: "getFindings",
      summary: "Check everything that is stored; needs a server with a token",
      description:
        "Reads every log, document, attachment and package to its end, once at a time. The answer is kept " +
        "for 60 seconds. `throughline doctor --confirm` takes the ids of what was found.",
      answers: { 200: { says: "What `doctor --json` prints.", schema: findings } },
      answer: async () => {
        if (!hasToken) {
          const message = "this server has no token. Run `throughline doctor` beside it instead";
          throw new ThroughlineError(message, { code: "THROUGHLINE_FORBIDDEN" });
        }
        return json(await find());
      },
    });
    return () => undefined;
  };
}
