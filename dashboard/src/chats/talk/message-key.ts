// Names for what is sent: the server makes the message's id of them, so that it is stored once.

/** A new name that nobody guesses. (`randomUUID` is there on secure origins only.) */
export function newKey(): string {
  return hex(crypto.getRandomValues(new Uint8Array(12)));
}

/** The id that a message sent with this key has; `undefined` where the browser cannot tell. */
export async function messageIdFor(key: string): Promise<string | undefined> {
  // Absent on plain http from another machine.
  const subtle = crypto.subtle as SubtleCrypto | undefined;
  const digest = await subtle?.digest("SHA-256", new TextEncoder().encode(key));
  return digest === undefined ? undefined : `i_${hex(new Uint8Array(digest)).slice(0, 32)}`;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
