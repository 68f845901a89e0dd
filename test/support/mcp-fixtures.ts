// What the conformance scenarios expect of a server beside ours: tools, resources and prompts of theirs. It
// shows that the handler and the route carry all of the protocol. None of it is in the product.
import { completable, type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";

/** A picture of one pixel, and a sound without a sample. */
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = { type: "text", text: "A text." } as const;
const image = { type: "image", data: png, mimeType: "image/png" } as const;
const audio = { type: "audio", data: wav, mimeType: "audio/wav" } as const;
const resource = {
  type: "resource",
  resource: { uri: "test://embedded", mimeType: "text/plain", text: "An embedded text." },
} as const;

export function addFixtures(server: McpServer): void {
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true } });
  for (const method of ["resources/subscribe", "resources/unsubscribe"] as const) {
    server.server.setRequestHandler(method, async () => ({}));
  }
  addTools(server);
  addResources(server);
  addPrompts(server);
}

function addTools(server: McpServer): void {
  const contents = {
    test_simple_text: [text],
    test_image_content: [image],
    test_audio_content: [audio],
    test_embedded_resource: [resource],
    test_multiple_content_types: [text, image, resource],
  };
  for (const [name, content] of Object.entries(contents)) {
    server.registerTool(name, { description: name }, async () => ({ content }));
  }
  server.registerTool("test_error_handling", { description: "fails" }, async () => {
    throw new Error("This tool always fails.");
  });
  server.registerTool("test_tool_with_logging", { description: "logs" }, async ({ mcpReq }) => {
    for (const data of ["started", "running", "done"]) await mcpReq.log("info", data);
    return { content: [text] };
  });
  server.registerTool("test_tool_with_progress", { description: "runs" }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
    return { content: [text] };
  });
}

function addResources(server: McpServer): void {
  server.registerResource("text", "test://static-text", {}, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "A text." }],
  }));
  server.registerResource("binary", "test://static-binary", {}, async ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: png }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, {}, async ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: "text/plain", text: `The data of ${String(id)}.` }],
  }));
}

function addPrompts(server: McpServer): void {
  const says = (content: typeof text | typeof image | typeof resource) => ({
    messages: [{ role: "user" as const, content }],
  });
  server.registerPrompt("test_simple_prompt", { description: "a text" }, async () => says(text));
  server.registerPrompt("test_prompt_with_image", { description: "an image" }, async () =>
    says(image),
  );
  const word = completable(z.string(), (begun) => [`${begun}ed`]);
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "two words", argsSchema: z.object({ arg1: word, arg2: z.string() }) },
    async (words) => says({ ...text, text: Object.values(words).join(" ") } as never),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    async () => says(resource),
  );
}
