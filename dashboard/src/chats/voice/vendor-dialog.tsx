import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";

interface VendorProps {
  readonly onAgree: () => void;
  readonly onClose: () => void;
}

const answers = { confirm: "I agree: use the service", cancel: "Not now" } as const;

interface ListeningProps extends VendorProps {
  /** Speech can be recognised on the device, after a download. */
  readonly canDownload: boolean;
  readonly onDownload: () => void;
}

/** Asks before the first sound may go to the browser's vendor. */
export function ListeningDialog({ canDownload, onDownload, onAgree, onClose }: ListeningProps) {
  const download = (
    <Button kind="primary" onClick={onDownload}>
      Download and stay on this device
    </Button>
  );
  return (
    <Confirm
      {...answers}
      title="Send your voice to your browser's vendor?"
      instead={canDownload ? download : undefined}
      onConfirm={onAgree}
      onClose={onClose}
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
    </Confirm>
  );
}

/** Asks before the first answer may go there to be spoken. */
export function ReadingDialog({ onAgree, onClose }: VendorProps) {
  return (
    <Confirm
      {...answers}
      title="Send answers to your browser's vendor?"
      onConfirm={onAgree}
      onClose={onClose}
    >
      <p>
        This browser has no local voice for your language. To read answers aloud, it sends their
        text to its vendor's service. Throughline does not know what the service does with it.
      </p>
      <p>If you install a voice on this device, it is used instead.</p>
    </Confirm>
  );
}
