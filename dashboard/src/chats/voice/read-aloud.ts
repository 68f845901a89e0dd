import { useEffect, useRef, useState } from "react";
import { sentencesFrom, speakable } from "./speakable.ts";
import { hasAgreed, voiceOfDevice } from "./speech-place.ts";

/** The answer that came, or comes, since the page was opened. */
export type VoiceAnswer =
  | { readonly key: string; readonly text: string; readonly isWhole: boolean }
  | undefined;

interface ReadingAloud {
  readonly isSpeaking: boolean;
  /** Why nothing is heard, for the person. */
  readonly trouble: string | undefined;
  /** The words would go to the browser's vendor, and the person did not agree to that. */
  readonly mustAsk: boolean;
}

const missing = "This browser cannot read aloud.";
const voiceless = "This browser has no voice installed.";
const unasked =
  "This browser sends text to its vendor to read it aloud. Turn reading off and on to allow that.";
/** Browsers look for their voices when they are asked the first time. */
const voicesMs = 1_500;

export function hasSpeechOut(): boolean {
  return "speechSynthesis" in window && "SpeechSynthesisUtterance" in window;
}

/** Reads answers aloud, sentence by sentence as they come, while it is on. */
export function useReadAloud(isOn: boolean, answer: VoiceAnswer): ReadingAloud {
  const [pending, setPending] = useState(0);
  const [failure, setFailure] = useState<string>();
  const read = useRef({ key: "", upTo: 0 });
  const voices = useVoices();
  const voice = voices && voiceOfDevice(voices, navigator.language);
  const isRemote = voices !== undefined && voices.length > 0 && voice === undefined;
  const mustAsk = isRemote && !hasAgreed("reading");

  useEffect(() => {
    if (!isOn || !hasSpeechOut()) return;
    return () => {
      window.speechSynthesis.cancel();
      setPending(0);
      setFailure(undefined);
    };
  }, [isOn]);

  useEffect(() => {
    if (answer === undefined || (isOn && hasSpeechOut() && voices === undefined)) return;
    const { key, text, isWhole } = answer;
    const isNew = read.current.key !== key;
    const { sentences, next } = sentencesFrom(text, isNew ? 0 : read.current.upTo, isWhole);
    read.current = { key, upTo: next };
    if (!isOn || mustAsk || !hasSpeechOut()) return; // passed over: it is not read out later
    if (isNew) window.speechSynthesis.cancel();
    for (const sentence of sentences) {
      const words = speakable(sentence);
      if (words === "") continue;
      const utterance = new SpeechSynthesisUtterance(words);
      if (voice !== undefined) utterance.voice = voice;
      const done = () => setPending((count) => Math.max(0, count - 1));
      utterance.addEventListener("end", done, { once: true });
      utterance.addEventListener("error", (event) => {
        done();
        if (!["interrupted", "canceled"].includes(event.error)) setFailure(reasonOf(event.error));
      });
      setPending((count) => count + 1);
      window.speechSynthesis.speak(utterance);
    }
  }, [isOn, answer, voices, voice, mustAsk]);

  const silence = voices?.length === 0 ? voiceless : mustAsk ? unasked : undefined;
  const trouble = hasSpeechOut() ? (failure ?? silence) : missing;
  return { isSpeaking: isOn && pending > 0, trouble: isOn ? trouble : undefined, mustAsk };
}

/** @returns `undefined` while the browser looks for them. */
function useVoices(): readonly SpeechSynthesisVoice[] | undefined {
  const [voices, setVoices] = useState<readonly SpeechSynthesisVoice[]>();
  useEffect(() => {
    if (!hasSpeechOut()) return;
    const { speechSynthesis } = window;
    const look = () => setVoices(speechSynthesis.getVoices());
    const lookEarly = () => {
      if (speechSynthesis.getVoices().length > 0) look();
    };
    const timer = setTimeout(look, voicesMs);
    lookEarly();
    speechSynthesis.addEventListener("voiceschanged", lookEarly);
    return () => {
      clearTimeout(timer);
      speechSynthesis.removeEventListener("voiceschanged", lookEarly);
    };
  }, []);
  return voices;
}

function reasonOf(code: string): string {
  if (code === "not-allowed")
    return "The browser lets a page speak only after you click or type on it.";
  if (code === "voice-unavailable" || code === "language-unavailable") return voiceless;
  return "Reading aloud failed.";
}
