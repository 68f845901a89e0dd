// A client in a process of its own: sends messages over so many connections, each after the last answer.
import { Agent, request } from "node:http";

export interface HttpLoad {
  readonly perSecond: number;
  readonly latencies: readonly number[];
}

interface Asked {
  readonly url: string;
  readonly seconds: number;
  readonly connections: number;
}

const body = '{"content":"Where do the whales go in winter?"}';
const headers = { "content-type": "application/json", "content-length": body.length };

function post(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`answered with ${response.statusCode}`));
      response.resume().on("end", resolve);
    });
    sent.on("error", reject).end(body);
  });
}

process.on("message", async ({ url, seconds, connections }: Asked) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  const began = performance.now();
  const until = began + seconds * 1_000;
  await Promise.all(
    Array.from({ length: connections }, async (_, i) => {
      let sent = 0;
      for (let started = began; started < until; ) {
        // Ten turns to a chat: a long one costs the model's prompt more than HTTP and storage together.
        const chat = `c${i}-${Math.floor(began)}-${Math.floor(sent++ / 10)}`;
        await post(`${url}/api/chats/${chat}/messages`, agent);
        const ended = performance.now();
        latencies.push(ended - started);
        started = ended;
      }
    }),
  );
  agent.destroy();
  const load: HttpLoad = {
    perSecond: (1_000 * latencies.length) / (performance.now() - began),
    latencies,
  };
  process.send?.(load);
});
