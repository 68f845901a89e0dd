import type { z } from "zod";
import { fitting } from "../../core/answer-size.ts";
import { invalid } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { KnownKeys } from "../../server/idempotency.ts";
import type { Nothing, Operation } from "../../server/operation.ts";
import { json, type Router } from "../../server/router.ts";
import {
  type CompanionRun,
  clientView,
  deliveryView,
  emotionsView,
  personView,
  reportView,
  runView,
} from "./companion-view.ts";
import {
  answer,
  emotionEvent,
  idempotencyKey,
  moodBody,
  moodSpan,
  ofClient,
  personBody,
  sleepBody,
} from "./schemas.ts";

const repeats =
  "A repeated request with the same `Idempotency-Key` (1 to 255 printable ASCII characters) gets the first " +
  "answer again, for an hour while this server runs. The same key with another request is 409.";

/** Adds an operation that does something to the companion. What it throws was not done. */
export type AddWrite = ReturnType<typeof companionWrites>;

/** Makes what adds such operations: what they do is done once under one key, whichever route it takes. */
export function companionWrites(router: Router) {
  const keys = new KnownKeys(router.ports.clock);
  return <Body extends z.ZodType = Nothing>(
    operation: Omit<Operation<string, Nothing, Body>, "method">,
    work: (body: z.output<Body>) => object | Promise<object>,
  ): void => {
    const { id, description } = operation;
    router.add<string, Nothing, Body>(
      {
        ...operation,
        method: "post",
        headers: idempotencyKey,
        description: description === undefined ? repeats : `${description}\n\n${repeats}`,
      },
      async ({ body }, context) => {
        const key = context.req.header("idempotency-key");
        return json(await keys.once(key, [id, body as Json], async () => work(body)));
      },
    );
  };
}

/** Who answers: how it woke, how it feels, whom it saw. */
export function addCompanionRoutes(router: Router, run: CompanionRun, addWrite: AddWrite): void {
  addRestart(router, run);
  addEmotions(router, run);
  addEmotionChanges(run, addWrite);
  addPerson(run, addWrite);
}

/** Chats for which `GET /api/restart` shows the notice that they would get now. */
const chatsShown = 10;

function addRestart(router: Router, run: CompanionRun): void {
  const { throughline, turns } = router.ports;
  const { companion } = run;
  router.get("/api/session", {
    id: "getSession",
    query: ofClient,
    summary: "Get the current run, and how it began",
    description: "With `client` that client's newest run; 404: it never began one.",
    answers: answer("The run.", "companionRun"),
    answer: ({ query: { client } }) => {
      const { standard, providers } = turns;
      const { clients } = companion;
      const run =
        client === undefined ? runView(companion) : clientView(companion, clients.get(client));
      return json({ ...run, models: { standard, providers } });
    },
  });
  router.get("/api/restart", {
    id: "getRestart",
    query: ofClient,
    summary: "Get what the companion knew when it woke",
    description:
      "The report of the restart, and the notice that each chat got in this run. For the latest chats " +
      "that have not had theirs yet, the notice that they would get now. `text` is one text for a model " +
      "of your own, with the facts to remember: of the client's run, or without `client` of this one. It " +
      "is written for the time away as it is now, until `POST /api/restart/delivered`.",
    answers: answer("The report, and the texts.", "restart"),
    answer: async ({ query: { client } }) => {
      const { kind, status, text } = await companion.clients.restartText(client);
      const recent = await throughline.chats.list({ limit: chatsShown });
      const ids = recent.chats.map(({ chat_id }) => chat_id);
      const deliveries = await companion.notices.look(ids);
      return json({
        report: reportView(companion.report),
        deliveries: deliveries.map(deliveryView),
        kind,
        status,
        text,
      });
    },
  });
}

const dayMs = 24 * 60 * 60 * 1_000;

function addEmotions(router: Router, run: CompanionRun): void {
  const { clock } = router.ports;
  router.get("/api/emotions", {
    id: "getEmotions",
    summary: "Get how the companion feels now",
    answers: answer("The feelings, and what can move them.", "emotionState"),
    answer: () => json(emotionsView(run)),
  });
  router.get("/api/emotions/history", {
    id: "getMoodHistory",
    query: moodSpan,
    summary: "Get how it felt over a span of time",
    answers: answer("The course of the feelings.", "moodHistory"),
    answer: async ({ query }) => {
      const to = Math.min(query.to ?? clock.now(), clock.now());
      const from = query.from ?? to - dayMs;
      if (from >= to) throw invalid("from must be before to, and not in the future");
      const span = { from, to, points: query.points ?? 300 };
      const course = await run.companion.moodCourse(span);
      const { rows, more } = fitting(course.events);
      const events = rows.map((each) => ({ ...each, wound: each.wound ?? null }));
      return json({ ...course, events, more });
    },
  });
}

function addEmotionChanges(run: CompanionRun, addWrite: AddWrite): void {
  addWrite(
    {
      path: "/api/emotions/event",
      id: "applyEmotionEvent",
      body: emotionEvent,
      summary: "Report that something happened to the companion",
      answers: answer("How it feels now.", "appliedEvent"),
    },
    ({ event, intensity }) => {
      const wound = run.companion.emotions.event(event, intensity) ?? null;
      return { status: "applied", event, wound, state: emotionsView(run) };
    },
  );
  addWrite(
    {
      path: "/api/emotions/reset",
      id: "resetEmotions",
      summary: "Read the configuration again, and bring the levels to rest",
      description:
        "Wounds, boredom and a mood that was set stay. 400: the configuration is refused.",
      answers: answer("How it feels now.", "emotionsReset"),
    },
    () => {
      const problems = run.reloadEmotions();
      if (problems.length > 0) throw invalid(problems.join("; "));
      run.companion.emotions.reset();
      return { status: "reset", state: emotionsView(run) };
    },
  );
  addWrite(
    {
      path: "/api/mood",
      id: "setMood",
      body: moodBody,
      summary: "Show a mood for some seconds, whatever is felt",
      answers: answer("How it feels now.", "moodSet"),
    },
    ({ mood, duration }) => {
      run.companion.emotions.override(mood, duration);
      return { status: "set", mood, state: emotionsView(run) };
    },
  );
}

function addPerson({ companion }: CompanionRun, addWrite: AddWrite): void {
  addWrite(
    {
      path: "/api/person",
      id: "seePerson",
      body: personBody,
      summary: "Report that a person was seen",
      description:
        "Report a sighting as often as you like. The same person is announced at most once in 30 s: " +
        "only then the companion feels `face_recognized` and watchers get a `person` event.",
      answers: answer("Who was seen last.", "personSeen"),
    },
    ({ name }) => personView(companion.personSeen(name)),
  );
  addWrite(
    {
      path: "/api/sleep",
      id: "setSleep",
      body: sleepBody,
      summary: "Put the companion to sleep, or wake it",
      description: "It falls asleep by itself when it is bored, and wakes when a person acts.",
      answers: answer("Whether it sleeps.", "sleeping"),
    },
    ({ state }) => {
      companion.sleep(state);
      return { sleep_state: companion.sleepState };
    },
  );
}
