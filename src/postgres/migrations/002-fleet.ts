import type { Migration } from "./migrations.ts";

/**
 * What several processes tell each other. `wanted` says that somebody waits for the lease of this row,
 * and is to be notified when it is released. `messages` is used no more: see `notification.ts`.
 */
export const fleet: Migration = {
  number: 2,
  name: "002-fleet",
  worksFrom: 1,
  statements: [
    "alter table throughline.logs add column wanted boolean not null default false",
    `create table throughline.messages (
  companion text collate "C" not null,
  id text collate "C" not null,
  body text not null,
  told_at timestamptz not null default clock_timestamp(),
  primary key (companion, id)
)`,
  ],
};
