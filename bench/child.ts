// Runs a script of this folder in a process of its own.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** @returns what the script sends with `process.send`. It must send one value and end. */
export async function askChild<T>(
  script: URL,
  args: readonly string[] = [],
  env = process.env,
  execArgv: string[] = [],
): Promise<T> {
  const child = fork(fileURLToPath(script), args, { stdio: "inherit", env, execArgv });
  const kill = () => child.kill("SIGTERM");
  process.once("exit", kill);
  let answer: { readonly value: T } | undefined;
  child.once("message", (value) => {
    answer = { value: value as T };
  });
  const [code] = await once(child, "close");
  process.off("exit", kill);
  if (code !== 0 || answer === undefined) throw new Error(`${script.pathname} ended with ${code}`);
  return answer.value;
}

/** Writes `count` messages into one chat of a home. */
export const fillChat = (home: string, chat: string, count: number, product = "ours") =>
  askChild(filling, [product, home, "messages", chat, String(count)]);

/** Writes the chats `telegram:FROM` up to `telegram:TO`, without that one, into a home. */
export const addChats = (home: string, from: number, to: number, product = "ours") =>
  askChild(filling, [product, home, "chats", String(from), String(to)]);

const filling = new URL("./fill-home.ts", import.meta.url);
