// The program of every test that kills a process: `kill-child.ts DOOR ARGUMENT…`. Each door is a way in which
// people use the product. A line of output says what was acknowledged; it is written at once, because a killed
// process keeps nothing that it has not written.
import { openThroughline } from "../../src/core/throughline.ts";
import { say as note } from "./say.ts";

const [door = "", ...args] = process.argv.slice(2);

const doors: Readonly<Record<string, (...args: string[]) => Promise<unknown>>> = {
  /** Appends, erases and deletes on logs. */
  acts: () => import("./doors/acts.ts"),
  /** Records moments, and ends as its plan says. */
  "moments-exit": () => import("./doors/moments-exit.ts"),
  /** Turns of a program with its own model. */
  "open-turn": () => import("./doors/open-turn.ts"),
  /** `throughline serve --store`, with leases that lapse sooner. */
  server: () => import("./doors/server.ts"),
  /** A turn with a tool. */
  turn: () => import("./doors/turn.ts"),

  /** Appends a message, and dies before it is heard. */
  async hearing(home = "", chat = "") {
    const { chats } = await openThroughline({ home });
    chats.others.unshift({ heard: () => process.kill(process.pid, "SIGKILL") });
    await chats.append(chat, [{ id: "q", role: "user", content: "Hello" }]);
  },

  /** Runs an agent with a tool. Notes whose first model call begins, effects of the tool, and answers. */
  async agents(home = "", chat = "", name = "") {
    const { run } = await import("@openai/agents");
    const { ThroughlineSession } = await import("../../src/adapters/openai/session.ts");
    const { agentWithTool, usual } = await import("./agents-model.ts");
    const throughline = await openThroughline({ home });
    let text = "";
    const agent = agentWithTool(
      (input) => {
        if (input.at(-1)?.type !== "function_call_result") note(`asked ${text}`);
        return usual(input);
      },
      () => {
        note(`effect ${text}`);
        return `result of ${text}`;
      },
    );
    for (let n = 1; ; n++) {
      text = `tool ${name} ${n}`;
      const session = new ThroughlineSession(throughline, chat);
      await run(agent, text, { session, callModelInputFilter: session.beforeModel });
      note(`answered ${text}`);
    }
  },

  /** Answers the messages of a chat page, one after the other. Notes what its page has seen. */
  async "chat-page"(home = "", name = "") {
    const { pageRoutes, said, toChat } = await import("./chat-page-words.ts");
    const routes = pageRoutes(await openThroughline({ home }));
    for (let n = 1; ; n++) {
      const id = `${name}-${n}`;
      const response = await routes.POST(toChat([said(id)]));
      const decoder = new TextDecoder();
      let text = "";
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes, { stream: true });
        if (text.includes("data:") && !text.includes("[DONE]")) note(`began ${id}`);
      }
      note(`done ${id}`);
    }
  },

  /** Mirrors a session as the Claude Agent SDK does. Notes the numbers that are stored. */
  async claude(home = "", from = "0") {
    const { ThroughlineSessionStore } = await import(
      "../../src/adapters/claude-agent-sdk/session-store.ts"
    );
    const { foldSessionSummary } = await import("./claude-fold.ts");
    const throughline = await openThroughline({ home });
    const store = new ThroughlineSessionStore(throughline, { foldSessionSummary });
    for (let n = Number(from); ; n++) {
      // Every fifth entry is too long for one record.
      const text = n % 5 === 4 ? "x".repeat(600_000) : "x";
      const entries = [
        { type: "user", uuid: `u${n}-a`, n, text },
        { type: "assistant", uuid: `u${n}-b`, n },
      ];
      await store.append({ projectKey: "p", sessionId: "s" }, entries);
      note(String(n));
    }
  },

  /** Adds pairs of messages to a LangChain history. Notes each pair that was answered. */
  async langchain(home = "", chat = "") {
    const { AIMessage, HumanMessage } = await import("@langchain/core/messages");
    const { ThroughlineChatMessageHistory } = await import(
      "../../src/adapters/langchain/history.ts"
    );
    const history = new ThroughlineChatMessageHistory(await openThroughline({ home }), chat);
    for (let n = 1; ; n++) {
      await history.addMessages([
        new HumanMessage({ content: `question ${n}`, name: "ann" }),
        new AIMessage(`answer ${n}`),
      ]);
      note(String(n));
    }
  },

  /** Runs a LangGraph thread. Notes each question that was answered. */
  async langgraph(home = "", thread = "", name = "") {
    const { HumanMessage } = await import("@langchain/core/messages");
    const { ThroughlineSaver } = await import("../../src/adapters/langchain/saver.ts");
    const { graphWithTool } = await import("./langgraph-graph.ts");
    const graph = graphWithTool(new ThroughlineSaver(await openThroughline({ home })));
    const config = { configurable: { thread_id: thread }, durability: "sync" } as const;
    for (let n = 1; ; n++) {
      await graph.invoke({ messages: [new HumanMessage(`${name} ${n}`)] }, config);
      note(`${name} ${n}`);
    }
  },

  /** Appends to one chat, alone and several at once. Notes the id of each message that is stored. */
  async appends(home = "", durability = "", name = "") {
    const { randomText } = await import("./random-text.ts");
    const level = durability === "process" ? "process" : "power-cut";
    const { chats } = await openThroughline({ home, durability: level });
    for (let n = 1; ; n++) {
      const append = async (nth: number) => {
        const id = `${name}-${n}-${nth}`;
        const content = randomText(8 + ((n * 7 + nth) % 4) * 3_000);
        await chats.append("bursts", [{ id, role: "user", content }]);
        note(id);
      };
      await Promise.all(Array.from({ length: n % 3 === 0 ? 8 : 1 }, (_, nth) => append(nth)));
    }
  },

  /** Saves one moment after the other. Notes the name of each that is durable. */
  async moments(path = "", first = "0") {
    const { PackageDirectory } = await import("../../src/moments/directory/package-directory.ts");
    const { momentOf } = await import("./package-workload.ts");
    const packages = await PackageDirectory.open({ path });
    for (let number = Number(first); ; number++) {
      note((await packages.save(momentOf(number, { frames: 12, samples: 8_000 }))).name);
    }
  },
};

const run = doors[door];
if (run === undefined) throw new Error(`there is no door "${door}"`);
await run(...args);
