create table throughline.documents (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  body text not null,
  revision bigint not null,
  write_id text not null
);

create table throughline.files (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  sha256 text collate "C" not null,
  body bytea not null
);

create table throughline.logs (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  head text not null,
  sorted_at text collate "C" not null,
  labels text[] collate "C" not null,
  created_at timestamp with time zone default clock_timestamp() not null,
  epoch bigint default 0 not null,
  owner text,
  lease_until timestamp with time zone,
  wanted boolean default false not null,
  unindexed_after bigint
) with (fillfactor=70);

create table throughline.messages (
  companion text collate "C" not null,
  id text collate "C" not null,
  body text not null,
  told_at timestamp with time zone default clock_timestamp() not null
);

create table throughline.migrations (
  number integer not null,
  name text not null,
  works_from integer not null,
  applied_at timestamp with time zone default clock_timestamp() not null
);

create table throughline.records (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  seq bigint not null,
  id text collate "C" not null,
  body text not null,
  hides text collate "C",
  words tsvector
);

CREATE UNIQUE INDEX documents_pkey ON throughline.documents USING btree (companion, collection, key);
CREATE UNIQUE INDEX files_pkey ON throughline.files USING btree (companion, collection, key, sha256);
CREATE INDEX logs_labelled ON throughline.logs USING btree (companion, collection, sorted_at DESC, key) WHERE (labels <> '{}'::text[]);
CREATE INDEX logs_leased ON throughline.logs USING btree (companion, owner) WHERE (owner IS NOT NULL);
CREATE INDEX logs_newest ON throughline.logs USING btree (companion, collection, sorted_at DESC, key);
CREATE UNIQUE INDEX logs_pkey ON throughline.logs USING btree (companion, collection, key);
CREATE INDEX logs_unindexed ON throughline.logs USING btree (companion, collection) WHERE (unindexed_after IS NOT NULL);
CREATE UNIQUE INDEX messages_pkey ON throughline.messages USING btree (companion, id);
CREATE UNIQUE INDEX migrations_pkey ON throughline.migrations USING btree (number);
CREATE INDEX records_hiding ON throughline.records USING btree (companion, collection, key, hides) WHERE (hides IS NOT NULL);
CREATE UNIQUE INDEX records_ids ON throughline.records USING btree (companion, collection, key, id);
CREATE UNIQUE INDEX records_pkey ON throughline.records USING btree (companion, collection, key, seq);
CREATE INDEX records_worded ON throughline.records USING gin (words) WHERE (words IS NOT NULL);
