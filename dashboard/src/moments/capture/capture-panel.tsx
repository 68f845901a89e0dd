import { useEffect, useRef, useState } from "react";
import type { Buffers } from "../../api/openapi-types.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { counted } from "../../ui/in-words.ts";
import { BufferBars } from "./buffer-bars.tsx";
import { captureMissing, startCapture, stopCapture, useCapture } from "./capture.ts";
import { ConsentDialog } from "./consent-dialog.tsx";
import { sourcesInWords, standingInWords } from "./words.ts";

/** Camera and microphone: their state, a switch, and what is in memory. */
export function CapturePanel({ stats }: { readonly stats: Buffers }) {
  const [isAsking, setIsAsking] = useState(false);
  const here = useCapture();
  const { consent, capturing } = stats;
  const isOn = here.phase !== "off";
  const isAgreed = consent.frames || consent.audio;
  const missing = captureMissing();
  const streams = { frames: here.camera, audio: here.microphone };
  return (
    <section className="card stack capture" aria-labelledby="capture-title">
      <div className="spread capture-head">
        <div>
          <h2 id="capture-title">Camera and microphone</h2>
          <p className="hint">
            {isOn
              ? `This page uses the ${sourcesInWords(streams)}.`
              : standingInWords(consent, capturing)}
            {here.missed > 0 ? ` ${counted(here.missed, "part")} could not be sent.` : ""}
          </p>
        </div>
        <div className="row">
          {isOn ? null : (
            <Button disabled={missing !== undefined} onClick={() => setIsAsking(true)}>
              <Icon name="camera" size={17} />
              Turn on…
            </Button>
          )}
          {isOn || isAgreed ? (
            <Button kind="danger" onClick={() => void stopCapture()}>
              {isOn ? "Turn off" : "Withdraw consent"}
            </Button>
          ) : null}
        </div>
      </div>
      {missing === undefined || isOn ? null : <p className="hint">{missing}</p>}
      <div className="capture-body">
        {here.stream === undefined || !here.camera ? null : <Preview stream={here.stream} />}
        <BufferBars stats={stats} />
      </div>
      {isAsking ? (
        <ConsentDialog
          stats={stats}
          start={(wish) => {
            setIsAsking(false);
            void startCapture(wish);
          }}
          onClose={() => setIsAsking(false)}
        />
      ) : null}
    </section>
  );
}

function Preview({ stream }: { readonly stream: MediaStream }) {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    const element = video.current;
    if (element === null) return;
    element.srcObject = stream;
    return () => {
      element.srcObject = null;
    };
  }, [stream]);
  return (
    <video
      ref={video}
      className="capture-preview"
      aria-label="Camera preview"
      autoPlay
      muted
      playsInline
    />
  );
}
