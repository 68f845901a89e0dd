// A process that starts on a database, writes one message under its own companion, and ends.
import pg from "pg";
import { openPostgresStorage } from "../../src/postgres/postgres.ts";
import { contractProjection, message } from "../../src/testing/log-store-contract-fixtures.ts";

const [connectionString = "", companion = ""] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString, max: 2 });
const storage = await openPostgresStorage({ pool, companion, durability: "process" });
await storage.logs("chats", contractProjection).append("telegram:42", [message("m1")]);
await storage.close();
await pool.end();
