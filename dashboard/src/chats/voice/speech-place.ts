// A browser recognises speech and reads aloud on the device, or lets its vendor's service do it. Nothing
// is sent to a service before the person agreed.

/** `download`: on the device, once the browser has downloaded what it needs for the language. */
export type SpeechPlace = "device" | "download" | "vendor";

interface OnDeviceOptions {
  readonly langs: readonly string[];
  readonly processLocally: true;
}

/** What newer browsers have for recognition on the device. */
export interface OnDeviceRecognition {
  available?(options: OnDeviceOptions): Promise<string>;
  install?(options: OnDeviceOptions): Promise<boolean>;
}

/** Where this browser can recognise speech. */
export async function placeOf(
  recognition: OnDeviceRecognition,
  language: string,
): Promise<SpeechPlace> {
  if (recognition.available === undefined) return "vendor";
  try {
    const state = await recognition.available(optionsFor(language));
    if (state === "available") return "device";
    const canInstall = state === "downloadable" || state === "downloading";
    return canInstall && recognition.install !== undefined ? "download" : "vendor";
  } catch {
    return "vendor"; // as it is where nothing is known
  }
}

/** @returns whether speech is recognised on the device from now on. */
export async function installOnDevice(
  recognition: OnDeviceRecognition,
  language: string,
): Promise<boolean> {
  try {
    return (await recognition.install?.(optionsFor(language))) === true;
  } catch {
    return false;
  }
}

function optionsFor(language: string): OnDeviceOptions {
  return { langs: [language], processLocally: true };
}

export interface Voice {
  readonly lang: string;
  readonly default: boolean;
  /** `false`: the words are sent to a service that speaks them. */
  readonly localService: boolean;
}

/** The voice of the device to read with: the default one, else one of the language; none otherwise. */
export function voiceOfDevice<V extends Voice>(
  voices: readonly V[],
  language: string,
): V | undefined {
  const local = voices.filter(({ localService }) => localService !== false);
  const base = (lang: string) => lang.toLowerCase().split(/[-_]/)[0];
  const ofLanguage = local.filter(({ lang }) => base(lang) === base(language));
  const exact = ofLanguage.find(({ lang }) => lang.replace("_", "-") === language);
  return local.find((voice) => voice.default) ?? exact ?? ofLanguage[0];
}

/** What a person may agree to, once for a browser. */
type VendorUse = "listening" | "reading";

export function hasAgreed(use: VendorUse): boolean {
  return localStorage.getItem(keyOf(use)) === "yes";
}

export function agree(use: VendorUse): void {
  localStorage.setItem(keyOf(use), "yes");
}

const keyOf = (use: VendorUse) => `throughline-vendor-${use}`;
