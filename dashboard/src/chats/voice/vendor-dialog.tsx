import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

interface ListeningProps {
  /** Speech can be recognised on the device, after a download. */
  readonly canDownload: boolean;
  readonly onDownload: () => void;
  readonly onAgree: () => void;
  readonly onClose: () => void;
}

/** Asks before the first sound may go to the browser's vendor. */
export function ListeningDialog({ canDownload, onDownload, onAgree, onClose }: ListeningProps) {
  return (
    <Dialog
      title="Send your voice to your browser's vendor?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Not now
          </Button>
          <Button kind={canDownload ? "quiet" : "primary"} onClick={onAgree}>
            I agree: use the service
          </Button>
          {canDownload ? (
            <Button kind="primary" onClick={onDownload}>
              Download and stay on this device
            </Button>
          ) : null}
        </>
      }
    >
      <p>
        Your browser turns speech into text. To do so, it may send audio from your microphone to its
        vendor's service. Throughline does not receive the audio, and does not know what the service
        does with it.
      </p>
      {canDownload ? (
        <p>
          It can also recognise speech on this device, after a download. Then no audio leaves the
          device.
        </p>
      ) : (
        <p>This browser cannot recognise speech on this device. You can type instead.</p>
      )}
    </Dialog>
  );
}

interface ReadingProps {
  readonly onAgree: () => void;
  readonly onClose: () => void;
}

/** Asks before the first answer may go to the browser's vendor to be spoken. */
export function ReadingDialog({ onAgree, onClose }: ReadingProps) {
  return (
    <Dialog
      title="Send answers to your browser's vendor?"
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Not now
          </Button>
          <Button kind="primary" onClick={onAgree}>
            I agree: use the service
          </Button>
        </>
      }
    >
      <p>
        This browser has no local voice for your language. To read answers aloud, it sends their
        text to its vendor's service. Throughline does not know what the service does with it.
      </p>
      <p>If you install a voice on this device, it is used instead.</p>
    </Dialog>
  );
}
