// What doctor finds as it goes out over the wire, for the description of the API alone.
import { z } from "zod";

const check = z.object({
  id: z.string(),
  status: z.enum(["ok", "note", "damaged", "failed"]),
  says: z.string().describe("One line for people, with what to do."),
});

export const findings = z
  .looseObject({ damaged: z.boolean(), failed: z.boolean(), checks: z.array(check) })
  .meta({ id: "Findings" });
