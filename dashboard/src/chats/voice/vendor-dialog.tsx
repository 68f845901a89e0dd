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
      title="Where may your voice go?"
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
        Your browser turns speech into words. It may send the sound of your microphone to a service
        of its vendor to do so. Throughline does not get the sound, and cannot say what the service
        does with it.
      </p>
      {canDownload ? (
        <p>
          It can also recognise speech on this device, once it has downloaded what it needs. Then no
          sound leaves the device.
        </p>
      ) : (
        <p>
          This browser does not offer to recognise speech on this device. If you type, no sound is
          taken.
        </p>
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
      title="Where may answers be read?"
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
        This browser has no voice of its own for your language. To read answers aloud it sends their
        words to a service of its vendor. Throughline cannot say what the service does with them.
      </p>
      <p>A voice that is installed on this device would be used instead.</p>
    </Dialog>
  );
}
