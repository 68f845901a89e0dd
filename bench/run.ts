/** How a figure is measured. */
export interface Run {
  /** An empty directory of its own on the disk, removed afterwards. */
  readonly dir: string;
  /** Whether the long sizes are measured too: a million messages, a million chats, a minute of load. */
  readonly isFull: boolean;
}
