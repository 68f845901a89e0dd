// The thread that writes `index.db`, so that appends do not wait for it. The main thread reads the file, decides
// what is written and begins the file again when it is of no use.
import { parentPort } from "node:worker_threads";
import type { IndexChange } from "./log-index.ts";
import { faultOf, openIndexFile } from "./sqlite-file.ts";
import { IndexWriter } from "./sqlite-writer.ts";

/** What the main thread asks for. Everything is done in order. */
export type IndexRequest =
  | { readonly do: "open"; readonly path: string }
  | {
      readonly do: "write";
      /** JSON of `IndexChange[]`: one text is copied to this thread faster than many objects. */
      readonly changes: string;
      readonly mark: number | undefined;
      /** When a write fails, all others of its attempt do: nothing overtakes what is written again. */
      readonly attempt: number;
    }
  | { readonly do: "cover"; readonly collection: string; readonly isCovered: boolean }
  | { readonly do: "erase" }
  | { readonly do: "sync" }
  | { readonly do: "close" };

/** `undefined`: it was done. */
export type IndexAnswer = "full" | "useless" | undefined;

let database: ReturnType<typeof openIndexFile>;
let writer: IndexWriter | undefined;
let failedAttempt: number | undefined;

function perform(request: IndexRequest): IndexAnswer {
  if (request.do === "open" || request.do === "close") {
    writer = undefined;
    failedAttempt = undefined;
    database?.database.close();
    database = undefined;
    if (request.do === "close") return;
    database = openIndexFile(request.path);
    writer = database && new IndexWriter(database);
    return;
  }
  if (writer === undefined) throw new Error("the index is not open");
  if (request.do === "write") {
    if (request.attempt === failedAttempt) return "full";
    failedAttempt = request.attempt;
    writer.write(JSON.parse(request.changes) as IndexChange[], request.mark);
    failedAttempt = undefined;
  } else if (request.do === "erase") while (writer.eraseSome());
  else if (request.do === "cover") writer.cover(request.collection, request.isCovered);
  else writer.sync();
}

parentPort?.on("message", (request: IndexRequest) => {
  let answer: IndexAnswer;
  try {
    answer = perform(request);
  } catch (error) {
    answer = faultOf(error) ?? "useless";
  }
  parentPort?.postMessage(answer);
  if (request.do === "close") parentPort?.close();
});
