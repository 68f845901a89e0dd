import "./capture.css";
import { Link } from "wouter";
import { Button } from "../../ui/button.tsx";
import { useMomentStats } from "../use-moments.ts";
import { clearTrouble, stopCapture, useCapture } from "./capture.ts";
import { sourcesInWords } from "./words.ts";

/** Shown on every view as long as pictures or sound are recorded, by this page or another device. */
export function RecordingBar() {
  const here = useCapture();
  const { data } = useMomentStats();
  const elsewhere = data?.capturing;
  const isElsewhere = elsewhere?.frames === true || elsewhere?.audio === true;
  return (
    <div className="recording" role="status">
      {here.phase === "off" ? (
        isElsewhere && elsewhere !== undefined ? (
          <Light what={`${sourcesInWords(elsewhere)}, from another page or device`} />
        ) : null
      ) : (
        <Light
          what={
            sourcesInWords({ frames: here.camera, audio: here.microphone }) +
            (here.phase === "on" && !here.isConnected ? " (not connected)" : "")
          }
        />
      )}
      {here.trouble === undefined ? null : (
        <p className="recording-trouble">
          <span>{here.trouble}</span>
          <Button kind="quiet" onClick={clearTrouble}>
            OK
          </Button>
        </p>
      )}
    </div>
  );
}

function Light({ what }: { readonly what: string }) {
  return (
    <p className="recording-light">
      <span className="recording-what">
        <span className="recording-dot" aria-hidden="true" />
        <span>
          <strong>Recording</strong> {what}
        </span>
      </span>
      <span className="recording-acts">
        <Link className="recording-more" to="/moments">
          Details
        </Link>
        <Button className="recording-stop" onClick={() => void stopCapture()}>
          Stop
        </Button>
      </span>
    </p>
  );
}
