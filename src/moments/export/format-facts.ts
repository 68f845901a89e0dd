import type { FeedbackExportReport } from "./export-report.ts";

/** What the dataset card says of a format. */
export interface FormatFacts {
  /** One paragraph. */
  readonly says: string;
  /** Patterns of the files with the rows, for `datasets`. */
  readonly dataFiles: readonly string[];
  /** Stops `datasets` from guessing labels from the names of folders. */
  readonly dropLabels: boolean;
}

export function formatFacts({ format, rows }: FeedbackExportReport): FormatFacts {
  switch (format) {
    case "kto":
      return { says: says.kto, dataFiles: ["train.jsonl"], dropLabels: false };
    case "imagefolder": {
      // A pattern that matches nothing is an error to its reader.
      const pictures = rows.frames === 0 ? [] : ["*/frames/*"];
      const dataFiles = ["metadata.jsonl", ...pictures];
      return { says: says.folder, dataFiles, dropLabels: rows.frames > 0 };
    }
    case "dpo":
      return { says: says.dpo, dataFiles: ["train.jsonl"], dropLabels: false };
    case "jsonl":
      return { says: says.packages, dataFiles: ["packages.jsonl"], dropLabels: false };
  }
}

const says = {
  kto: "Each row is an answer, what it was given to, and whether a person liked it: for KTO (TRL).",
  folder:
    "Each row is an answer, what it was given to, the pictures that were sent and that the camera saw, and whether a person liked it. The pictures are files beside `metadata.jsonl`.",
  dpo: "Each row is an answer, what it was given to, and what a person would have said instead: for preference tuning.",
  packages:
    "Each row is a package as it was recorded. Paths in `media` begin in the folder that the packages are kept in; the media are not in this export.",
} as const;
