import { z } from "zod";
import { estimateTokens } from "../core/chat/model-row.ts";
import { invalid } from "../core/errors.ts";
import type { ServerFeature } from "../server/options.ts";
import { json, type Router } from "../server/router.ts";
import { version } from "../server/schemas.ts";
import type { HomePersona } from "./home-persona.ts";

export const personaState = async () => {
  const { editedFields } = await import("../server/answer-schemas.ts");
  return z
    .object({
      persona: z.string().describe("What models get now."),
      source: z.enum(["file", "configuration", "built-in"]),
      default: z.string().describe("Who answers if there is no `persona.md`."),
      ...editedFields,
    })
    .meta({ id: "Persona" });
};

export const personaBody = () =>
  z
    .strictObject({
      persona: z.string().nullable().meta({
        description: "The new text of `persona.md`. `null` removes the file.",
      }),
      version: version(),
    })
    .meta({ id: "PersonaChange" });

/** The persona of a home over HTTP: read, and edited. */
export function personaRoutes(persona: HomePersona): ServerFeature {
  return (router: Router) => {
    const { isShared } = router.ports.throughline.storage.cluster;
    const view = () => {
      const state = persona.state();
      const tokens = estimateTokens(Buffer.byteLength(state.persona));
      return { ...state, tokens, this_server_only: isShared };
    };
    router.get("/api/persona", {
      id: "getPersona",
      summary: "Get the persona: who answers",
      answers: { 200: { says: "The persona as it is now.", schema: personaState } },
      answer: () => json(view()),
    });
    router.post("/api/persona", {
      id: "setPersona",
      body: personaBody,
      summary: "Change the persona",
      description:
        "Writes `persona.md` of the home. The next answer uses it. 409: the file was changed since " +
        "`version` was read, or this server keeps nothing; nothing was changed.",
      answers: { 200: { says: "The persona as it is now.", schema: personaState } },
      answer: ({ body }) => {
        if (body.persona?.trim() === "") {
          throw invalid("persona must have text. Send null to use the default");
        }
        persona.write(body.persona ?? undefined, body.version);
        return json(view());
      },
    });
    return () => undefined;
  };
}
