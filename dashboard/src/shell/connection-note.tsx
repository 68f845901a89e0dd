import { useEffect, useState } from "react";
import { connectNow, useConnection } from "../api/events.ts";
import { Button } from "../ui/button.tsx";

/** A server that restarts is usually back sooner. */
const quietMs = 1_200;

/** Says that the server cannot be reached, as long as it cannot. */
export function ConnectionNote() {
  const isOffline = useConnection() === "offline";
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(isOffline), isOffline ? quietMs : 0);
    return () => clearTimeout(timer);
  }, [isOffline]);
  return (
    <div className="connection" role="status">
      {isShown ? (
        <p>
          <span>Can't reach Throughline. Reconnecting…</span>
          <Button kind="quiet" onClick={connectNow}>
            Try now
          </Button>
        </p>
      ) : null}
    </div>
  );
}
