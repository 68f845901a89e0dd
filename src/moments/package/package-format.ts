// The format of a package, for all who read or write one: what the memory, the targets and the exports
// share. The bytes are told in docs/formats.

export {
  isPackageName,
  isUuidV7,
  makeUuidV7,
  packageId,
  packageName,
  packageStamp,
} from "./package-name.ts";
export {
  type AudioRef,
  audioRateHz,
  type PackageSink,
  type Saved,
  SaveError,
  type SaveFailure,
  type SealedMoment,
} from "./package-sink.ts";
export {
  attachmentFile,
  frameFile,
  type ManifestProblem,
  type ManifestReading,
  readManifest,
  readMessages,
} from "./read-manifest.ts";
export {
  type AudioEntry,
  type BucketPlace,
  type FileEntry,
  type FrameEntry,
  feedbackSchema,
  type Manifest,
  type MessageRole,
  type PackageMessage,
  type PackageOwners,
  type PackageRecord,
  type PackageStatus,
  type Sentiment,
  type Source,
  statusShape,
  type Target,
  type Tombstone,
  tombstoneShape,
  type UploadError,
  type UploadNote,
  type UploadTarget,
} from "./record.ts";
export { pcmParts, wavHeader, wavHeaderBytes, wavParts } from "./wav.ts";
export {
  messagesBytes,
  renameMoment,
  sealRecord,
  statusBytes,
  writeManifest,
} from "./write-manifest.ts";
