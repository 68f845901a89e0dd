/** The part of a WebSocket that is used. */
type LinkSocket = Pick<WebSocket, "close" | "send" | "addEventListener"> & {
  readonly readyState: number;
  readonly bufferedAmount: number;
};

/** `ended`: for good, and `why` says so. */
type LinkState =
  | { readonly is: "connecting" | "open" | "waiting" }
  | { readonly is: "ended"; readonly why: "consent" | "refused" };

interface LinkPorts {
  readonly open: () => LinkSocket;
  /** @returns what takes it back. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly onState: (state: LinkState) => void;
  /** It broke or never opened: a request tells whether the person is still signed in. */
  readonly onBreak: () => void;
}

const firstWaitMs = 500;
const maxWaitMs = 15_000;
/** The most bytes that may wait in the socket for a picture: the next one is as good. */
const maxWaitingPictures = 262_144;
/** Half a minute of sound. */
const maxWaiting = 1_048_576;
const openState = 1;

/** The codes with which the server closes a WebSocket for good. */
const closes: Readonly<Record<number, "consent" | "refused">> = {
  1003: "refused",
  1009: "refused",
  4403: "consent",
};

/**
 * Sends pictures and sound, and reconnects by itself. What cannot be sent now is dropped: the
 * recording has a gap there, and says so.
 */
export class MediaLink {
  readonly #ports: LinkPorts;
  #socket: LinkSocket | undefined;
  #waitMs = firstWaitMs;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(ports: LinkPorts) {
    this.#ports = ports;
    this.#connect();
  }

  /** @returns whether it is on its way. */
  send(media: Media): boolean {
    const socket = this.#socket;
    if (socket?.readyState !== openState) return false;
    const most = media.kind === pictureKind ? maxWaitingPictures : maxWaiting;
    if (socket.bufferedAmount > most) return false;
    socket.send(mediaMessage(media));
    return true;
  }

  close(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#socket?.close();
  }

  #connect(): void {
    const socket = this.#ports.open();
    this.#socket = socket;
    this.#ports.onState({ is: "connecting" });
    socket.addEventListener("open", () => {
      this.#waitMs = firstWaitMs;
      if (!this.#isOver) this.#ports.onState({ is: "open" });
    });
    socket.addEventListener("close", ({ code }) => this.#closed(code));
  }

  #closed(code: number): void {
    if (this.#isOver) return;
    const why = closes[code];
    if (why !== undefined) {
      this.#isOver = true;
      this.#ports.onState({ is: "ended", why });
      return;
    }
    this.#ports.onState({ is: "waiting" });
    this.#ports.onBreak();
    this.#cancel = this.#ports.after(this.#waitMs, () => this.#connect());
    this.#waitMs = Math.min(this.#waitMs * 2, maxWaitMs);
  }
}

export const soundKind = 1;
export const pictureKind = 2;
const headerBytes = 9;

interface Media {
  readonly kind: typeof soundKind | typeof pictureKind;
  /** When the picture or the first sample was taken, on this page's clock. */
  readonly capturedMs: number;
  readonly bytes: Uint8Array;
}

export function mediaMessage({ kind, capturedMs, bytes }: Media): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(headerBytes + bytes.length);
  const header = new DataView(message.buffer);
  header.setUint8(0, kind);
  header.setFloat64(1, capturedMs, true);
  message.set(bytes, headerBytes);
  return message;
}
