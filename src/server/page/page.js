// The simple page: one chat, over the API and its event streams. Whatever was said is shown as
// text, through textContent alone.
const chat = `/api/chats/${encodeURIComponent("local:me")}`;
const byId = (id) => document.getElementById(id);
const state = byId("state");
const log = byId("log");
const content = byId("content");

/** The number that asks for the page before the oldest message shown. */
let before;
/** What to do when somebody tries again. */
let again;
let isBusy = false;

class ProblemError extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** @returns the response; an error of the server is thrown as its problem. */
async function ask(path, { method = "GET", body, headers = {} } = {}) {
  const isPost = method === "POST";
  const response = await fetch(path, {
    method,
    headers: { ...headers, ...(isPost ? { "content-type": "application/json" } : {}) },
    ...(isPost ? { body: JSON.stringify(body ?? {}) } : {}),
  });
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ detail: `HTTP ${response.status}` }));
  throw new ProblemError(problem);
}

function row(kind, by, text, place = "end") {
  const item = document.createElement("li");
  item.className = kind;
  if (by !== "") {
    const who = document.createElement("p");
    who.className = "by";
    who.textContent = by;
    item.append(who);
  }
  const words = document.createElement("p");
  words.className = "text";
  words.dir = "auto";
  words.textContent = text;
  item.append(words);
  if (place === "end") log.append(item);
  else log.prepend(item);
  return { item, words };
}

function labelOf(message) {
  const by = message.role === "user" ? "You" : [message.provider, message.model].join("/");
  const marks = [];
  if (message.partial) marks.push("cut short");
  if (message.redacted) marks.push("redacted");
  const time = message.timestamp === "" ? "" : new Date(message.timestamp).toLocaleString();
  return [message.role === "user" ? by : `Companion (${by})`, time, ...marks]
    .filter((part) => part !== "")
    .join(" · ");
}

function isShown(message) {
  const isSpoken = message.role === "user" || message.role === "assistant";
  return isSpoken && !message.hidden && (message.content !== "" || message.redacted);
}

/** Shows a message, once. */
function showMessage(message, place) {
  if (!isShown(message) || log.querySelector(`[data-id="${CSS.escape(message.id)}"]`)) return;
  row(message.role, labelOf(message), message.content, place).item.dataset.id = message.id;
}

function trouble(error, retry) {
  const isOurs = error instanceof ProblemError;
  if (isOurs && error.problem.status === 401) {
    signIn();
    return;
  }
  byId("trouble-text").textContent = isOurs ? error.message : "The server cannot be reached.";
  byId("trouble").hidden = false;
  // A message that a model did not answer is kept, and offered anyway.
  const isOffered = isOurs && error.problem.code === "THROUGHLINE_MODEL_FAILED";
  again = retry;
  byId("again").hidden = retry === undefined || isOffered;
}

function calm() {
  byId("trouble").hidden = true;
  byId("offer").hidden = true;
}

function busy(is) {
  isBusy = is;
  byId("stop").hidden = !is;
  byId("send").disabled = is;
  log.setAttribute("aria-busy", String(is));
  if (is) state.textContent = "Answering";
}

function signIn() {
  byId("sign-in").hidden = false;
  byId("say").hidden = true;
  state.textContent = "Not signed in";
  byId("code").focus();
}

/** Server-sent events of a response, as they come. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
}

/** The answer that is coming in. */
let live;

/** Shows one turn from its begin. @returns whether its end came. */
async function follow(response) {
  live?.item.remove();
  live = undefined;
  for await (const { name, data } of eventsOf(response)) {
    const isAtEnd = window.innerHeight + window.scrollY >= document.body.scrollHeight - 80;
    if (name === "accepted") {
      showMessage(data.user);
      if (content.value === data.user.content) content.value = "";
    }
    if (name === "notice") row("notice", "", data.text);
    if (name === "text") {
      live ??= row("assistant", "Companion", "");
      live.words.append(data.text);
    }
    if (name === "result") {
      live?.item.remove();
      live = undefined;
      if (data.assistant !== null) showMessage(data.assistant);
      if (data.reason !== undefined) row("notice", "", data.reason);
    }
    if (isAtEnd) window.scrollTo(0, document.body.scrollHeight);
    if (name === "result") return true;
    if (name === "error") throw new ProblemError(data);
  }
  return false;
}

