import { detailOf } from "../api/client.ts";
import { useConnection } from "../api/events.ts";
import { Button } from "./button.tsx";

interface ErrorNoteProps {
  readonly error: unknown;
  readonly retry?: (() => void) | undefined;
}

/** Shows an error, and a way to try again where there is one; nothing if `error` is `null`. */
export function ErrorNote({ error, retry }: ErrorNoteProps) {
  if (error === null) return null;
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

interface QueryErrorProps {
  readonly query: {
    readonly data: unknown;
    readonly error: Error | null;
    refetch(): Promise<unknown>;
  };
}

/** Why something could not be loaded. While the page is offline it says so itself, once. */
export function QueryError({ query: { data, error, refetch } }: QueryErrorProps) {
  const connection = useConnection();
  if (data !== undefined && connection !== "online") return null;
  return <ErrorNote error={error} retry={() => void refetch()} />;
}

/** The provider's own message about a failure, folded. */
export function ProviderWords({ words }: { readonly words: string | undefined }) {
  if (words === undefined || words === "") return null;
  return (
    <details className="provider-words">
      <summary>What the provider said</summary>
      <p dir="auto">{words}</p>
    </details>
  );
}
