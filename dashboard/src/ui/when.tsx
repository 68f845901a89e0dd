import { fullTime, relativeTime } from "./relative-time.ts";
import { useNow } from "./use-now.ts";

interface WhenProps {
  /** ISO 8601 or epoch milliseconds. */
  readonly at: string | number;
  readonly className?: string;
}

/** How long ago, kept true while it is in sight; the date and time when pointed at. */
export function When({ at, className }: WhenProps) {
  // Rendered anew for other reasons too, it must not be behind.
  const now = Math.max(useNow(10_000), Date.now());
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return null;
  return (
    <time className={className} dateTime={date.toISOString()} title={fullTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}
