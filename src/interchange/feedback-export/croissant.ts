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
  const { says, fields, mediaType } = formatFacts(report);
  const rowFiles = report.files.filter(({ path }) => !path.includes("/"));
  const hasPictures = report.files.some(({ path }) => path.includes("/"));
  const pictures = {
    ...{ "@type": "cr:FileSet", "@id": "pictures", name: "pictures" },
    ...{ encodingFormat: "image/jpeg", includes: "*/frames/*.jpg" },
  };
  const isOfFiles = report.format === "imagefolder";
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
    distribution: [
      ...rowFiles.map(({ path, bytes, sha256 }) => ({
        ...{ "@type": "cr:FileObject", "@id": path, name: path, contentUrl: path },
        ...{ contentSize: `${bytes} B`, encodingFormat: mediaType, sha256 },
      })),
      ...(rowFiles.length === 0
        ? []
        : [
            {
              ...{ "@type": "cr:FileSet", "@id": "rows", name: "rows", encodingFormat: mediaType },
              ...{ containedIn: rowFiles.map(({ path }) => ({ "@id": path })), includes: "*" },
            },
          ]),
      ...(hasPictures ? [pictures] : []),
    ],
    recordSet:
      rowFiles.length === 0
        ? []
        : [
            {
              ...{ "@type": "cr:RecordSet", "@id": "default", name: "default" },
              field: fields.map(([name, dataType]) => ({
                ...{ "@type": "cr:Field", "@id": `default/${name}`, name, dataType },
                source:
                  isOfFiles && name === "images" && hasPictures
                    ? { fileSet: { "@id": "pictures" }, extract: { fileProperty: "content" } }
                    : { fileSet: { "@id": "rows" }, extract: { column: name } },
              })),
            },
          ],
  };
}
