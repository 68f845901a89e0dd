// The camera and the microphone of this page, for all views: a person turns them on, and they go off
// when they, or the server, say so.
import { queryClient, request, signedOut } from "../../api/client.ts";
import type { Buffers, Consent } from "../../api/openapi-types.ts";
import { Store, useStore } from "../../api/store.ts";
import { statsKey } from "../use-moments.ts";
import { openCamera } from "./camera.ts";
import { MediaLink, pictureKind, soundKind } from "./media-link.ts";
import { Microphone } from "./microphone.ts";
import { deviceTrouble, endedTrouble } from "./words.ts";

interface CaptureState {
  readonly phase: "off" | "starting" | "on";
  readonly camera: boolean;
  readonly microphone: boolean;
  /** Whether the server receives it. */
  readonly isConnected: boolean;
  /** Pictures and chunks of sound that could not be sent. */
  readonly missed: number;
  /** Why it is off, or what does not work, for the person. */
  readonly trouble: string | undefined;
  /** For the preview. */
  readonly stream: MediaStream | undefined;
}

export interface CaptureWish {
  readonly camera: boolean;
  readonly microphone: boolean;
  /** The consent, with the text that was shown. */
  readonly consent: Omit<Consent, "timestamp" | "by"> & { readonly wording: string };
}

const off: CaptureState = {
  phase: "off",
  camera: false,
  microphone: false,
  isConnected: false,
  missed: 0,
  trouble: undefined,
  stream: undefined,
};
const state = new Store(off);
/** Turns everything off that is on. */
let release: (() => void) | undefined;

export function useCapture(): CaptureState {
  return useStore(state);
}

/** Why this browser cannot capture at this address; `undefined`: it can. */
export function captureMissing(): string | undefined {
  if (!window.isSecureContext) {
    return "Browsers allow camera and microphone only over https or on localhost.";
  }
  const all = window as unknown as Record<string, unknown>;
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  const isThere =
    devices !== undefined && ["OffscreenCanvas", "AudioWorkletNode"].every((name) => name in all);
  return isThere ? undefined : "This browser cannot capture pictures and sound.";
}

/** Turns on what is wished for, after a person agreed to it. Never rejects: `trouble` says why. */
export async function startCapture(wish: CaptureWish): Promise<void> {
  if (state.get().phase !== "off") return;
  state.set({ ...off, phase: "starting", camera: wish.camera, microphone: wish.microphone });
  const open: (() => void)[] = [];
  const free = () => {
    for (const each of open.splice(0).reverse()) each();
  };
  release = free;
  try {
    const stream = await devices(wish);
    open.push(() => stop(stream));
    if (release !== free) return free();
    await agree(wish.consent);
    // The person may have changed their mind while the browser asked.
    if (release !== free) return free();
    await begin(wish, stream, open);
    if (release !== free) return free();
    state.set({ ...state.get(), phase: "on", stream });
  } catch (error) {
    if (release === free) end(deviceTrouble(error));
    else free();
  }
}

/** Turns everything off, here and at once, and withdraws the consent for it. */
export async function stopCapture(): Promise<void> {
  end(undefined);
  const before = agreeing;
  try {
    const { consent } = await request<Buffers>("/api/feedback/stats");
    if (agreeing !== before) return;
    const { messages, upload, export: mayExport, wording } = consent;
    const left = { messages, upload, export: mayExport, frames: false, audio: false };
    await agree(wording === null ? left : { ...left, wording });
  } catch (error) {
    // It was turned on, or off, again.
    const isPast = error instanceof DOMException && error.name === "AbortError";
    if (isPast || state.get().phase !== "off") return;
    const minutes = "What it holds in memory is discarded after two minutes.";
    state.set({
      ...off,
      trouble: `Turned off here, but the server could not be reached. ${minutes}`,
    });
  }
}

/** Forgets what went wrong last. */
export function clearTrouble(): void {
  if (state.get().phase === "off") state.set(off);
}

signedOut.subscribe(() => {
  // Nothing would show that it is on.
  if (signedOut.get() && state.get().phase !== "off") end(undefined);
});

function devices({ camera, microphone }: CaptureWish): Promise<MediaStream> {
  return navigator.mediaDevices.getUserMedia({
    video: camera && { width: { ideal: 640 }, height: { ideal: 480 }, frameRate: { ideal: 15 } },
    audio: microphone && { channelCount: { ideal: 1 } },
  });
}

/** What is agreed to last counts: nothing before it comes after it. */
let agreeing = new AbortController();

async function agree(body: object): Promise<void> {
  agreeing.abort();
  agreeing = new AbortController();
  const init = { method: "POST", body, signal: agreeing.signal } as const;
  const given = await request<Consent>("/api/feedback/consent", init);
  queryClient.setQueryData<Buffers | null>(statsKey, (stats) =>
    stats ? { ...stats, consent: given } : stats,
  );
}

async function begin(wish: CaptureWish, stream: MediaStream, open: (() => void)[]): Promise<void> {
  let wasConnected = false;
  const link = new MediaLink({
    open: () => new WebSocket(mediaAddress()),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    onState: (now) => {
      if (now.is === "ended") end(endedTrouble(now.why));
      else state.set({ ...state.get(), isConnected: now.is === "open" });
      wasConnected ||= now.is === "open";
    },
    // A 401 shows the sign-in.
    onBreak: () => void request("/api/feedback/stats").catch(() => undefined),
  });
  open.push(() => link.close());
  // The first pictures come before the server can receive any: none of them is missed.
  const missed = (isSent: boolean) => {
    if (!isSent && wasConnected) state.set({ ...state.get(), missed: state.get().missed + 1 });
  };
  for (const track of stream.getTracks()) {
    track.addEventListener("ended", () => end("The camera or the microphone was disconnected."));
  }
  if (wish.camera) {
    const camera = openCamera(stream, {
      picture: (bytes, capturedMs) => missed(link.send({ kind: pictureKind, capturedMs, bytes })),
      failed: (error) => end(deviceTrouble(error)),
    });
    open.push(() => camera.close());
  }
  if (wish.microphone) {
    const microphone = await Microphone.open(stream, (bytes, capturedMs) =>
      missed(link.send({ kind: soundKind, capturedMs, bytes })),
    );
    open.push(() => microphone.close());
  }
}

/** Absolute: older browsers take no other. */
function mediaAddress(): string {
  const { host, protocol } = window.location;
  return `${protocol === "https:" ? "wss" : "ws"}://${host}/api/media`;
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function end(trouble: string | undefined): void {
  const free = release;
  release = undefined;
  free?.();
  state.set({ ...off, trouble });
}
