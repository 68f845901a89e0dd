// The statements of telling.

export const tellStatements = {
  /**
   * 1: companion; 2: channel; 3 to 5: payloads, ids and bodies, those without an id kept nowhere. In
   * this order: notifications of one transaction are delivered as they were made.
   */
  tell: {
    name: "throughline_tell",
    text: `with each as (
  select * from unnest($3::text[], $4::text[], $5::text[])
    with ordinality as each (payload, id, body, n)
), kept as (
  insert into throughline.messages (companion, id, body)
  select $1, id, body from each where id is not null on conflict do nothing
)
select pg_notify($2, payload) from (select payload from each order by n) as ordered`,
  },
  /** 1: companion, 2: id. */
  read: {
    name: "throughline_told",
    text: "select body from throughline.messages where companion = $1 and id = $2",
  },
  /** 1: companion; 2: milliseconds that a message is kept. */
  forget: {
    text: `delete from throughline.messages where companion = $1
  and told_at < clock_timestamp() - $2::float8 * interval '1 millisecond'`,
  },
} as const;
