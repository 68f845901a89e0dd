import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { hasSpeechOut, useReadAloud, type VoiceAnswer } from "./read-aloud.ts";
import { hasSpeechIn, speechInMissing } from "./speech-in.ts";
import { agree } from "./speech-place.ts";
import { type Listening, useListening } from "./use-listening.ts";
import { ListeningDialog, ReadingDialog } from "./vendor-dialog.tsx";

interface VoiceBarProps {
  readonly send: (text: string) => void;
  /** What is heard so far; what is typed is not touched by it. */
  readonly show: (text: string) => void;
  /** Keeps what was heard and not sent. */
  readonly keep: (text: string) => void;
  readonly answer: VoiceAnswer;
}

const storageKey = "throughline-read-aloud";
/** After a press shorter than this it listens until the next one: not everyone can hold. */
const tapMs = 350;

/** Talking instead of typing. Where the browser cannot listen or speak, it says why. */
export function VoiceBar({ send, show, keep, answer }: VoiceBarProps) {
  const [isReading, setIsReading] = useState(() => localStorage.getItem(storageKey) === "on");
  const [isAsking, setIsAsking] = useState(false);
  const reading = useReadAloud(isReading, answer);
  const listening = useListening({ show, send, keep, isPaused: reading.isSpeaking });
  useEffect(() => localStorage.setItem(storageKey, isReading ? "on" : "off"), [isReading]);
  const isFree = listening.mode === "free";
  const state = reading.isSpeaking
    ? "Reading aloud"
    : listening.mode === "off"
      ? undefined
      : listening.staysOnDevice
        ? "Listening, on this device"
        : "Listening. Audio may be sent to the browser's vendor.";
  return (
    <div className="voice">
      <PushToTalk listening={listening} />
      <Button
        kind="quiet"
        className="button-icon voice-button"
        aria-pressed={isFree}
        aria-label="Hands free"
        title={hasSpeechIn() ? "Hands free: every sentence is sent" : speechInMissing}
        onClick={() => (isFree ? listening.stop() : listening.start("free"))}
      >
        <Icon name="hands" />
      </Button>
      <Button
        kind="quiet"
        className="button-icon voice-button"
        aria-pressed={isReading}
        aria-label="Read answers aloud"
        title={hasSpeechOut() ? "Read answers aloud" : "This browser cannot read aloud"}
        onClick={() => {
          if (!isReading && reading.mustAsk) setIsAsking(true);
          else setIsReading(!isReading);
        }}
      >
        <Icon name="speaker" />
      </Button>
      <p className="hint voice-note" role="status">
        {listening.trouble ?? reading.trouble ?? state ?? ""}
      </p>
      {listening.question === undefined ? null : (
        <ListeningDialog
          canDownload={listening.question.canDownload}
          onDownload={listening.question.download}
          onAgree={listening.question.agree}
          onClose={listening.question.close}
        />
      )}
      {isAsking ? (
        <ReadingDialog
          onAgree={() => {
            agree("reading");
            setIsAsking(false);
            setIsReading(true);
          }}
          onClose={() => setIsAsking(false)}
        />
      ) : null}
    </div>
  );
}

/** Listens while it is held, by finger or by key; after a short press until the next one. */
function PushToTalk({ listening }: { readonly listening: Listening }) {
  const since = useRef(0);
  const isOn = listening.mode === "push";
  function press(): void {
    if (isOn) {
      since.current = 0;
      listening.stop();
      return;
    }
    since.current = performance.now();
    listening.start("push");
  }
  function release(): void {
    const heldMs = performance.now() - since.current;
    if (since.current > 0 && heldMs > tapMs) listening.stop();
    since.current = 0;
  }
  function onKey(event: KeyboardEvent): void {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (!event.repeat) press();
  }
  return (
    <Button
      kind="quiet"
      className="button-icon voice-button"
      aria-pressed={isOn}
      aria-label="Hold to talk"
      title={
        hasSpeechIn() ? "Hold to talk, or press once to start and again to send" : speechInMissing
      }
      onPointerDown={(event) => {
        if (event.button === 0) press();
      }}
      onPointerUp={release}
      onPointerLeave={release}
      onPointerCancel={release}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={onKey}
      onKeyUp={(event) => {
        if (event.key === " " || event.key === "Enter") release();
      }}
    >
      <Icon name="mic" />
    </Button>
  );
}
