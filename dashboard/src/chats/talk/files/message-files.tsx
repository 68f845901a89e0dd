import "./files.css";
import { useState } from "react";
import type { Attachment, Message } from "../../../api/openapi-types.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { fileAddress, isPicture, sizeText } from "./stored-files.ts";

interface MessageFilesProps {
  readonly chatId: string;
  readonly message: Message;
}

/** The files of a message: pictures small, every other file as a download. */
export function MessageFiles({ chatId, message }: MessageFilesProps) {
  const { attachments = [] } = message;
  if (attachments.length === 0) return null;
  return (
    <ul className="message-files" aria-label="Files">
      {attachments.map((file, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they never change their places
        <li key={index}>
          <MessageFile file={file} address={fileAddress(chatId, message, file)} />
        </li>
      ))}
    </ul>
  );
}

interface FileProps {
  readonly file: Attachment;
  readonly address: string | undefined;
}

function MessageFile({ file, address }: FileProps) {
  const [isGone, setIsGone] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const { name } = file;
  if (address === undefined || isGone) return <FileCard file={file} address={undefined} />;
  if (!isPicture(file)) return <FileCard file={file} address={address} />;
  return (
    <>
      <button
        type="button"
        className="file-picture"
        aria-label={`Open ${name}`}
        title={name}
        onClick={() => setIsOpen(true)}
      >
        <img src={address} alt={name} loading="lazy" onError={() => setIsGone(true)} />
      </button>
      {isOpen ? (
        <Dialog
          title={name}
          onClose={() => setIsOpen(false)}
          actions={
            <>
              <a className="button button-quiet" href={address} download={name}>
                Download
              </a>
              <Button onClick={() => setIsOpen(false)}>Close</Button>
            </>
          }
        >
          <img className="file-whole" src={address} alt={name} />
        </Dialog>
      ) : null}
    </>
  );
}

/** A file by its name. Without an address its bytes are not here. */
function FileCard({ file, address }: FileProps) {
  const { name, size } = file;
  const kind = kindWord(file);
  const facts = [kind, size === undefined ? "" : sizeText(size)].filter((text) => text !== "");
  const words = (
    <>
      <span className="file-thumb" aria-hidden="true">
        <Icon name={address === undefined ? "file" : "download"} />
      </span>
      <span className="file-words">
        <span className="clip file-name" title={name}>
          <bdi>{name}</bdi>
        </span>
        <span className="fine file-facts">
          {address === undefined ? "Not available" : facts.join(" · ")}
        </span>
      </span>
    </>
  );
  if (address === undefined) return <div className="file-chip">{words}</div>;
  return (
    <a className="file-chip" href={address} download={name}>
      <span className="visually-hidden">Download </span>
      {words}
    </a>
  );
}

/** `PDF`, `MD`: how the name ends, else what the type says. */
function kindWord({ name, type }: Attachment): string {
  const ending = /\.([a-z0-9]{1,5})$/i.exec(name)?.[1];
  return (ending ?? type.split("/")[1] ?? "").toUpperCase().slice(0, 12);
}