/** Runs one turn to its end. What went wrong can be tried again. */
async function run(open, retry) {
  calm();
  busy(true);
  content.focus();
  try {
    const isWhole = await follow(await open());
    if (!isWhole) throw new TypeError("the stream broke off");
  } catch (error) {
    trouble(error, retry);
  } finally {
    busy(false);
    await look().catch((error) => trouble(error, retry));
  }
}

const asStream = { accept: "text/event-stream" };

/** Sends with a key, so that trying again never says it twice. */
function send(text, key = newKey()) {
  const headers = { ...asStream, "idempotency-key": key };
  const body = { content: text };
  return run(
    () => ask(`${chat}/messages`, { method: "POST", body, headers }),
    () => send(text, key),
  );
}

function answer() {
  return run(() => ask(`${chat}/answer`, { method: "POST", headers: asStream }), answer);
}

/** Watches a turn that began before this page was opened. */
async function takeUp() {
  const response = await ask(`${chat}/turn`);
  if (response.status === 200) return run(() => Promise.resolve(response), start);
  // It ended meanwhile: its messages are stored.
  log.replaceChildren();
  before = undefined;
  return page();
}

/** `randomUUID` is there on secure origins only. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), String).join("-");
}

async function page() {
  const { messages, before: next } = await (
    await ask(`${chat}/messages?limit=50${asked()}`)
  ).json();
  for (const message of messages.toReversed()) showMessage(message, "start");
  before = next;
  byId("earlier").hidden = before === undefined;
}

function asked() {
  return before === undefined ? "" : `&before=${before}`;
}

/** How the chat stands: whether something waits for an answer. @returns the chat, if there is one. */
async function look() {
  try {
    const found = await (await ask(chat)).json();
    const isWaiting = found.unanswered_ids.length > 0 && !found.running && !isBusy;
    byId("offer").hidden = !isWaiting;
    if (!isBusy) state.textContent = `${found.provider}/${found.model}`;
    return found;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.problem.status !== 404) throw error;
    state.textContent = "Nothing was said yet";
    return undefined;
  }
}

async function start() {
  try {
    calm();
    log.replaceChildren();
    before = undefined;
    const found = await look();
    byId("sign-in").hidden = true;
    byId("say").hidden = false;
    if (found !== undefined) await page();
    window.scrollTo(0, document.body.scrollHeight);
    content.focus();
    if (found?.running) await takeUp();
  } catch (error) {
    trouble(error, start);
  }
}

async function dismiss() {
  try {
    await ask(`${chat}/dismiss`, { method: "POST" });
    await look();
    content.focus();
  } catch (error) {
    trouble(error, dismiss);
  }
}

async function enter() {
  const code = byId("code");
  try {
    await ask("/api/sign-in", { method: "POST", body: { code: code.value } });
    code.value = "";
    await start();
  } catch (error) {
    byId("trouble-text").textContent = error.message;
    byId("trouble").hidden = false;
    byId("again").hidden = true;
  }
}

byId("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = content.value;
  if (text.trim() !== "" && !isBusy) void send(text);
});
content.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("say").requestSubmit();
});
byId("stop").addEventListener("click", () => {
  ask(`${chat}/stop`, { method: "POST" }).catch(trouble);
});
byId("answer").addEventListener("click", () => void answer());
byId("dismiss").addEventListener("click", () => void dismiss());
byId("again").addEventListener("click", () => again?.());
byId("earlier").addEventListener("click", () => void page().catch(trouble));
byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  void enter();
});
void start();
