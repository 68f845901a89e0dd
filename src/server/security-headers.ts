/** Only what this server serves itself may run, load or be talked to; nobody may frame it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/**
 * For a file that a person or another machine made: a browser stores it, and runs nothing of it. Pictures
 * and sound can still be shown by the page.
 */
export function foreignFile(fileName: string, type: string) {
  return {
    "content-type": type,
    "content-disposition": `attachment; filename="${fileName}"`,
    "content-security-policy": "default-src 'none'; sandbox",
  };
}

/** On every response, refusals included. There is no header that lets another origin in. */
export const securityHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
