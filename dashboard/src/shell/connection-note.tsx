import { useEffect, useState } from "react";
import { connectNow, useConnection } from "../api/events.ts";
import { Button } from "../ui/button.tsx";

/** A server that restarts is back before anybody needs to read of it. */
const quietMs = 1_200;

/** Says that the server does not answer, and that the page keeps trying. */
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
          <span>The companion does not answer. This page keeps trying.</span>
          <Button kind="quiet" onClick={connectNow}>
            Try now
          </Button>
        </p>
      ) : null}
    </div>
  );
}
