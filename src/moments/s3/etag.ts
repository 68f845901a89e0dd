/**
 * The MD5 of what was stored, where an ETag tells it: 32 hex digits, and not encrypted with a key of
 * a key service, whose ETags look the same and are not.
 */
export function md5OfEtag(etag: string, encryption?: string): string | undefined {
  if (encryption?.startsWith("aws:kms") === true) return undefined;
  return /^"?([0-9a-f]{32})"?$/i.exec(etag)?.[1]?.toLowerCase();
}
