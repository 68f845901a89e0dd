// The message that a search found, in the transcript: marked for a moment, focused, and held in sight.
import "./found.css";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { moves } from "../../shell/kept-scroll.ts";
import { plainWords } from "../../ui/plain-words.ts";
import type { Row } from "./rows.ts";

/** Long enough to be noticed. */
const markedMs = 3_000;
/** How much of it a screen reader reads. */
const maxLabel = 200;

/** `away`: the row had it when it went out of sight; until it is back, what scrolls has it. */
type Focus = "wanted" | "away" | "left";

interface FoundMark {
  readonly isMarked: boolean;
  readonly focus: RefObject<Focus>;
}

/** The mark outlives the row, which is there while it is in sight. */
export function useFoundMark(isFound: boolean): FoundMark {
  const [isMarked, setIsMarked] = useState(isFound);
  const focus = useRef<Focus>("wanted");
  useEffect(() => {
    if (!isMarked) return;
    const timer = setTimeout(() => setIsMarked(false), markedMs);
    return () => clearTimeout(timer);
  }, [isMarked]);
  return { isMarked, focus };
}

interface FoundRowProps {
  readonly row: Row;
  /** The scrolling element. */
  readonly box: RefObject<HTMLElement | null>;
  readonly mark: FoundMark;
  readonly children: ReactNode;
}

/** The row around the message. */
export function FoundRow({ row, box, mark, children }: FoundRowProps) {
  const { isMarked, focus } = mark;
  const place = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    const { activeElement: now } = document;
    const isTyping = now?.matches("input, textarea, .found-bar button") === true;
    const isBack = focus.current === "away" && now === box.current;
    const isFirst = focus.current === "wanted" && !isTyping;
    if (isBack || isFirst) element?.focus({ preventScroll: true });
    focus.current = "left";
    return () => {
      // Out of sight the row is removed, and the keyboard must still scroll.
      if (element?.contains(document.activeElement) !== true) return;
      focus.current = "away";
      box.current?.focus({ preventScroll: true });
    };
  }, [box, focus]);
  return (
    <section
      ref={place}
      className={isMarked ? "found is-marked" : "found"}
      aria-label={`Search result: ${wordsOf(row)}`}
      tabIndex={-1}
    >
      {children}
    </section>
  );
}

function wordsOf(row: Row): string {
  return row.kind === "message" ? plainWords(row.message.content).slice(0, maxLabel) : "";
}

/**
 * Whether what was found is held where it is, whatever comes in: until the person moves, or sends a
 * message, which counts `said` up.
 */
export function useHold(
  box: RefObject<HTMLElement | null>,
  isThere: boolean,
  said: number,
): readonly [isHeld: boolean, release: () => void] {
  const [heldAt, setHeldAt] = useState(isThere ? said : undefined);
  const release = useCallback(() => setHeldAt(undefined), []);
  const isHeld = isThere && heldAt === said;
  useEffect(() => {
    const element = box.current;
    if (element === null || !isHeld) return;
    for (const move of moves) element.addEventListener(move, release, { passive: true });
    return () => {
      for (const move of moves) element.removeEventListener(move, release);
    };
  }, [box, isHeld, release]);
  return [isHeld, release];
}
