import type { Migration } from "./migrations.ts";

/**
 * Files of a key, such as the attachments of a chat, by the SHA-256 of their bytes. They are pictures and
 * the like: stored as they are, since compressing them again takes time and saves nothing.
 */
export const files: Migration = {
  number: 4,
  name: "004-files",
  worksFrom: 1,
  statements: [
    `create table throughline.files (
  companion text collate "C" not null,
  collection text collate "C" not null,
  key text collate "C" not null,
  sha256 text collate "C" not null,
  body bytea not null,
  primary key (companion, collection, key, sha256)
)`,
    "alter table throughline.files alter column body set storage external",
  ],
};
