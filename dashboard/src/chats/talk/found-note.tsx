import type { RefCallback } from "react";
import { Button } from "../../ui/button.tsx";
import type { Found } from "./use-found.ts";

interface FoundNoteProps {
  readonly found: Found;
  readonly leaving: RefCallback<HTMLElement>;
}

const reasons = {
  gone: "The message that was found is no longer shown here: it was removed, cleared or replaced.",
  far: "The message that was found lies too far back to be shown here.",
  failed: "The message that was found did not come.",
} as const;

/** Why the chat was not opened at the message that was found. */
export function FoundNote({ found, leaving }: FoundNoteProps) {
  const { outcome } = found;
  if (outcome === "none" || outcome === "seeking" || outcome === "there") return null;
  return (
    <section className="offer" aria-label="The message that was found">
      <p role="alert">{reasons[outcome]}</p>
      <div>
        {outcome === "failed" ? (
          <Button kind="quiet" onClick={found.again}>
            Try again
          </Button>
        ) : null}
        <Button ref={leaving} kind="quiet" onClick={found.leave}>
          Close
        </Button>
      </div>
    </section>
  );
}
