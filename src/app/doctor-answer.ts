// What doctor finds as it goes out over the wire, for the description of the API alone.
import { z } from "@hono/zod-openapi";

const check = z.object({
  id: z.string(),
  status: z.enum(["ok", "note", "damaged", "failed"]),
  says: z.string().openapi({ description: "One line for people, with what to do." }),
});

export const findings = z
  .looseObject({ damaged: z.boolean(), failed: z.boolean(), checks: z.array(check) })
  .openapi("Findings");
