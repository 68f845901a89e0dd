// Lists of objects as an assertion shows them: by some of their fields.

/** The values of one field. */
export const column = <T, F extends keyof T>(items: readonly T[], field: F): T[F][] =>
  items.map((item) => item[field]);

/** The values of some fields, an item a row. */
export const columns = <T, F extends keyof T>(items: readonly T[], ...fields: F[]): T[F][][] =>
  items.map((item) => fields.map((field) => item[field]));
