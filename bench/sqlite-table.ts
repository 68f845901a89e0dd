// What people write by hand who do not want to think about it: two rows of messages and one of the chat.
import { DatabaseSync } from "node:sqlite";
import { turn } from "./product.ts";

export class SqliteTable {
  readonly #database: DatabaseSync;
  readonly #insert;
  readonly #put;
  #seq = 0;

  /** @param synchronous `full`: a commit is on the disk. `off`: it outlives this process alone. */
  constructor(path: string, synchronous: "full" | "off" = "full") {
    this.#database = new DatabaseSync(path);
    this.#database.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous};
      create table messages (chat text, seq integer, json text, primary key (chat, seq));
      create table chats (chat text primary key, json text)`);
    this.#insert = this.#database.prepare("insert into messages values (?, ?, ?)");
    this.#put = this.#database.prepare("insert or replace into chats values (?, ?)");
  }

  /** One turn in one transaction. */
  append(chat: string): void {
    this.#database.exec("begin");
    for (const message of turn()) this.#insert.run(chat, ++this.#seq, JSON.stringify(message));
    this.#put.run(chat, JSON.stringify({ chat, count: this.#seq, at: new Date().toISOString() }));
    this.#database.exec("commit");
  }

  close(): void {
    this.#database.close();
  }
}
