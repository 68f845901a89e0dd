import "./files.css";
import { useEffect, useRef, useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import type { DraftFile } from "./draft-files.ts";
import { isPicture, sizeText } from "./stored-files.ts";

interface FileChipsProps {
  readonly files: readonly DraftFile[];
  /** Absent where nothing can be removed. */
  readonly remove?: ((file: DraftFile) => void) | undefined;
}

/** The files of a message that is not in the chat yet. */
export function FileChips({ files, remove }: FileChipsProps) {
  if (files.length === 0) return null;
  return (
    <ul className="file-chips" aria-label="Attached files">
      {files.map((each) => (
        <li key={each.key} className={each.file === undefined ? "file-chip is-lost" : "file-chip"}>
          <Thumb file={each.file} type={each.type} />
          <span className="file-words">
            <span className="clip file-name" title={each.name}>
              <bdi>{each.name}</bdi>
            </span>
            <span className="fine file-facts">
              {each.file === undefined ? "Attach it again" : sizeText(each.size)}
            </span>
          </span>
          {remove === undefined ? null : (
            <Button
              kind="quiet"
              className="action"
              aria-label={`Remove ${each.name}`}
              title="Remove"
              onClick={() => remove(each)}
            >
              <Icon name="close" size={16} />
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** In CSS pixels, and twice as many for screens that have them. */
const thumbPx = 40;

/** A small picture, drawn from the file itself: nothing is loaded for it. Other files have a sign. */
function Thumb({ file, type }: { readonly file: File | undefined; readonly type: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isDrawn, setIsDrawn] = useState(file !== undefined && isPicture({ type }));
  useEffect(() => {
    if (!isDrawn || file === undefined) return;
    let isGone = false;
    draw(canvas, file, () => isGone).catch(() => setIsDrawn(false)); // no picture after all
    return () => {
      isGone = true;
    };
  }, [file, isDrawn]);
  return (
    <span className="file-thumb" aria-hidden="true">
      {isDrawn ? (
        <canvas ref={canvas} width={thumbPx * 2} height={thumbPx * 2} />
      ) : (
        <Icon name={file === undefined ? "retry" : "file"} />
      )}
    </span>
  );
}

async function draw(
  to: { readonly current: HTMLCanvasElement | null },
  file: File,
  isGone: () => boolean,
): Promise<void> {
  const bitmap = await createImageBitmap(file);
  const canvas = to.current;
  if (canvas !== null && !isGone()) {
    const side = Math.min(bitmap.width, bitmap.height);
    const [x, y] = [(bitmap.width - side) / 2, (bitmap.height - side) / 2];
    const { width, height } = canvas;
    canvas.getContext("2d")?.drawImage(bitmap, x, y, side, side, 0, 0, width, height);
  }
  bitmap.close();
}
