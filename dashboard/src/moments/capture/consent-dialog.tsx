import { type ReactNode, useId, useState } from "react";
import type { Buffers } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import type { CaptureWish } from "./capture.ts";
import { consentWords } from "./consent-words.ts";

interface Props {
  readonly stats: Buffers;
  readonly start: (wish: CaptureWish) => void;
  readonly onClose: () => void;
}

/** Asks before anything is turned on: what, what for, where it goes, how long it stays. */
export function ConsentDialog({ stats, start, onClose }: Props) {
  const { consent, storage_mode: mode } = stats;
  const bucket = mode === "local" ? null : stats.s3_bucket;
  const [camera, setCamera] = useState(true);
  const [microphone, setMicrophone] = useState(true);
  const [upload, setUpload] = useState(consent.upload && bucket !== null);
  const [mayExport, setMayExport] = useState(consent.export);
  // Consent for what another page or device sends stays.
  const frames = camera || consent.frames;
  const audio = microphone || consent.audio;
  const asked = { camera: frames, microphone: audio, bucket, upload, export: mayExport };
  const words = consentWords(asked);
  const wish: CaptureWish = {
    camera,
    microphone,
    consent: {
      messages: consent.messages,
      frames,
      audio,
      upload,
      export: mayExport,
      wording: words.join("\n"),
    },
  };
  return (
    <Dialog
      title="Turn on camera and microphone?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Not now
          </Button>
          <Button kind="primary" disabled={!camera && !microphone} onClick={() => start(wish)}>
            I agree, turn on
          </Button>
        </>
      }
    >
      <fieldset className="consent-choices">
        <legend className="visually-hidden">What to turn on</legend>
        <Choice isOn={camera} set={setCamera}>
          Camera
        </Choice>
        <Choice isOn={microphone} set={setMicrophone}>
          Microphone
        </Choice>
      </fieldset>
      <div className="consent-words">
        {words.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
      </div>
      <fieldset className="consent-choices">
        <legend className="visually-hidden">How it may be used</legend>
        {bucket === null ? null : (
          <Choice isOn={upload} set={setUpload}>
            Also upload it to the bucket “{bucket}”
          </Choice>
        )}
        <Choice isOn={mayExport} set={setMayExport}>
          It may be used for training
        </Choice>
      </fieldset>
    </Dialog>
  );
}

interface ChoiceProps {
  readonly isOn: boolean;
  readonly set: (isOn: boolean) => void;
  readonly children: ReactNode;
}

function Choice({ isOn, set, children }: ChoiceProps) {
  const id = useId();
  return (
    <div className="choice">
      <input
        id={id}
        type="checkbox"
        checked={isOn}
        onChange={(event) => set(event.target.checked)}
      />
      <label htmlFor={id}>{children}</label>
    </div>
  );
}
