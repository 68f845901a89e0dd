// Models that want their thinking back, through a server that speaks OpenAI's protocol and refuses a message
// without it.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { temporaryDirectory } from "../../../test/support/command-line.ts";
import {
  deltaStream,
  openAiServer,
  type Reply,
  type SeenRequest,
} from "../../../test/support/openai-server.ts";
import { scriptedResponder } from "../../../test/support/scripted-responder.ts";
import { createResponder } from "../models/registry.ts";
import type { TurnTool } from "../models/responder.ts";
import { openThroughline } from "../throughline.ts";

const chat = "local:me";

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly unknown[];
}

const messagesOf = ({ body }: SeenRequest) => body["messages"] as readonly Message[];

const called = (index: number, id: string) => ({
  tool_calls: [{ index, id, type: "function", function: { name: "look", arguments: "{}" } }],
});

/** Which messages must have their thought, and what is said where one has none. */
const wanting = {
  "every assistant message": (message: Message) => message.role === "assistant",
  "each message with calls": (message: Message) => message.tool_calls !== undefined,
};

async function open(t: TestContext, wants: (message: Message) => boolean) {
  let thoughts = 0;
  const refused: number[] = [];
  const server = await openAiServer((_, request): Reply => {
    const sent = messagesOf(request);
    if (sent.some((each) => wants(each) && !each.reasoning_content)) {
      refused.push(sent.length);
      const message =
        "The `reasoning_content` in the thinking mode must be passed back to the API.";
      return { status: 400, body: JSON.stringify({ error: { message } }) };
    }
    const thought = { reasoning_content: `thought ${++thoughts}` };
    const last = sent.at(-1);
    const isLook = last?.role === "user" && JSON.stringify(last.content).includes("look");
    if (isLook)
      return {
        stream: deltaStream(
          [thought, called(0, `c${thoughts}`), called(1, `d${thoughts}`)],
          "tool_calls",
        ),
      };
    return { stream: deltaStream([thought, { content: `Said after ${thoughts}.` }], "stop") };
  });
  t.after(() => server.close());
  return { server, refused };
}

const look: TurnTool = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: {} },
  run: async () => "nothing new",
};

for (const [what, wants] of Object.entries(wanting)) {
  test(`a model that wants its thinking back with ${what} gets it, over tools, a restart and another provider`, async (t) => {
    const { server, refused } = await open(t, wants);
    const home = temporaryDirectory(t);
    const name = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
    const other = scriptedResponder([["I am another."], ["Still another."]]);
    const run = async (...said: readonly (readonly [string, "own" | "other"])[]) => {
      await using throughline = await openThroughline({ home });
      const own = await createResponder(name, {}, {});
      const turns = {
        own: await throughline.turns({
          model: own,
          persona: "",
          tools: () => ({ instructions: "", tools: [look] }),
        }),
        other: await throughline.turns({ model: other, persona: "" }),
      };
      for (const [content, by] of said) {
        const { outcome, reason } = await turns[by].submit(chat, { content }).done;
        assert.deepEqual([outcome, reason], ["answered", undefined], content);
      }
    };
    await run(["Hello", "own"], ["look around", "own"], ["And?", "own"]);
    await run(
      ["Again", "own"],
      ["look again", "own"],
      ["Who are you?", "other"],
      ["And now?", "own"],
    );
    await run(["Last", "own"]);
    assert.ok(refused.length <= 1, `refused: ${refused.join()}`);
    const last = messagesOf(server.requests.at(-1) as SeenRequest);
    const withThought = last.filter(({ reasoning_content: thought }) =>
      thought?.startsWith("thought"),
    );
    assert.equal(withThought.length, 8, "each with its own thought");
    assert.equal(new Set(withThought.map((each) => each.reasoning_content)).size, 8);
    const seen = JSON.stringify(other.requests.map(({ messages }) => messages));
    assert.doesNotMatch(seen, /thought \d/, "no other provider gets them");
  });
}

test("a turn that was cut after a tool call goes on with the thought of that call", async (t) => {
  const { server, refused } = await open(t, wanting["each message with calls"]);
  const home = temporaryDirectory(t);
  const name = { provider: "openai-compatible", model: "m", baseUrl: server.url } as const;
  const start = async (run: TurnTool["run"]) => {
    const throughline = await openThroughline({ home });
    const tools = () => ({ instructions: "", tools: [{ ...look, run }] });
    const model = await createResponder(name, {}, {});
    return { throughline, turns: await throughline.turns({ model, persona: "", tools }) };
  };
  const first = await start(async () => {
    turn.stop();
    return "cut";
  });
  const turn = first.turns.submit(chat, { content: "look around" });
  assert.equal((await turn.done).outcome, "interrupted");
  await first.throughline.close();
  const second = await start(async () => "nothing new");
  const { outcome } = await second.turns.submit(chat, { content: "And?" }).done;
  assert.equal(outcome, "answered");
  await second.throughline.close();
  assert.deepEqual(refused, []);
});
