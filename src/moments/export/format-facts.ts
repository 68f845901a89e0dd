import type { FeedbackExportReport } from "./export-report.ts";

/** What the card and Croissant say of a format. */
export interface FormatFacts {
  /** One paragraph. */
  readonly says: string;
  /** Patterns of the files with the rows, for `datasets`. */
  readonly dataFiles: readonly string[];
  /** `datasets` guesses labels and loader from folders and extensions unless told not to. */
  readonly dropLabels: boolean;
  readonly mediaType: string;
  /** Columns: name and type, in Croissant's words. */
  readonly fields: readonly (readonly [name: string, type: string])[];
}

const text = "sc:Text";
const kto = [
  ...(["id", "prompt", "completion"] as const).map((name) => [name, text] as const),
  ["label", "sc:Boolean"],
] as const;
const ktoAll = [
  ...kto,
  ["score", "sc:Float"],
  ...(["what", "trigger", "session_id", "created_at"] as const).map(
    (name) => [name, text] as const,
  ),
] as const;
const images = ["images", "sc:ImageObject"] as const;
const jsonLines = { dropLabels: false, mediaType: "application/jsonlines" } as const;

export function formatFacts({ format, options, rows }: FeedbackExportReport): FormatFacts {
  switch (format) {
    case "kto":
      return { ...jsonLines, says: says.kto, dataFiles: ["train.jsonl"], fields: ktoAll };
    case "kto-vision": {
      const mediaType = "application/vnd.apache.parquet";
      const dataFiles = ["train-*.parquet"];
      return {
        says: says.vision,
        dataFiles,
        dropLabels: false,
        mediaType,
        fields: [...kto, images],
      };
    }
    case "imagefolder": {
      // A pattern that matches nothing is an error to its reader.
      const pictures = rows.frames === 0 ? [] : ["*/frames/*.jpg"];
      const dataFiles = ["metadata.jsonl", ...pictures];
      const fields = [...kto, images];
      return { ...jsonLines, says: says.folder, dataFiles, dropLabels: rows.frames > 0, fields };
    }
    case "dpo": {
      const isOpenai = options.style === "openai";
      const names = isOpenai
        ? ["input", "preferred_output", "non_preferred_output"]
        : ["id", "prompt", "chosen", "rejected"];
      const fields = names.map((name) => [name, text] as const);
      return { ...jsonLines, says: says.dpo, dataFiles: ["train.jsonl"], fields };
    }
    case "webdataset": {
      const sound = options.audio ? [["wav", "sc:AudioObject"] as const] : [];
      const fields = [["json", text] as const, ...sound, images];
      const mediaType = "application/x-tar";
      const dataFiles = ["shard-*.tar"];
      return { says: says.shards, dataFiles, dropLabels: false, mediaType, fields };
    }
    case "jsonl": {
      const fields = ["name", "record", "messages", "media"].map((name) => [name, text] as const);
      return { ...jsonLines, says: says.packages, dataFiles: ["packages.jsonl"], fields };
    }
  }
}

const says = {
  kto: "Each row is an answer, what it was given to, and whether a person liked it: for KTO (TRL).",
  vision:
    "Each row is an answer, what it was given to, what the camera saw, and whether a person liked it: for the vision KTO of TRL.",
  folder:
    "Each row is an answer, what it was given to, what the camera saw, and whether a person liked it. The pictures are files beside `metadata.jsonl`.",
  dpo: "Each row is an answer, what it was given to, and what a person would have said instead: for preference tuning.",
  shards:
    "Each sample is a judged answer with picture and sound of the two minutes before. In the JSON, `record` (with the times of pictures and sound) and `messages` are JSON text.",
  packages:
    "Each row is a package as it was recorded. Paths in `media` begin in the folder that the packages are kept in; the media are not in this export.",
} as const;
