import { type RefCallback, type RefObject, useCallback, useMemo, useRef } from "react";

export interface ComposerFocus {
  /** Where messages are typed. */
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Goes on at the composer: what had the focus is going. */
  readonly compose: () => void;
  /** A ref for what may go by itself: the composer gets the focus that it had then. */
  readonly leaving: RefCallback<HTMLElement>;
}

/** Where the focus goes in the talk view when what had it goes away: never to nothing. */
export function useComposerFocus(): ComposerFocus {
  const field = useRef<HTMLTextAreaElement>(null);
  const compose = useCallback(() => {
    // On a phone the field would open the keyboard over what there is to read.
    const isFine = window.matchMedia("(pointer: fine)").matches;
    (isFine ? field.current : field.current?.form)?.focus();
  }, []);
  const leaving = useCallback(
    (element: HTMLElement) => () => {
      if (document.activeElement === element) compose();
    },
    [compose],
  );
  return useMemo(() => ({ field, compose, leaving }), [compose, leaving]);
}
