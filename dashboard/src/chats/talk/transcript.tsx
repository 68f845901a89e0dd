import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import type { FeedState } from "./feed-state.ts";
import { FoundRow, useFoundMark, useHold } from "./found-row.tsx";
import { isOf, type Row } from "./rows.ts";

interface TranscriptProps {
  readonly rows: readonly Row[];
  readonly state: Pick<FeedState, "before" | "older">;
  readonly loadOlder: () => void;
  readonly render: (row: Row) => ReactNode;
  /** Counts the messages that the person sent: after each, the end is shown. */
  readonly toEnd: number;
  /** The id of the message to open at, which is there; `undefined`: at the end. */
  readonly found: string | undefined;
  /** What stands at the beginning of the chat. */
  readonly beginning: ReactNode;
}

/** This close to the end, the view stays at the end when something comes. */
const endPx = 96;
/** This close to the oldest row, the page before it is loaded. */
const edgeRows = 12;
/** How much is shown above a message that was found. */
const abovePx = 96;

/** The conversation: only the rows in view are rendered, and older pages load above without a jump. */
export function Transcript(props: TranscriptProps) {
  const { rows, state, loadOlder, render, toEnd, found, beginning } = props;
  const box = useRef<HTMLDivElement>(null);
  const foundAt = found === undefined ? -1 : rows.findIndex((row) => isOf(row, found));
  const [isHeld, release] = useHold(box, foundAt >= 0, toEnd);
  const mark = useFoundMark(found !== undefined);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => estimate(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    // While a row is held, the view never follows the end.
    followOnAppend: !isHeld,
    scrollEndThreshold: isHeld ? -1 : endPx,
    overscan: 6,
    anchorTo: "end",
    scrollPaddingStart: abovePx,
    paddingStart: 64,
    paddingEnd: 16,
  });
  const isAway = useIsAway(box.current, virtual.getTotalSize());
  // biome-ignore lint/correctness/useExhaustiveDependencies: again for every new `toEnd`
  useLayoutEffect(() => {
    if (!isHeld) virtual.scrollToEnd();
  }, [toEnd]);
  useLayoutEffect(() => {
    // Again when its place among the rows changes.
    if (isHeld && foundAt >= 0) virtual.scrollToIndex(foundAt, { align: "start" });
  }, [virtual, isHeld, foundAt]);
  useStayAtEnd(box, () => {
    if (!isHeld) virtual.scrollToEnd();
  });

  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const isNear = first < edgeRows && state.before !== undefined;
  // A held row has enough above it: more would only move it.
  const wantsOlder = isNear && state.older === "idle" && !isHeld;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page may hold nothing to show
  useEffect(() => {
    if (wantsOlder) loadOlder();
  }, [wantsOlder, state.before]);

  return (
    <div className="transcript">
      <section
        ref={box}
        className="transcript-box"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
      >
        <div className="transcript-size" style={{ height: virtual.getTotalSize() }}>
          <Edge state={state} isFirst={first === 0} loadOlder={loadOlder} beginning={beginning} />
          <ol
            className="transcript-rows"
            style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}
          >
            {items.map(({ key, index }) => {
              const row = rows[index];
              return (
                <li key={key} ref={virtual.measureElement} data-index={index}>
                  {row !== undefined && isOf(row, found) ? (
                    <FoundRow row={row} box={box} mark={mark}>
                      {render(row)}
                    </FoundRow>
                  ) : (
                    row && render(row)
                  )}
                </li>
              );
            })}
          </ol>
        </div>
      </section>
      {isAway ? (
        <Button
          className="to-end button-icon"
          aria-label="Jump to the latest message"
          onClick={() => {
            release();
            virtual.scrollToEnd();
          }}
        >
          <Icon name="down" />
        </Button>
      ) : null}
    </div>
  );
}

/** What stands above the oldest row. */
function Edge({
  state,
  isFirst,
  loadOlder,
  beginning,
}: Pick<TranscriptProps, "state" | "loadOlder" | "beginning"> & { readonly isFirst: boolean }) {
  if (!isFirst) return null;
  if (state.older === "failed") {
    return (
      <div className="edge" role="alert">
        Earlier messages could not be loaded.
        <Button kind="quiet" onClick={loadOlder}>
          Try again
        </Button>
      </div>
    );
  }
  return (
    <div className="edge">
      {state.before === undefined ? beginning : "Loading earlier messages…"}
    </div>
  );
}

/** Keeps the end in sight when the height of the transcript changes. */
function useStayAtEnd(box: RefObject<HTMLElement | null>, toEnd: () => void): void {
  const stay = useEffectEvent(toEnd);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    let isAtEnd = true;
    let height = element.clientHeight;
    const look = () => {
      // A change of the height scrolls too: what counts is where the person scrolled to.
      if (element.clientHeight === height) isAtEnd = gapOf(element) < endPx;
    };
    const observer = new ResizeObserver(() => {
      height = element.clientHeight;
      if (isAtEnd) stay();
    });
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [box]);
}

/** How far above the end the view is, in pixels. */
function gapOf(box: HTMLElement): number {
  return box.scrollHeight - box.scrollTop - box.clientHeight;
}

/** Whether the end is out of sight. */
function useIsAway(box: HTMLElement | null, size: number): boolean {
  const [isAway, setIsAway] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: again when there is more to see
  useEffect(() => {
    if (box === null) return;
    const look = () => setIsAway(gapOf(box) > endPx * 3);
    look();
    box.addEventListener("scroll", look, { passive: true });
    return () => box.removeEventListener("scroll", look);
  }, [box, size]);
  return isAway;
}

/** A first guess, in pixels, until a row was seen. */
function estimate(row: Row | undefined): number {
  if (row === undefined || row.kind === "day" || row.kind === "result") return 48;
  if (row.kind === "live") return 80 + row.live.text.length / 3;
  const { content } = row.kind === "message" ? row.message : row.waiting;
  const files = row.kind === "message" ? (row.message.attachments?.length ?? 0) : 0;
  return 70 + Math.ceil(content.length / 80) * 24 + (files > 0 ? 180 : 0);
}
