import type { ReactNode } from "react";

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
}

/** Where there is nothing yet: says so, and what would bring something. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children === undefined ? null : <div className="empty-words">{children}</div>}
    </div>
  );
}
