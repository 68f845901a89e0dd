import type { FeedbackExportReport } from "./export-report.ts";
import { formatFacts } from "./format-facts.ts";

const context = {
  "@language": "en",
  "@vocab": "https://schema.org/",
  citeAs: "cr:citeAs",
  column: "cr:column",
  conformsTo: "dct:conformsTo",
  cr: "http://mlcommons.org/croissant/",
  data: { "@id": "cr:data", "@type": "@json" },
  dataType: { "@id": "cr:dataType", "@type": "@vocab" },
  dct: "http://purl.org/dc/terms/",
  extract: "cr:extract",
  field: "cr:field",
  fileObject: "cr:fileObject",
  fileProperty: "cr:fileProperty",
  fileSet: "cr:fileSet",
  includes: "cr:includes",
  isLiveDataset: "cr:isLiveDataset",
  personalSensitiveInformation: "rai:personalSensitiveInformation",
  rai: "http://mlcommons.org/croissant/RAI/",
  recordSet: "cr:recordSet",
  sc: "https://schema.org/",
  sha256: "sc:sha256",
  source: "cr:source",
};

/**
 * `croissant.json`: the export in the vocabulary of dataset search engines, with a hash of each file
 * that holds rows. Source: Croissant 1.0 (MLCommons) and its RAI extension.
 */
export function croissant(report: FeedbackExportReport): object {
  const { says } = formatFacts(report);
  return {
    "@context": context,
    "@type": "sc:Dataset",
    conformsTo: "http://mlcommons.org/croissant/1.0",
    name: `judged-answers-${report.format}`,
    description: says,
    isLiveDataset: false,
    personalSensitiveInformation: [
      "Conversations of people at home, and where they agreed pictures of faces and recorded voices.",
    ],
    distribution: distribution(report),
    recordSet: recordSet(report),
  };
}

/** The files with rows; pictures of their own are a set. */
function rowFiles({ files }: FeedbackExportReport): FeedbackExportReport["files"] {
  return files.filter(({ path }) => !path.includes("/"));
}

function distribution(report: FeedbackExportReport): readonly object[] {
  const { dataFiles, mediaType } = formatFacts(report);
  const files = rowFiles(report);
  const rows = {
    "@type": "cr:FileSet",
    "@id": "rows",
    name: "rows",
    encodingFormat: mediaType,
    includes: dataFiles[0],
  };
  const pictures = {
    "@type": "cr:FileSet",
    "@id": "pictures",
    name: "pictures",
    encodingFormat: "image/jpeg",
    includes: "*/frames/*.jpg",
  };
  return [
    ...files.map(({ path, bytes, sha256 }) => ({
      "@type": "cr:FileObject",
      "@id": path,
      name: path,
      contentUrl: path,
      contentSize: `${bytes} B`,
      encodingFormat: mediaType,
      sha256,
    })),
    ...(files.length > 1 ? [rows] : []),
    ...(report.files.length > files.length ? [pictures] : []),
  ];
}

function recordSet(report: FeedbackExportReport): readonly object[] {
  const files = rowFiles(report);
  if (files[0] === undefined) return [];
  const rows =
    files.length > 1 ? { fileSet: { "@id": "rows" } } : { fileObject: { "@id": files[0].path } };
  const isInFiles = report.files.length > files.length;
  const sourceOf = (name: string) =>
    isInFiles && name === "images"
      ? { fileSet: { "@id": "pictures" }, extract: { fileProperty: "content" } }
      : { ...rows, extract: { column: name } };
  const field = formatFacts(report).fields.map(([name, dataType]) => ({
    "@type": "cr:Field",
    "@id": `default/${name}`,
    name,
    dataType,
    source: sourceOf(name),
  }));
  return [{ "@type": "cr:RecordSet", "@id": "default", name: "default", field }];
}
