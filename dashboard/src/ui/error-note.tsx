import { detailOf } from "../api/client.ts";
import { Button } from "./button.tsx";

interface ErrorNoteProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** What went wrong, in words, and a way to try again where there is one. */
export function ErrorNote({ error, retry }: ErrorNoteProps) {
  return (
    <div className="error-note" role="alert">
      <p>{detailOf(error)}</p>
      {retry === undefined ? null : (
        <Button kind="quiet" onClick={() => retry()}>
          Try again
        </Button>
      )}
    </div>
  );
}
