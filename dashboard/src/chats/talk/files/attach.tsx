import {
  type ClipboardEvent,
  type RefObject,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from "react";
import { Button } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { type DraftFile, withAdded } from "./draft-files.ts";
import { FileChips } from "./file-chips.tsx";

interface AttachOptions {
  readonly files: readonly DraftFile[];
  readonly setFiles: (files: readonly DraftFile[]) => void;
  /** Gets the focus when a chip goes. */
  readonly field: RefObject<HTMLElement | null>;
}

/** Attaches files: by a button, by dropping them onto the chat, and by pasting a picture. */
export function useAttach({ files, setFiles, field }: AttachOptions) {
  const [problem, setProblem] = useState("");
  const [said, setSaid] = useState("");
  function add(added: readonly File[]): void {
    if (added.length === 0) return;
    const next = withAdded(files, added);
    setFiles(next.files);
    setProblem(next.problem);
    const count = next.files.length;
    // What stays to be done is to write, or to press Enter; on a phone this would open the keyboard.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus();
    setSaid(count === 1 ? `${next.files[0]?.name} is attached.` : `${count} files are attached.`);
  }
  function remove(file: DraftFile): void {
    setFiles(files.filter(({ key }) => key !== file.key));
    setProblem("");
    setSaid(`${file.name} was removed.`);
    field.current?.focus();
  }
  function paste(event: ClipboardEvent): void {
    const { files: pasted, types } = event.clipboardData;
    // What a word processor copies is text, with a picture of it.
    if (pasted.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    add([...pasted]);
  }
  const isOver = useDrop(field, add);
  const lost = files.filter(({ file }) => file === undefined);
  return {
    add,
    paste,
    isOver,
    /** Why the message cannot be sent as it is; "": it can. */
    missing:
      lost.length === 0
        ? ""
        : "Files do not survive a reload of the page. Attach them again, or remove them.",
    shown: (
      <>
        <FileChips files={files} remove={remove} />
        {isOver ? <p className="hint files-note">Drop the files to attach them.</p> : null}
        {problem === "" ? null : (
          <p className="hint files-note is-problem" role="alert">
            {problem}
          </p>
        )}
        <p className="visually-hidden" role="status">
          {said}
        </p>
      </>
    ),
  };
}

/** Opens the file chooser; on a phone that offers the camera too. */
export function AttachButton({ add }: { readonly add: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept="image/*,*/*"
        onChange={(event) => {
          add([...(event.target.files ?? [])]);
          event.target.value = ""; // the same file can be chosen again
        }}
      />
      <Button
        kind="quiet"
        className="button-icon attach"
        aria-label="Attach files"
        title="Attach files"
        onClick={() => input.current?.click()}
      >
        <Icon name="clip" />
      </Button>
    </>
  );
}

/** Takes files that are dropped onto the chat. @returns whether some are held over it. */
function useDrop(
  field: RefObject<HTMLElement | null>,
  take: (files: readonly File[]) => void,
): boolean {
  const [isOver, setIsOver] = useState(false);
  const drop = useEffectEvent(take);
  useEffect(() => {
    const chat = field.current?.closest<HTMLElement>(".talk");
    if (chat == null) return;
    const hasFiles = ({ dataTransfer }: DragEvent) =>
      dataTransfer?.types.includes("Files") === true;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault(); // or the browser opens the file
      setIsOver(true);
    };
    const onLeave = (event: DragEvent) => {
      if (!chat.contains(event.relatedTarget as Node | null)) setIsOver(false);
    };
    const onDrop = (event: DragEvent) => {
      setIsOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      drop([...(event.dataTransfer?.files ?? [])]);
    };
    chat.addEventListener("dragover", onOver);
    chat.addEventListener("dragleave", onLeave);
    chat.addEventListener("drop", onDrop);
    return () => {
      chat.removeEventListener("dragover", onOver);
      chat.removeEventListener("dragleave", onLeave);
      chat.removeEventListener("drop", onDrop);
    };
  }, [field]);
  return isOver;
}
