// The statements of telling.

export const tellStatements = {
  /**
   * 1: channel; 2: payloads. In this order, and nothing of others in between: notifications of one
   * transaction are delivered together, as they were made.
   */
  tell: {
    name: "throughline_tell",
    text: `select pg_notify($1, payload) from (
  select payload from unnest($2::text[]) with ordinality as each (payload, n) order by n
) as ordered`,
  },
  /** 1: companion. What stands there was told by a build before this one, which kept it. */
  forget: {
    text: "delete from throughline.messages where companion = $1",
  },
} as const;
