import { useEffect, useState } from "react";
import { fullTime, relativeTime } from "./in-words.ts";

interface WhenProps {
  /** ISO 8601 or epoch milliseconds. */
  readonly at: string | number;
  readonly className?: string | undefined;
}

/** How long ago, kept true while it is in sight; the date and time when pointed at. */
export function When({ at, className }: WhenProps) {
  // It is also rendered for other reasons, and must not be behind then.
  const now = Math.max(useNow(10_000), Date.now());
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return null;
  return (
    <time className={className} dateTime={date.toISOString()} title={fullTime(at)}>
      {relativeTime(at, now)}
    </time>
  );
}

/** The time, in epoch milliseconds; the component is rendered again each time it has moved on. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
