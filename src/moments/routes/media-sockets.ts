import type { RawData, WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";
import { closed, ThroughlineError } from "../../core/errors.ts";
import type { AcceptedSocket } from "../../server/upgrade.ts";
import type { Moments, MomentsStatistics } from "../moments.ts";
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
  /** A socket that did not answer a ping by the next one is dropped. */
  pingEveryMs: 15_000,
  /** How often a sender gets the counts of what was refused. */
  refusedEveryMs: 1_000,
  /** What may wait for a sender that does not read; then it gets nothing more. */
  unreadBytes: 65_536,
} as const;

const lookEveryMs = 1_000;
/** How long a sender has to notice that the server ends. */
const closeMs = 200;

/** The kind, and the time as a float64, little endian. */
export const mediaHeaderBytes = 9;
/** Of one picture, as everywhere else. */
const maxMessageBytes = 2 * 1024 * 1024 + mediaHeaderBytes;

/** The numbers of the rolling buffers as they are published, and whether anything comes in. */
export type BufferState = MomentsStatistics & {
  readonly capturing: MomentRecorder["capturing"];
};

/** Everybody who sends pictures and sound, and the state of what they fill. */
export class MediaSockets {
  readonly #moments: Moments;
  readonly #clock: Clock;
  readonly #tell: (state: BufferState) => void;
  readonly #sockets = new Set<MediaSocket>();
  readonly #timer: NodeJS.Timeout;
  #published = "";
  #isOver = false;

  /** @param tell is called with the state of the buffers at most once a second, when anything has changed. */
  constructor(moments: Moments, clock: Clock, tell: (state: BufferState) => void) {
    this.#moments = moments;
    this.#clock = clock;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    // What must not continue ends at once.
    moments.onAgreed(() => {
      for (const socket of this.#sockets) socket.checkConsent();
      this.#publish();
    });
  }

  /**
   * What takes a WebSocket once its handshake is done. Without consent it is closed at once, with the
   * code that says so: a page sees no other answer.
   *
   * @throws ThroughlineError `THROUGHLINE_BUSY`: there are enough. `THROUGHLINE_CLOSED`
   */
  accept(): AcceptedSocket {
    if (this.#isOver) throw closed("this server is ending");
    if (this.#isFull) {
      throw new ThroughlineError("enough feeds are open already", { code: "THROUGHLINE_BUSY" });
    }
    return { maxMessageBytes, open: (socket) => this.#open(socket) };
  }

  #open(socket: WebSocket): void {
    const feed = new MediaSocket(socket, this.#moments.recorder, this.#clock);
    socket.once("close", () => this.#sockets.delete(feed));
    // Others may have come while it shook hands.
    if (this.#isFull) feed.close(mediaCloses.busy);
    if (this.#isOver) feed.close(mediaCloses.ending);
    this.#sockets.add(feed);
  }

  /** The state of the buffers now. */
  state(): BufferState {
    return { ...this.#moments.statistics(), capturing: this.#moments.recorder.capturing };
  }

  /** Takes no more in, and closes those that are open. */
  end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    if (this.#sockets.size === 0) return;
    for (const socket of this.#sockets) socket.close(mediaCloses.ending);
    setTimeout(() => {
      for (const { socket } of this.#sockets) socket.terminate();
    }, closeMs);
  }

  get #isFull(): boolean {
    return this.#sockets.size >= mediaLimits.sockets;
  }

  #look(): void {
    for (const socket of this.#sockets) if (socket.checkConsent()) socket.look();
    this.#publish();
  }

  #publish(): void {
    const state = this.state();
    const text = JSON.stringify(state);
    if (text === this.#published) return;
    this.#published = text;
    this.#tell(state);
  }
}

/** One sender of pictures and sound, from its handshake to its end. */
class MediaSocket {
  readonly socket: WebSocket;
  readonly #recorder: MomentRecorder;
  readonly #clock: Clock;
  readonly #refused = new Map<string, number>();
  #refusedSentMs = Number.NEGATIVE_INFINITY;
  #isAnswering = true;
  #pingedMs: number;

  constructor(socket: WebSocket, recorder: MomentRecorder, clock: Clock) {
    this.socket = socket;
    this.#recorder = recorder;
    this.#clock = clock;
    this.#pingedMs = clock.monotonic();
    socket.on("message", (data, isBinary) => this.#take(data, isBinary));
    socket.on("pong", () => {
      this.#isAnswering = true;
    });
    socket.on("error", () => undefined); // too large, or broken: it closes itself, with its code
    this.checkConsent();
  }

  /** Closes the socket when what it sends is not agreed to. @returns whether it may go on. */
  checkConsent(): boolean {
    const { frames, audio } = this.#recorder.consent;
    if (!frames && !audio) this.close(mediaCloses.noConsent);
    return frames || audio;
  }

  /** Looks whether the other side is there, now and then. Called about once a second. */
  look(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pingedMs < mediaLimits.pingEveryMs) return;
    this.#pingedMs = now;
    if (!this.#isAnswering) this.socket.terminate();
    this.#isAnswering = false;
    this.socket.ping();
  }

  close({ code, reason }: Close): void {
    this.socket.close(code, reason);
  }

  #take(data: RawData, isBinary: boolean): void {
    // What came behind that which closed it is nothing.
    if (this.socket.readyState !== this.socket.OPEN || !this.checkConsent()) return;
    const message = isBinary && data instanceof Buffer ? readMediaMessage(data) : undefined;
    if (message === undefined) {
      this.close(mediaCloses.notMedia);
      return;
    }
    this.#isAnswering = true;
    const { kind, capturedMs: sourceMs, payload } = message;
    const result = this.#recorder[kind](payload, { sourceMs });
    if (result === "closed") this.close(mediaCloses.ending);
    // A picture too many is the sender's everyday life.
    else if (result !== "accepted" && result !== "throttled") this.#refuse(`${kind}: ${result}`);
  }

  /** Sends the counts of what was refused since the last time: `{"refused":{"frame: not_jpeg":2}}`. */
  #refuse(what: string): void {
    this.#refused.set(what, (this.#refused.get(what) ?? 0) + 1);
    const now = this.#clock.monotonic();
    if (now - this.#refusedSentMs < mediaLimits.refusedEveryMs) return;
    if (this.socket.bufferedAmount > mediaLimits.unreadBytes) return;
    this.#refusedSentMs = now;
    this.socket.send(JSON.stringify({ refused: Object.fromEntries(this.#refused) }));
    this.#refused.clear();
  }
}

/** Samples, 16 bits little endian, 16 kHz mono; a JPEG. */
const mediaKinds = new Map([
  [1, "audio"],
  [2, "frame"],
] as const);

/**
 * Reads one message: a byte that says what it is, eight with the milliseconds of the sender's monotonic clock,
 * which need not be ours, when the picture or the first sample was taken (NaN: not known), and the bytes of a
 * picture or of sound, which are not copied.
 *
 * @returns `undefined`: it is no such message.
 */
function readMediaMessage(bytes: Uint8Array) {
  if (bytes.length < mediaHeaderBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = mediaKinds.get(view.getUint8(0) as 1 | 2);
  const time = view.getFloat64(1, true);
  if (kind === undefined || Math.abs(time) > Number.MAX_SAFE_INTEGER) return undefined;
  const capturedMs = Number.isNaN(time) ? undefined : time;
  return { kind, capturedMs, payload: bytes.subarray(mediaHeaderBytes) };
}
