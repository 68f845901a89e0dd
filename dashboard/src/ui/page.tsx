import { type ReactNode, useEffect } from "react";

/** Sets the title of the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Throughline`;
  }, [title]);
}

interface PageProps {
  readonly title: string;
  /** The title of the browser tab. @default `title` */
  readonly tabTitle?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** One view: its heading, what can be done with the whole of it, and its content. */
export function Page({ title, tabTitle = title, actions, children }: PageProps) {
  useTitle(tabTitle);
  return (
    <div className="page">
      <header className="spread page-head">
        <h1>{title}</h1>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </header>
      <div className="page-body">{children}</div>
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
}

/** Stands where there is nothing yet, and says what would change that. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children === undefined ? null : <div className="empty-words">{children}</div>}
    </div>
  );
}

/** Appears only after a moment, so that fast answers do not flicker. */
export function Loading({ label = "Loading" }: { readonly label?: string }) {
  return (
    <div className="loading" role="status">
      <span className="loading-dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span className="visually-hidden">{label}</span>
    </div>
  );
}
