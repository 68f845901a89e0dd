import { useState } from "react";
import type { Buffers } from "../../api/openapi-types.ts";
import { Check } from "../../ui/check.tsx";
import { Confirm } from "../../ui/dialog.tsx";
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
    <Confirm
      title="Turn on camera and microphone?"
      confirm="I agree, turn on"
      cancel="Not now"
      isDisabled={!camera && !microphone}
      onConfirm={() => start(wish)}
      onClose={onClose}
    >
      <fieldset className="checks">
        <legend className="visually-hidden">What to turn on</legend>
        <Check isOn={camera} set={setCamera}>
          Camera
        </Check>
        <Check isOn={microphone} set={setMicrophone}>
          Microphone
        </Check>
      </fieldset>
      <div className="consent-words">
        {words.map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
      </div>
      <fieldset className="checks">
        <legend className="visually-hidden">How it may be used</legend>
        {bucket === null ? null : (
          <Check isOn={upload} set={setUpload}>
            Also upload it to the bucket “{bucket}”
          </Check>
        )}
        <Check isOn={mayExport} set={setMayExport}>
          It may be used for training
        </Check>
      </fieldset>
    </Confirm>
  );
}
