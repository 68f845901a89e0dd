import "./shell.css";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { connectNow, useConnection } from "../api/events.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName, Mark } from "../ui/icon.tsx";
import { toggleTheme, useTheme } from "../ui/theme.ts";
import { useKeptFocus } from "./kept-focus.ts";
import { useKeptScroll } from "./kept-scroll.ts";
import type { ViewName } from "./routes.ts";

export interface Place {
  readonly view: ViewName;
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
}

interface ShellProps {
  readonly view: ViewName;
  readonly places: readonly Place[];
  /** Above every view. */
  readonly banner: ReactNode;
  readonly children: ReactNode;
}

/** What stays while the views change: where one can go, and how the connection stands. */
export function Shell({ view, places, banner, children }: ShellProps) {
  const content = useRef<HTMLElement>(null);
  useKeptFocus(content);
  useKeptScroll(content);
  useSearchKey();
  const here = view === "chat" ? "chats" : view;
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <nav className="nav" aria-label="Main">
        <Link className="nav-home" to="/" aria-label="Throughline, start page">
          <Mark />
          <span className="nav-brand">Throughline</span>
        </Link>
        <ul>
          {places.map((place) => (
            <li key={place.view}>
              <Link
                className="nav-link"
                to={place.to}
                aria-current={here === place.view ? "page" : undefined}
              >
                <Icon name={place.icon} size={22} />
                <span>{place.name}</span>
              </Link>
            </li>
          ))}
        </ul>
        <ThemeButton />
      </nav>
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

function ThemeButton() {
  const next = useTheme() === "dark" ? "light" : "dark";
  const label = `Switch to ${next} mode`;
  return (
    <Button
      kind="quiet"
      className="button-icon theme-button"
      aria-label={label}
      title={label}
      onClick={toggleTheme}
    >
      <Icon name={next === "dark" ? "moon" : "sun"} />
    </Button>
  );
}

/** Ctrl or Cmd with K searches the chats, from anywhere. */
function useSearchKey(): void {
  const [, navigate] = useLocation();
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const isSearch = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      if (!isSearch || event.shiftKey || event.altKey) return;
      event.preventDefault();
      const field = document.getElementById("chat-search");
      if (field === null) navigate("/chats", { state: { search: true } });
      else field.focus();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate]);
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
