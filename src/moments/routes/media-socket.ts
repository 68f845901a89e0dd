import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";
import type { MomentRecorder } from "../record/moment-recorder.ts";

/** Why a WebSocket of media was closed. The codes are API, as those of errors are. */
export const mediaCloses = {
  /** RFC 6455: the server ends, or keeps no moments any more. */
  ending: { code: 1001, reason: "ending" },
  /** RFC 6455: what was sent is no message of ours. */
  notMedia: { code: 1003, reason: "not media" },
  /** RFC 6455: more sockets than one server has. */
  busy: { code: 1013, reason: "busy" },
  /** There is no consent to pictures or sound, or not any more. */
  noConsent: { code: 4403, reason: "no consent" },
} as const;
type Close = (typeof mediaCloses)[keyof typeof mediaCloses];

export const mediaLimits = {
  /** Open at once: somebody's page, another device, a robot. */
  sockets: 8,
  /** Ten times what a page sends; beyond it the socket is read no faster. */
  messagesPerSecond: 120,
  /** Two of the largest pictures a second, and sound. */
  bytesPerSecond: 5_000_000,
  /** What may come at once: as much as in this time at that pace. */
  burstMs: 4_000,
  /** A socket that did not answer a ping by the next one is dropped. */
  pingEveryMs: 15_000,
  /** How often a sender gets the counts of what was refused. */
  refusedEveryMs: 1_000,
  /** What may wait for a sender that does not read; then it gets nothing more. */
  unreadBytes: 65_536,
} as const;

/** One sender of pictures and sound, from its handshake to its end. */
export class MediaSocket {
  readonly #socket: WebSocket;
  readonly #recorder: MomentRecorder;
  readonly #clock: Clock;
  /** When all that was sent would have come at the pace of the limits. */
  #dueMs = Number.NEGATIVE_INFINITY;
  readonly #refused = new Map<string, number>();
  #refusedSentMs = Number.NEGATIVE_INFINITY;
  #resume: NodeJS.Timeout | undefined;
  #isAnswering = true;
  #pingedMs: number;

  constructor(socket: WebSocket, recorder: MomentRecorder, clock: Clock) {
    this.#socket = socket;
    this.#recorder = recorder;
    this.#clock = clock;
    this.#pingedMs = clock.monotonic();
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("pong", () => {
      this.#isAnswering = true;
    });
    socket.on("error", () => undefined); // too large, or broken: it closes itself, with its code
    socket.once("close", () => clearTimeout(this.#resume));
    this.checkConsent();
  }

  /** Closes the socket when what it sends is not agreed to. @returns whether it may go on. */
  checkConsent(): boolean {
    const { frames, audio } = this.#recorder.consent;
    if (frames || audio) return true;
    this.close(mediaCloses.noConsent);
    return false;
  }

  /** Looks whether the other side is there, now and then. Called about once a second. */
  look(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pingedMs < mediaLimits.pingEveryMs) return;
    this.#pingedMs = now;
    // What is not read now hears no answer.
    if (!this.#isAnswering && this.#resume === undefined) this.#socket.terminate();
    this.#isAnswering = false;
    this.#socket.ping();
  }

  close({ code, reason }: Close): void {
    this.#socket.close(code, reason);
    // Closing waits for an answer, which a socket that is not read would not hear.
    this.#socket.resume();
  }

  /** Lets go of the connection, at once. */
  terminate(): void {
    this.#socket.terminate();
  }

  #take(data: RawData, isBinary: boolean): void {
    // What came behind that which closed it is nothing.
    if (this.#socket.readyState !== this.#socket.OPEN || !this.checkConsent()) return;
    const bytes = data instanceof Buffer ? data : undefined;
    const message = isBinary && bytes !== undefined ? readMediaMessage(bytes) : undefined;
    if (bytes === undefined || message === undefined) {
      this.close(mediaCloses.notMedia);
      return;
    }
    this.#isAnswering = true;
    this.#feed(message);
    this.#slow(bytes.length);
  }

  #feed({ kind, capturedMs, payload }: MediaMessage): void {
    const recorder = this.#recorder;
    const push = { sourceMs: capturedMs };
    const result = kind === "audio" ? recorder.audio(payload, push) : recorder.frame(payload, push);
    if (result === "closed") this.close(mediaCloses.ending);
    // A picture too many is the sender's everyday life.
    else if (result !== "accepted" && result !== "throttled") this.#refuse(`${kind}: ${result}`);
  }

  /** Who sends faster than anything real is read more slowly: it is the sender that waits. */
  #slow(bytes: number): void {
    const { messagesPerSecond, bytesPerSecond, burstMs } = mediaLimits;
    const now = this.#clock.monotonic();
    const paceMs = Math.max(1_000 / messagesPerSecond, (bytes * 1_000) / bytesPerSecond);
    this.#dueMs = Math.max(this.#dueMs, now - burstMs) + paceMs;
    const waitMs = this.#dueMs - now;
    if (waitMs <= 0 || this.#resume !== undefined) return;
    this.#socket.pause();
    this.#resume = setTimeout(() => {
      this.#resume = undefined;
      this.#socket.resume();
    }, waitMs);
  }

  /** Sends the counts of what was refused since the last time: `{"refused":{"frame: not_jpeg":2}}`. */
  #refuse(what: string): void {
    this.#refused.set(what, (this.#refused.get(what) ?? 0) + 1);
    const now = this.#clock.monotonic();
    if (now - this.#refusedSentMs < mediaLimits.refusedEveryMs) return;
    if (this.#socket.bufferedAmount > mediaLimits.unreadBytes) return;
    this.#refusedSentMs = now;
    this.#socket.send(JSON.stringify({ refused: Object.fromEntries(this.#refused) }));
    this.#refused.clear();
  }
}

/** 1: samples, 16 bits little endian, 16 kHz mono. 2: a JPEG. */
const mediaKinds = { 1: "audio", 2: "frame" } as const;
type MediaKind = (typeof mediaKinds)[keyof typeof mediaKinds];

/** The kind, and the time as a float64, little endian. */
export const mediaHeaderBytes = 9;

/**
 * One message of the WebSocket `/api/media`: a byte that says what it is, eight that say when it was
 * taken, and the bytes of a picture or of sound.
 */
interface MediaMessage {
  readonly kind: MediaKind;
  /**
   * When the picture, or the first sample, was taken: milliseconds of the sender's monotonic clock,
   * which need not be ours. Absent where the sender wrote NaN: it does not know.
   */
  readonly capturedMs: number | undefined;
  /** Not copied. */
  readonly payload: Uint8Array;
}

/** @returns `undefined`: it is no such message. */
export function readMediaMessage(bytes: Uint8Array): MediaMessage | undefined {
  if (bytes.length < mediaHeaderBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = kindOf(view.getUint8(0));
  const time = view.getFloat64(1, true);
  if (kind === undefined || Math.abs(time) > Number.MAX_SAFE_INTEGER) return undefined;
  const capturedMs = Number.isNaN(time) ? undefined : time;
  return { kind, capturedMs, payload: bytes.subarray(mediaHeaderBytes) };
}

function kindOf(byte: number): MediaKind | undefined {
  return byte === 1 || byte === 2 ? mediaKinds[byte] : undefined;
}
