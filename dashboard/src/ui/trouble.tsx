import { useConnection } from "../api/events.ts";
import { ErrorNote } from "./error-note.tsx";

interface Props {
  readonly query: {
    readonly data: unknown;
    readonly error: Error | null;
    refetch(): Promise<unknown>;
  };
}

/** Why something could not be asked for. While the page is offline it says so itself, once. */
export function Trouble({ query: { data, error, refetch } }: Props) {
  const connection = useConnection();
  if (error === null || (data !== undefined && connection !== "online")) return null;
  return <ErrorNote error={error} retry={() => void refetch()} />;
}
