import { invalid } from "../../core/errors.ts";
import { json, type Router } from "../../server/router.ts";
import { emotionEvent, moodBody, moodSpan, personBody, sleepBody } from "../../server/schemas.ts";
import {
  deliveryView,
  emotionsView,
  personView,
  reportView,
  sessionView,
} from "./companion-view.ts";
import { type CompanionWrites, runOf } from "./companion-writes.ts";

/** Who answers: how it woke, how it feels, whom it saw. */
export function addCompanionRoutes(router: Router, writes: CompanionWrites): void {
  addRestart(router);
  addEmotions(router);
  addEmotionChanges(writes);
  addPerson(writes);
}

/** Chats of which `GET /api/restart` tells what they would be told now. */
const chatsShown = 10;

function addRestart(router: Router): void {
  const { chats } = router.ports.throughline;
  router.add(
    {
      ...{ method: "get", path: "/api/session", id: "getSession" },
      summary: "The run that goes on, and how it came about",
      answers: { 200: { says: "The run.", schema: "companionSession" } },
    },
    () => {
      const { standard, providers } = router.ports.turns;
      return json({ ...sessionView(runOf(router).companion), models: { standard, providers } });
    },
  );
  router.add(
    {
      ...{ method: "get", path: "/api/restart", id: "getRestart" },
      summary: "What the companion knew when it woke",
      description:
        "The report of the restart, and the text that each chat was told in this run. Of the chats " +
        "in which a person acted last that were not told yet, what they would be told now.",
      answers: { 200: { says: "The report, and the texts.", schema: "restart" } },
    },
    async () => {
      const { companion } = runOf(router);
      const recent = await chats.list({ limit: chatsShown });
      const ids = recent.chats.map(({ chat_id }) => chat_id);
      const deliveries = await companion.receptions.look(ids);
      return json({
        report: reportView(companion.report),
        deliveries: deliveries.map(deliveryView),
      });
    },
  );
}

const dayMs = 24 * 60 * 60 * 1_000;

function addEmotions(router: Router): void {
  const { clock } = router.ports;
  router.add(
    {
      ...{ method: "get", path: "/api/emotions", id: "getEmotions" },
      summary: "How the companion feels now",
      answers: { 200: { says: "The feelings, and what can move them.", schema: "emotionState" } },
    },
    () => json(emotionsView(runOf(router))),
  );
  router.add(
    {
      ...{ method: "get", path: "/api/emotions/history", id: "getMoodHistory", query: moodSpan },
      summary: "How it felt over a span of time",
      answers: { 200: { says: "The course of the feelings.", schema: "moodHistory" } },
    },
    async ({ query }) => {
      const { companion } = runOf(router);
      const to = Math.min(query.to ?? clock.now(), clock.now());
      const from = query.from ?? to - dayMs;
      if (from >= to) throw invalid("from must be before to, and not in the future");
      const span = { from, to, points: query.points ?? 300 };
      const course = await companion.moodCourse(span);
      const events = course.events.map((each) => ({ ...each, wound: each.wound ?? null }));
      return json({ ...course, events });
    },
  );
}

function addEmotionChanges(writes: CompanionWrites): void {
  writes.add(
    {
      ...{ path: "/api/emotions/event", id: "applyEmotionEvent", body: emotionEvent },
      summary: "Something happened to the companion",
      answers: { 200: { says: "How it feels now.", schema: "appliedEvent" } },
    },
    ({ event, intensity }, run) => {
      const wound = run.companion.emotions.event(event, intensity) ?? null;
      return { status: "applied", event, wound, state: emotionsView(run) };
    },
  );
  writes.add(
    {
      ...{ path: "/api/emotions/reset", id: "resetEmotions" },
      summary: "Reads the configuration again, and brings the levels to rest",
      description:
        "Wounds, boredom and a mood that was set stay. 400: the configuration is refused.",
      answers: { 200: { says: "How it feels now.", schema: "emotionsReset" } },
    },
    (_, run) => {
      const problems = run.reloadEmotions();
      if (problems.length > 0) throw invalid(problems.join("; "));
      run.companion.emotions.reset();
      return { status: "reset", state: emotionsView(run) };
    },
  );
  writes.add(
    {
      ...{ path: "/api/mood", id: "setMood", body: moodBody },
      summary: "Shows a mood for some seconds, whatever is felt",
      answers: { 200: { says: "How it feels now.", schema: "moodSet" } },
    },
    ({ mood, duration }, run) => {
      run.companion.emotions.override(mood, duration);
      return { status: "set", mood, state: emotionsView(run) };
    },
  );
}

function addPerson(writes: CompanionWrites): void {
  writes.add(
    {
      ...{ path: "/api/person", id: "seePerson", body: personBody },
      summary: "Somebody was seen",
      description:
        "Report a sighting as often as you like. The same person is announced at most once in 30 s: " +
        "only then the companion feels `face_recognized` and watchers get a `person` event.",
      answers: { 200: { says: "Who was seen last.", schema: "personSeen" } },
    },
    ({ name }, { companion }) => personView(companion.personSeen(name)),
  );
  writes.add(
    {
      ...{ path: "/api/sleep", id: "setSleep", body: sleepBody },
      summary: "Puts the companion to sleep, or wakes it",
      description: "It falls asleep by itself when it is bored, and wakes when a person acts.",
      answers: { 200: { says: "Whether it sleeps.", schema: "sleeping" } },
    },
    ({ state }, { companion }) => {
      companion.sleep(state);
      return { sleep_state: companion.sleepState };
    },
  );
}
