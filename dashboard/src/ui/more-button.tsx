import { type ReactNode, type RefObject, useEffect, useState } from "react";
import { Button } from "./button.tsx";

interface MoreButtonProps {
  readonly list: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): Promise<{ readonly isError: boolean }>;
  };
  /** The parent of the rows. */
  readonly rows: RefObject<HTMLElement | null>;
  readonly children: ReactNode;
}

/** Loads the next page of a list, and moves the focus to its first row. */
export function MoreButton({ list, rows, children }: MoreButtonProps) {
  const { hasNextPage, isFetchingNextPage: isBusy } = list;
  const [asked, setAsked] = useState<{ readonly at: number; readonly by: Element }>();
  // After every render: the rows come when they come.
  useEffect(() => {
    const first = asked && rows.current?.children[asked.at];
    if (first === undefined) return;
    setAsked(undefined);
    // Not if the focus was moved elsewhere since.
    const { activeElement } = document;
    const isWaiting = activeElement === asked?.by || activeElement?.contains(first) === true;
    if (isWaiting) first.querySelector<HTMLElement>("a, button")?.focus();
  });
  if (!hasNextPage) return null;
  async function more(by: Element): Promise<void> {
    setAsked({ at: rows.current?.childElementCount ?? 0, by });
    const { isError } = await list.fetchNextPage();
    if (isError) setAsked(undefined);
  }
  return (
    <div className="more">
      <Button isBusy={isBusy} onClick={(event) => void more(event.currentTarget)}>
        {children}
      </Button>
    </div>
  );
}
