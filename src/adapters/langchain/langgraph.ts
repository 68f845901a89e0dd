// The entry point `throughline/langgraph`.
export type {
  Checkpoint,
  CheckpointMetadata,
  CheckpointTuple,
  Config,
  DeltaChannelHistory,
  ListOptions,
  PendingWrite,
  Serializer,
} from "./langgraph-types.ts";
export { ThroughlineSaver, type ThroughlineSaverOptions } from "./saver.ts";
