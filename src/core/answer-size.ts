/** Bytes of JSON that one answer holds at most, unless its first row alone is longer. */
const answerBytes = 16 * 1024 * 1024;

/** Makes a test that says of each row, in order, whether it still fits into one answer. The first one does. */
export function roomForRows(): (row: unknown) => boolean {
  let bytes = 0;
  return (row) => {
    const isFirst = bytes === 0;
    bytes += Buffer.byteLength(JSON.stringify(row));
    return isFirst || bytes <= answerBytes;
  };
}

/** Rows of an answer. */
export interface Found<Row> extends ReadonlyArray<Row> {
  /** There may be others, past the 1,000 that are looked at or the size of an answer. */
  readonly more?: true;
}

/** Notes in rows that there may be others. */
export function withMore<Row>(rows: Row[] & { more?: true }, more: boolean): Found<Row> {
  if (more) rows.more = true;
  return rows;
}

/** Cuts rows where one answer ends. `more`: there are others, or there may be. */
export function fitting<Row>(all: Found<Row>) {
  const fits = roomForRows();
  const end = all.findIndex((row) => !fits(row));
  return end < 0 ? { rows: all, more: all.more } : { rows: all.slice(0, end), more: true as const };
}
