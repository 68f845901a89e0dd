// The answers of S3 as bytes: status, headers, XML.
import { isoTime } from "../../../src/core/clock.ts";
import type { S3Refusal } from "./sigv4.ts";

export interface S3Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether an object was stored or removed. */
  readonly changed?: boolean;
}

const nothing = Buffer.alloc(0);

export function ok(
  headers: Readonly<Record<string, string>> = {},
  body: Buffer = nothing,
): S3Answer {
  return { status: 200, headers, body };
}

export function noContent(headers: Readonly<Record<string, string>> = {}): S3Answer {
  return { status: 204, headers, body: nothing, changed: true };
}

export function refused(
  { status, code, message }: S3Refusal,
  headers: Readonly<Record<string, string>> = {},
): S3Answer {
  const body = xml("Error", `<Code>${code}</Code><Message>${escapeXml(message)}</Message>`);
  return { status, headers: { "content-type": "application/xml", ...headers }, body };
}

export function error(status: number, code: string, message = code): S3Answer {
  return refused({ status, code, message });
}

export interface ListPage {
  readonly bucket: string;
  readonly prefix: string;
  readonly objects: readonly {
    readonly key: string;
    readonly size: number;
    readonly etag: string;
    readonly modifiedMs: number;
  }[];
  readonly maxKeys: number;
  /** Where the next page begins; absent on the last. */
  readonly next: string | undefined;
}

export function listing(page: ListPage): S3Answer {
  const contents = page.objects
    .map(
      ({ key, size, etag, modifiedMs }) =>
        `<Contents><Key>${escapeXml(key)}</Key><LastModified>${isoTime(modifiedMs)}</LastModified>` +
        `<ETag>${escapeXml(etag)}</ETag><Size>${size}</Size></Contents>`,
    )
    .join("");
  const next =
    page.next === undefined
      ? ""
      : `<NextContinuationToken>${escapeXml(page.next)}</NextContinuationToken>`;
  const body = xml(
    "ListBucketResult",
    `<Name>${escapeXml(page.bucket)}</Name><Prefix>${escapeXml(page.prefix)}</Prefix>` +
      `<KeyCount>${page.objects.length}</KeyCount><MaxKeys>${page.maxKeys}</MaxKeys>` +
      `<IsTruncated>${page.next !== undefined}</IsTruncated>${next}${contents}`,
  );
  return ok({ "content-type": "application/xml" }, body);
}

/** What a hotel's network answers to everything. */
export const portalPage: S3Answer = ok(
  { "content-type": "text/html" },
  Buffer.from("<!doctype html><html><body>Please accept our terms.</body></html>\n"),
);

function xml(name: string, content: string): Buffer {
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<${name}>${content}</${name}>`);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
