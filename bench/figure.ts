export interface Figure {
  readonly says: string;
  readonly ratio: number;
  /** The ratio is to be at most this. */
  readonly target?: number;
}

export const ms = (value: number) => `${value.toFixed(3)} ms`;
