import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

interface VendorProps {
  readonly onAgree: () => void;
  readonly onClose: () => void;
}

interface QuestionProps extends VendorProps {
  readonly title: string;
  /** What keeps it on the device, as the main choice. */
  readonly instead?: ReactNode;
  readonly children: ReactNode;
}

/** Asks before anything may go to the browser's vendor. */
function VendorQuestion({ title, instead, onAgree, onClose, children }: QuestionProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            Not now
          </Button>
          <Button kind={instead === undefined ? "primary" : "quiet"} onClick={onAgree}>
            I agree: use the service
          </Button>
          {instead}
        </>
      }
    >
      {children}
    </Dialog>
  );
}

interface ListeningProps extends VendorProps {
  /** Speech can be recognised on the device, after a download. */
  readonly canDownload: boolean;
  readonly onDownload: () => void;
}

/** Asks before the first sound may go there. */
export function ListeningDialog({ canDownload, onDownload, ...answers }: ListeningProps) {
  const download = (
    <Button kind="primary" onClick={onDownload}>
      Download and stay on this device
    </Button>
  );
  return (
    <VendorQuestion
      title="Send your voice to your browser's vendor?"
      instead={canDownload ? download : undefined}
      {...answers}
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
    </VendorQuestion>
  );
}

/** Asks before the first answer may go there to be spoken. */
export function ReadingDialog(answers: VendorProps) {
  return (
    <VendorQuestion title="Send answers to your browser's vendor?" {...answers}>
      <p>
        This browser has no local voice for your language. To read answers aloud, it sends their
        text to its vendor's service. Throughline does not know what the service does with it.
      </p>
      <p>If you install a voice on this device, it is used instead.</p>
    </VendorQuestion>
  );
}
