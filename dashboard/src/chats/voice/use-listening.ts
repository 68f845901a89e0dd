import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { Heard } from "./heard-words.ts";
import { SpeechIn } from "./speech-in.ts";
import { type ListeningQuestion, useListeningPlace } from "./use-listening-place.ts";

/** `push`: while a button is held, then it is sent. `free`: every sentence is sent as it ends. */
type ListeningMode = "off" | "push" | "free";

interface ListeningOptions {
  /** What is heard so far, before it is sent. */
  readonly show: (text: string) => void;
  readonly send: (text: string) => void;
  /** What was heard when it was switched off, or left, before it could be sent. */
  readonly keep: (text: string) => void;
  /** Pauses while an answer is read aloud, so that it does not hear itself. */
  readonly isPaused: boolean;
}

export interface Listening {
  readonly mode: ListeningMode;
  /** No sound leaves the device. */
  readonly staysOnDevice: boolean;
  /** Why it cannot listen, for the person. */
  readonly trouble: string | undefined;
  /** Before it listens, the person has to say where the sound may go. */
  readonly question: ListeningQuestion | undefined;
  readonly start: (mode: "push" | "free") => void;
  readonly stop: () => void;
}

/** Browsers end a long stretch by themselves; hands free, the next begins after this. */
const againMs = 300;
/** It began and ended so often in a row without a word: it does not work here. */
const maxEmpty = 20;

export function useListening({ show, send, keep, isPaused }: ListeningOptions): Listening {
  const [mode, setMode] = useState<ListeningMode>("off");
  const [trouble, setTrouble] = useState<string>();
  const [round, setRound] = useState(0);
  const [staysOnDevice, setStaysOnDevice] = useState(false);
  const active = useRef<SpeechIn>(undefined);
  const said = useRef("");
  const empty = useRef(0);

  function giveTo(take: (text: string) => void): void {
    const text = words(said.current);
    said.current = "";
    if (text === "") return;
    show("");
    take(text);
  }
  const heard = useEffectEvent(({ final, interim, finals }: Heard) => {
    empty.current = 0;
    const isSent = mode === "free" && final !== "";
    said.current = isSent ? final : final + interim;
    show(words(said.current));
    if (!isSent) return 0;
    giveTo(send);
    said.current = interim;
    show(words(interim));
    return finals;
  });
  const leave = useEffectEvent(() => giveTo(keep));
  const ended = useEffectEvent((why: string | undefined) => {
    active.current = undefined;
    if (why !== undefined) setTrouble(why);
    const isStuck = ++empty.current > maxEmpty;
    if (isStuck) setTrouble("Nothing was heard for a while. Hands free is off.");
    const goesOn = mode === "free" && why === undefined && !isStuck;
    giveTo(send);
    if (goesOn) setRound((count) => count + 1);
    else setMode("off");
  });

  // Listens while the mode says so; each stretch that ended by itself is a new round.
  useEffect(() => {
    if (mode === "off" || (mode === "free" && isPaused)) return;
    const events = {
      heard: (all: Heard) => (active.current === speech ? heard(all) : 0),
      ended: (why: string | undefined) => {
        if (active.current === speech) ended(why);
      },
    };
    const speech = SpeechIn.create(events, staysOnDevice);
    const timer = setTimeout(
      () => {
        active.current = speech;
        if (speech?.start() === false) ended("Speech recognition is busy. Try again in a moment.");
      },
      round === 0 ? 0 : againMs,
    );
    return () => {
      clearTimeout(timer);
      if (active.current === speech) active.current = undefined;
      speech?.abort();
    };
  }, [mode, isPaused, round, staysOnDevice]);

  useEffect(() => {
    if (mode !== "off") return () => leave();
  }, [mode]);

  const place = useListeningPlace({
    begin(wanted, isLocal) {
      empty.current = 0;
      setRound(0);
      setStaysOnDevice(isLocal);
      setMode(wanted);
    },
    show: setTrouble,
  });

  return {
    mode,
    staysOnDevice,
    trouble,
    question: place.question,
    start: place.want,
    stop() {
      place.release();
      // What was said up to now still comes, and `ended` sends it.
      if (mode === "push" && active.current !== undefined) {
        active.current.stop();
        return;
      }
      giveTo(keep); // with the switch, so that the page never shows it off and the words nowhere
      setMode("off");
    },
  };
}

function words(heard: string): string {
  return heard.replace(/\s+/g, " ").trim();
}
