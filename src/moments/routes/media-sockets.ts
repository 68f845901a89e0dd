import type { WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";
import { ThroughlineError } from "../../core/errors.ts";
import type { AcceptedSocket } from "../../server/upgrade.ts";
import type { Moments, MomentsStatistics } from "../moments.ts";
import { MediaSocket, mediaCloses, mediaHeaderBytes, mediaLimits } from "./media-socket.ts";

const lookEveryMs = 1_000;
/** Pictures or sound that came so lately are coming in. */
const capturingMs = 3_000;
/** How long a sender has to notice that the server ends. */
const closeMs = 200;
/** Of one picture, as everywhere else. */
const maxMessageBytes = 2 * 1024 * 1024 + mediaHeaderBytes;

/** The numbers of the rolling buffers as they are published, and whether anything comes in. */
export type BufferState = MomentsStatistics & {
  /** Whether pictures and sound come in now, by whatever router. */
  readonly capturing: { readonly frames: boolean; readonly audio: boolean };
};

/** Everybody who sends pictures and sound, and the state of what they fill. */
export class MediaSockets {
  readonly #moments: Moments;
  readonly #clock: Clock;
  readonly #tell: (state: BufferState) => void;
  readonly #sockets = new Set<MediaSocket>();
  readonly #timer: NodeJS.Timeout;
  readonly #seen = {
    frames: { count: 0, atMs: Number.NEGATIVE_INFINITY },
    audio: { count: 0, atMs: Number.NEGATIVE_INFINITY },
  };
  #published = "";
  #isOver = false;

  /** @param tell is called with the state of the buffers at most once a second, when anything has changed. */
  constructor(moments: Moments, clock: Clock, tell: (state: BufferState) => void) {
    this.#moments = moments;
    this.#clock = clock;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    moments.onAgreed(() => this.#consentChanged());
  }

  get size(): number {
    return this.#sockets.size;
  }

  /**
   * What takes a WebSocket once its handshake is done. Without consent it is closed at once, with the
   * code that says so: a page sees no other answer.
   *
   * @throws ThroughlineError `THROUGHLINE_BUSY`: there are enough. `THROUGHLINE_CLOSED`
   */
  accept(): AcceptedSocket {
    if (this.#isOver) {
      throw new ThroughlineError("this server is ending", { code: "THROUGHLINE_CLOSED" });
    }
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
    const moments = this.#moments;
    const { frames, audio } = moments.recorder.fed;
    const capturing = {
      frames: this.#isComing("frames", frames),
      audio: this.#isComing("audio", audio),
    };
    return { ...moments.statistics(), capturing };
  }

  /** After a change of what is agreed to: ends what must not continue, and publishes it. */
  #consentChanged(): void {
    for (const socket of this.#sockets) socket.checkConsent();
    this.#publish();
  }

  /** Takes no more in, and closes those that are open. */
  end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
    if (this.#sockets.size === 0) return;
    for (const socket of this.#sockets) socket.close(mediaCloses.ending);
    setTimeout(() => {
      for (const socket of this.#sockets) socket.terminate();
    }, closeMs);
  }

  get #isFull(): boolean {
    return this.#sockets.size >= mediaLimits.sockets;
  }

  #look(): void {
    for (const socket of this.#sockets) {
      if (socket.checkConsent()) socket.look();
    }
    this.#publish();
  }

  #publish(): void {
    const state = this.state();
    const text = JSON.stringify(state);
    if (text === this.#published) return;
    this.#published = text;
    this.#tell(state);
  }

  #isComing(stream: "frames" | "audio", count: number): boolean {
    const seen = this.#seen[stream];
    const now = this.#clock.monotonic();
    const { [stream]: isAgreed } = this.#moments.recorder.consent;
    if (count !== seen.count) this.#seen[stream] = { count, atMs: now };
    return isAgreed && now - this.#seen[stream].atMs < capturingMs;
  }
}
