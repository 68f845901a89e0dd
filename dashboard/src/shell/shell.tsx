import "./shell.css";
import { type ReactNode, useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { RecordingBar } from "../moments/capture/recording-bar.tsx";
import { useHasMoments, useLiveBuffers } from "../moments/use-moments.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { toggleTheme, useTheme } from "../ui/theme.ts";
import { ConnectionNote } from "./connection-note.tsx";
import { useKeptFocus } from "./kept-focus.ts";
import { useKeptScroll } from "./kept-scroll.ts";
import { Mark } from "./mark.tsx";
import type { ViewName } from "./routes.ts";

interface Place {
  readonly view: ViewName;
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
}

const places: readonly Place[] = [
  { view: "talk", to: "/", name: "Talk", icon: "talk" },
  { view: "chats", to: "/chats", name: "Chats", icon: "chats" },
  { view: "mood", to: "/mood", name: "Mood", icon: "mood" },
  { view: "waking", to: "/waking", name: "Waking", icon: "waking" },
  { view: "sessions", to: "/sessions", name: "Sessions", icon: "sessions" },
  { view: "memory", to: "/memory", name: "Memory", icon: "memory" },
  { view: "moments", to: "/moments", name: "Moments", icon: "moments" },
];

/** What stays while the views change: where one can go, and how the connection stands. */
export function Shell({
  view,
  children,
}: {
  readonly view: ViewName;
  readonly children: ReactNode;
}) {
  const content = useRef<HTMLElement>(null);
  useKeptFocus(content);
  useKeptScroll(content);
  useSearchKey();
  useLiveBuffers();
  const hasMoments = useHasMoments();
  const shown = places.filter((place) => place.view !== "moments" || hasMoments);
  const here = view === "chat" ? "chats" : view;
  return (
    <div className="shell">
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <nav className="nav" aria-label="Main">
        <Link className="nav-home" to="/" aria-label="Throughline, talk">
          <Mark />
          <span className="nav-brand">Throughline</span>
        </Link>
        <ul>
          {shown.map((place) => (
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
        <RecordingBar />
        <main ref={content} id="content" className="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  );
}

function ThemeButton() {
  const next = useTheme() === "dark" ? "light" : "dark";
  const label = `Show in ${next} colours`;
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
