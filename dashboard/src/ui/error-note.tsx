import type { ReactNode } from "react";
import { detailOf } from "../api/client.ts";
import { useConnection } from "../api/events.ts";
import { Button } from "./button.tsx";
import { Loading } from "./page.tsx";

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

interface LoadedProps<Data> {
  readonly query: QueryErrorProps["query"] & {
    readonly data: Data | undefined;
    readonly isPending: boolean;
  };
  /** What is loaded. */
  readonly what: string;
  readonly children: (data: Data) => ReactNode;
}

/** What a query got; before that that it loads, or why it could not. */
export function Loaded<Data>({ query, what, children }: LoadedProps<Data>) {
  return (
    <>
      <QueryError query={query} />
      {query.isPending ? <Loading label={`Loading ${what}`} /> : null}
      {query.data === undefined ? null : children(query.data)}
    </>
  );
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
