import { useRef, useState } from "react";
import { installSpeechIn, speechInMissing, speechInPlace } from "./speech-in.ts";
import { agree, hasAgreed } from "./speech-place.ts";

type Wanted = "push" | "free";

interface PlaceOptions {
  /** It may listen now. */
  readonly begin: (mode: Wanted, staysOnDevice: boolean) => void;
  /** Shows a message; `undefined` removes it. */
  readonly show: (trouble: string | undefined) => void;
}

/** The question before any sound may leave the device. */
export interface ListeningQuestion {
  /** Speech can be recognised on the device, after a download. */
  readonly canDownload: boolean;
  readonly download: () => void;
  readonly agree: () => void;
  readonly close: () => void;
}

interface ListeningPlace {
  readonly question: ListeningQuestion | undefined;
  /** Begins where no sound leaves the device, or where the person agreed that it may; else asks. */
  readonly want: (mode: Wanted) => void;
  /** The button was released: what has not started will not start. */
  readonly release: () => void;
}

const downloading = "Downloading speech recognition for this device…";
const notDownloaded = "The download failed. Press again to choose another option.";

export function useListeningPlace({ begin, show }: PlaceOptions): ListeningPlace {
  const wanted = useRef<Wanted>(undefined);
  const [asked, setAsked] = useState<{ readonly mode: Wanted; readonly canDownload: boolean }>();

  async function look(mode: Wanted): Promise<void> {
    const place = await speechInPlace();
    if (wanted.current !== mode) return;
    if (place === undefined) show(speechInMissing);
    else if (place === "device" || hasAgreed("listening")) begin(mode, place === "device");
    else setAsked({ mode, canDownload: place === "download" });
  }

  async function download(mode: Wanted): Promise<void> {
    setAsked(undefined);
    wanted.current = mode;
    show(downloading);
    const isDone = await installSpeechIn();
    show(isDone ? undefined : notDownloaded);
    if (isDone && wanted.current === mode) begin(mode, true);
  }

  return {
    question: asked && {
      canDownload: asked.canDownload,
      download: () => void download(asked.mode),
      agree() {
        agree("listening");
        setAsked(undefined);
        begin(asked.mode, false);
      },
      close: () => setAsked(undefined),
    },
    want(mode) {
      show(undefined);
      wanted.current = mode;
      void look(mode);
    },
    release() {
      wanted.current = undefined;
    },
  };
}
