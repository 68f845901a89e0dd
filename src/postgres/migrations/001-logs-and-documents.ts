import type { Migration } from "./migrations.ts";

/**
 * Logs and documents. Every primary key begins with the companion, the collection and the key, and
 * nothing refers to another row, so that each table can be distributed by them. Texts compare by their
 * bytes. `body` is the exact JSON text, which no JSON type of the database keeps.
 *
 * `logs` is the log's row in lists, its head, and its lease: see `lease-statements.ts`. A row with `seq`
 * 0 is a lease only. `created_at` tells a log from the one that was deleted before it. `hides` is the
 * id of the earlier record that this one hides. `words` is what search looks up: see `words.ts`.
 * `write_id` names the last write of a document, so that a write without an answer can be told.
 */
export const logsAndDocuments: Migration = {
  number: 1,
  name: "001-logs-and-documents",
  worksFrom: 1,
  statements: [
    `create table throughline.logs (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  head text not null,
  sorted_at text collate "C" not null,
  labels text[] collate "C" not null,
  created_at timestamptz not null default clock_timestamp(),
  epoch bigint not null default 0,
  owner text,
  lease_until timestamptz,
  primary key (companion, collection, key)
) with (fillfactor = 70)`,
    `create index logs_newest on throughline.logs
  (companion, collection, sorted_at desc, key)`,
    `create index logs_labelled on throughline.logs
  (companion, collection, sorted_at desc, key) where labels <> '{}'`,
    `create index logs_leased on throughline.logs (companion, owner) where owner is not null`,
    `create table throughline.records (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  id text collate "C" not null,
  body text not null,
  hides text collate "C",
  words tsvector,
  primary key (companion, collection, key, seq)
)`,
    `create unique index records_ids on throughline.records (companion, collection, key, id)`,
    `create index records_hiding on throughline.records
  (companion, collection, key, hides) where hides is not null`,
    `create index records_words on throughline.records using gin (words)`,
    `create table throughline.documents (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  body text not null,
  revision bigint not null,
  write_id text not null,
  primary key (companion, collection, key)
)`,
  ],
};
