import {
  anObject,
  aText,
  aTextOrFunction,
  byDefault,
  maybe,
  must,
  type Options,
  type Resolved,
  resolveOptions,
} from "../core/options.ts";
import type { ConsentInput } from "./record/consent.ts";
import type { FrameEncoder } from "./record/media.ts";
import type { S3TargetOptions } from "./s3/options.ts";

/** What is recorded, and where it goes. */
export interface MomentsOptions {
  /** The run's id: 8 hexadecimal digits. */
  readonly sessionId: string;
  /** What writes the packages: stored in each. */
  readonly software: { readonly name: string; readonly version: string };
  /**
   * The consent that applies until someone gives or refuses theirs.
   * @default messages alone; nothing leaves the machine
   */
  readonly consent?: ConsentInput | undefined;
  /** Makes a JPEG of raw pictures. Absent: they are refused. */
  readonly encoder?: FrameEncoder | undefined;
  /**
   * Where packages go: `local`; `local+s3`, to the disk and then to the bucket; `s3`, to the bucket,
   * and to the disk while the bucket is not available. Any other is `local`, and the statistics say so.
   * @default "local+s3", which is `local` as long as no bucket is named
   */
  readonly mode?: string | undefined;
  /**
   * Records by rule too: a long pat, and words that hurt, one of either in 30 s.
   * @default false
   */
  readonly autoRecord?: boolean | undefined;
  /** The bucket. Without one, nothing ever leaves the machine. */
  readonly s3?: S3TargetOptions | undefined;
  /**
   * What stands before every conversation, as the turns have it: kept with each package. A function is
   * called when somebody reacts. It must not throw.
   */
  readonly persona?: string | (() => string) | undefined;
  /**
   * Whether models are offered the skills: then the prompt that they get says so.
   * @default false
   */
  readonly withSkills?: boolean | undefined;
  /** Which of a person's words hurt, such as those of `companion.emotions`. @default none */
  readonly hurtful?: ((text: string) => readonly string[]) | undefined;
}

const options = {
  consent: maybe(anObject),
  encoder: maybe(),
  mode: maybe(aText),
  autoRecord: byDefault(false),
  s3: maybe(),
  persona: maybe(aTextOrFunction),
  withSkills: byDefault(false),
  hurtful: byDefault(() => []),
  sessionId: must(["8 hexadecimal digits", (value) => /^[0-9a-f]{8}$/.test(String(value))]),
  software: must(anObject),
} satisfies Options<MomentsOptions>;

export type MomentsSettings = Resolved<MomentsOptions, typeof options>;

/** @throws ThroughlineError `THROUGHLINE_CONFIGURATION`: an option cannot be used. */
export function momentsSettings(given: MomentsOptions): MomentsSettings {
  return resolveOptions("the options of startMoments", given, options);
}
