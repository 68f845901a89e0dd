import "./composer.css";
import {
  type FormEvent,
  type KeyboardEvent,
  lazy,
  type RefCallback,
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { isEnterNewLine, isSendKey } from "../../ui/keys.ts";
import type { VoiceAnswer } from "../voice/read-aloud.ts";
import { joined } from "./drafts.ts";
import { AttachButton, useAttach } from "./files/attach.tsx";
import type { DraftFile } from "./files/draft-files.ts";

const VoiceBar = lazy(async () => {
  return { default: (await import("../voice/voice-bar.tsx")).VoiceBar };
});

interface ComposerProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  /** They go with the next message. */
  readonly files: readonly DraftFile[];
  readonly setFiles: (files: readonly DraftFile[]) => void;
  readonly send: (text: string) => void;
  /** `undefined`: nothing runs that could be stopped. */
  readonly stop: (() => void) | undefined;
  readonly answer: VoiceAnswer;
  readonly focus: ComposerFocus;
  /** Whether it takes the focus at first: not while the person is led to a message. */
  readonly takesFocus: boolean;
}

/** The field for a message, by keyboard or voice. */
export function Composer(props: ComposerProps) {
  const { text, setText, files, setFiles, send, stop, answer, focus, takesFocus } = props;
  const { field } = focus;
  const [heard, setHeard] = useState("");
  const attach = useAttach({ files, setFiles, field });
  const isEmpty = text.trim() === "" && files.length === 0;
  const isBlocked = isEmpty || attach.missing !== "";
  useEffect(() => {
    // On a phone this would open the keyboard over what there is to read.
    const isFine = window.matchMedia("(pointer: fine)").matches;
    if (takesFocus && isFine) field.current?.focus();
  }, [field, takesFocus]);
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (isBlocked) return;
    setText("");
    send(text);
    field.current?.focus();
  }
  function onKey(event: KeyboardEvent<HTMLTextAreaElement>): void {
    if (!isSendKey(event)) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  }
  return (
    <form className="composer" aria-label="New message" tabIndex={-1} onSubmit={submit}>
      <div className={attach.isOver ? "composer-box is-over" : "composer-box"}>
        {attach.shown}
        {attach.missing === "" ? null : (
          <p className="hint files-note is-problem" role="alert">
            {attach.missing}
          </p>
        )}
        <label className="visually-hidden" htmlFor="message">
          Message
        </label>
        <textarea
          ref={field}
          id="message"
          dir="auto"
          rows={1}
          placeholder="Write a message"
          aria-describedby="message-hint"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKey}
          onPaste={attach.paste}
        />
        {heard === "" ? null : (
          <p className="composer-heard" dir="auto">
            {heard}
          </p>
        )}
        <div className="composer-row">
          <AttachButton add={attach.add} />
          <Suspense fallback={<div className="voice" />}>
            <VoiceBar
              send={attach.missing === "" ? send : (words) => setText(joined(text, words))}
              show={setHeard}
              keep={(words) => setText(joined(text, words))}
              answer={answer}
            />
          </Suspense>
          <div className="composer-send">
            {stop === undefined ? null : (
              <Button
                ref={focus.leaving}
                className="button-icon"
                aria-label="Stop the answer"
                title="Stop (Esc)"
                onClick={stop}
              >
                <Icon name="stop" />
              </Button>
            )}
            <Button
              kind="primary"
              type="submit"
              className="button-icon"
              aria-label="Send"
              disabled={isBlocked}
            >
              <Icon name="send" />
            </Button>
          </div>
        </div>
      </div>
      <p id="message-hint" className="fine composer-hint">
        {isEnterNewLine()
          ? ""
          : `Enter to send, Shift+Enter for a new line${stop === undefined ? "" : ", Esc to stop"}`}
      </p>
    </form>
  );
}

export interface ComposerFocus {
  /** Where messages are typed. */
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Focuses the composer: what had the focus is going away. */
  readonly compose: () => void;
  /** A ref for what may disappear by itself: if it has the focus then, the composer gets it. */
  readonly leaving: RefCallback<HTMLElement>;
}

/** Moves the focus when the element that has it goes away. */
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
