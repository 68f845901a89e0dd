// The persona as it goes out over the wire, for the description of the API alone.
import { z } from "zod";
import { editedFields } from "../server/answer-schemas.ts";

export const personaState = z
  .object({
    persona: z.string().describe("What models get now."),
    source: z.enum(["file", "configuration", "built-in"]),
    default: z.string().describe("Who answers if there is no `persona.md`."),
    ...editedFields,
  })
  .meta({ id: "Persona" });
