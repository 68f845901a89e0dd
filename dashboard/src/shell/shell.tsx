import "./shell.css";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { connectNow, useConnection } from "../api/events.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName, Mark } from "../ui/icon.tsx";
import { ThemeMenu } from "../ui/theme-choice.tsx";
import { useKeptFocus } from "./kept-focus.ts";
import { useKeptScroll } from "./kept-scroll.ts";
import type { ViewName } from "./routes.ts";

export interface Place {
  /** It is current while one of them is shown. */
  readonly views: readonly ViewName[];
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
}

interface ShellProps {
  readonly view: ViewName;
  readonly places: readonly Place[];
  /** Above every view. */
  readonly banner: ReactNode;
  /** Between the navigation and the view. */
  readonly beside: ReactNode;
  readonly children: ReactNode;
}

/** What stays while the views change: where one can go, and how the connection stands. */
export function Shell({ view, places, banner, beside, children }: ShellProps) {
  const shell = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLElement>(null);
  useKeptFocus(shell, content);
  useKeptScroll(content);
  return (
    <div ref={shell} className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <nav className="nav" aria-label="Main">
        <Link className="nav-home" to="/" aria-label="Throughline, start page">
          <Mark />
        </Link>
        <ul>
          {places.map((place) => (
            <li key={place.name}>
              <Link
                className="nav-link"
                to={place.to}
                aria-current={place.views.includes(view) ? "page" : undefined}
              >
                <Icon name={place.icon} size={22} />
                <span>{place.name}</span>
              </Link>
            </li>
          ))}
        </ul>
        <ThemeMenu />
      </nav>
      {beside}
      <div className="stage">
        <ConnectionNote />
        {banner}
        <main ref={content} id="content" className="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

/** A server that restarts is usually back sooner. */
const quietMs = 1_200;

/** Says that the server cannot be reached, as long as it cannot. */
function ConnectionNote() {
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
