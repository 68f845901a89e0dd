import type { ReactNode } from "react";
import { Link } from "wouter";
import { Page } from "../ui/page.tsx";
import { ThemeSetting } from "../ui/theme-choice.tsx";

const parts = [
  ["Restart", "/waking"],
  ["Sessions", "/sessions"],
] as const;

interface StatusPageProps {
  readonly part: (typeof parts)[number][0];
  readonly children: ReactNode;
}

/** One part of Status: how the companion started, or what the sessions with providers cost. */
export function StatusPage({ part, children }: StatusPageProps) {
  return (
    <Page title="Status" tabTitle={part} actions={<ThemeSetting />}>
      <nav className="status-parts" aria-label="Status">
        {parts.map(([name, to]) => (
          <Link key={name} to={to} aria-current={name === part ? "page" : undefined}>
            {name}
          </Link>
        ))}
      </nav>
      {children}
    </Page>
  );
}
