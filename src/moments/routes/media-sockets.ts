import type { WebSocket } from "ws";
import type { Clock } from "../../core/clock.ts";
import { ThroughlineError } from "../../core/errors.ts";
import type { NewId } from "../../core/ids.ts";
import type { Moments, MomentsStatistics } from "../moments.ts";
import { MediaSocket, mediaCloses, mediaLimits } from "./media-socket.ts";

const lookEveryMs = 1_000;
/** Pictures or sound that came so lately are coming in. */
const capturingMs = 3_000;
/** How long a sender has to hear that the server ends. */
const closeMs = 200;

/** The numbers of the rolling buffers as they are told, and whether anything comes in. */
export type BufferState = Omit<MomentsStatistics, "loss"> & {
  /** Whether pictures and sound come in now, by whatever router. */
  readonly capturing: { readonly frames: boolean; readonly audio: boolean };
};

interface MediaPorts {
  readonly moments: Moments | undefined;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Who watches hears of the buffers, at most once a second, when anything has changed. */
  readonly tell: (state: BufferState) => void;
}

/** Everybody who sends pictures and sound, and the state of what they fill. */
export class MediaSockets {
  readonly #ports: MediaPorts;
  readonly #sockets = new Set<MediaSocket>();
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #seen = {
    frames: { count: 0, atMs: Number.NEGATIVE_INFINITY },
    audio: { count: 0, atMs: Number.NEGATIVE_INFINITY },
  };
  #told = "";
  #isOver = false;

  constructor(ports: MediaPorts) {
    this.#ports = ports;
    if (ports.moments === undefined) return;
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    ports.moments.onAgreed(() => this.#consentChanged());
  }

  get size(): number {
    return this.#sockets.size;
  }

  /**
   * What takes a WebSocket once its handshake is done. Without consent it is closed at once, with the
   * code that says so: a page sees no other answer.
   *
   * @throws ThroughlineError `THROUGHLINE_NOT_FOUND`: no moments are kept here.
   * @throws ThroughlineError `THROUGHLINE_BUSY`: there are enough. `THROUGHLINE_CLOSED`
   */
  offer(): (socket: WebSocket) => void {
    const { moments, clock, newId } = this.#ports;
    if (moments === undefined) {
      throw new ThroughlineError("no moments are kept here", { code: "THROUGHLINE_NOT_FOUND" });
    }
    if (this.#isOver) {
      throw new ThroughlineError("this server is ending", { code: "THROUGHLINE_CLOSED" });
    }
    if (this.#isFull) {
      throw new ThroughlineError("enough feeds are open already", { code: "THROUGHLINE_BUSY" });
    }
    return (socket) => {
      const feed = new MediaSocket(socket, {
        ...{ recorder: moments.recorder, clock, connection: `media ${newId()}` },
        onClose: () => this.#sockets.delete(feed),
      });
      // Others may have come while it shook hands.
      if (this.#isFull) feed.close(mediaCloses.busy);
      if (this.#isOver) feed.close(mediaCloses.ending);
      this.#sockets.add(feed);
    };
  }

  /** The state of the buffers now; `undefined` where no moments are kept. */
  state(): BufferState | undefined {
    const { moments } = this.#ports;
    if (moments === undefined) return undefined;
    const { loss, ...shown } = moments.statistics();
    const { frames, audio } = loss;
    // A picture too many has come in, too.
    const capturing = {
      frames: this.#isComing("frames", frames.accepted + frames.throttled),
      audio: this.#isComing("audio", audio.accepted),
    };
    return { ...shown, capturing };
  }

  /** After a change of what is agreed to: ends what must not go on, and tells everyone. */
  #consentChanged(): void {
    for (const socket of this.#sockets) socket.checkConsent();
    this.#tell();
  }

  /** Takes nobody more in, and says good-bye. */
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
    this.#tell();
  }

  #tell(): void {
    const state = this.state();
    if (state === undefined) return;
    const text = JSON.stringify(state);
    if (text === this.#told) return;
    this.#told = text;
    this.#ports.tell(state);
  }

  #isComing(stream: "frames" | "audio", count: number): boolean {
    const seen = this.#seen[stream];
    const now = this.#ports.clock.monotonic();
    const { [stream]: isAgreed } = this.#ports.moments?.recorder.consent ?? {};
    if (count !== seen.count) this.#seen[stream] = { count, atMs: now };
    return isAgreed === true && now - this.#seen[stream].atMs < capturingMs;
  }
}
