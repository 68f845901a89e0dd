// Safeguards, each with the edit that takes it away and the test that must turn red then. A new
// safeguard adds its line. Kept by hand: mutation testing does not know which calls are safeguards.
import { indexBugs } from "./seeded-bugs-index.ts";
import { journalBugs } from "./seeded-bugs-journal.ts";

export interface SeededBug {
  readonly id: string;
  readonly file: string;
  /** Text that is in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  readonly test: string;
  /** A pattern of the names of the tests that are run; all tests of the file when absent. */
  readonly named?: string;
  /** Only the full size of the test sees it. */
  readonly isFull?: true;
}

const files = "src/core/storage/files";
const powerCut = { test: "test/power-cut.test.ts", named: "power cut at every disk operation" };
const faults = { test: "test/disk-faults.test.ts", isFull: true } as const;
const contract = { test: `${files}/file-storage.test.ts`, isFull: true } as const;
const cutLog = { test: "test/bit-rot.test.ts", named: "a log cut at any length.*index kept" };
const flippedLog = {
  test: "test/bit-rot.test.ts",
  named: "a log with one bit flipped.*index lost",
};
const document = { test: "test/bit-rot.test.ts", named: "a document cut at any length" };
const turnKill = { test: "test/turn-kill.test.ts" };
const steps = { test: "src/core/turns/turn-steps.test.ts" };
const turns = { test: "src/core/turns/turns.test.ts" };
const openTurns = { test: "src/core/turns/open-turn.test.ts" };
const guard = { test: "src/server/guard.test.ts" };

const log: readonly SeededBug[] = [
  {
    id: "agent routes: a turn that is begun again lacks the steps since it was opened",
    file: "src/server/agent-routes.ts",
    find: "const { messages } = await turnOnRecord(chats, params.id, user);",
    replace: "const messages = turnOnRecord && turn.kept;",
    test: "test/server-open-turns.test.ts",
    named: "a turn is begun, its steps",
  },
  {
    id: "start: a journal of before a chat was forgotten brings it back",
    file: "src/core/chat/forget.ts",
    find: "<= at) await remove(log, chatId);",
    replace: "<= at) continue;",
    test: "test/erase-evidence.test.ts",
  },
  {
    id: "inventory: what the index knew of a log is not looked for in it",
    file: "src/cli/doctor/inventory.ts",
    find: "if (known && !isAsKnown)",
    replace: "if (known && !isAsKnown && last === 0)",
    ...{ test: "test/home-damage.test.ts", named: "a chat cut;" },
  },
  {
    id: "inventory: what was found is not kept",
    file: `${files}/quarantine.ts`,
    find: "    if (quarantined === undefined && !isLoss(report)) return;",
    replace: "    if (quarantined === undefined) return;",
    ...{ test: "test/home-damage.test.ts", named: "a chat removed;" },
  },
  {
    id: "log: a file whose first line is not JSON is taken for torn",
    file: `${files}/log-end.ts`,
    find: "return size <= reachBytes && isHalfHeader(withoutNuls(start));",
    replace: "return true;",
    ...{ test: `${files}/log-file.test.ts`, named: "a file that another program wrote" },
  },
  {
    id: "log: any name in the home is taken for a log",
    file: `${files}/file-storage.ts`,
    find: "isShared: directory === this.#ports.home",
    replace: "isShared: false",
    ...{ test: `${files}/reconcile.test.ts`, named: "in the folder of the home itself" },
  },
  {
    id: "home: whatever is called temporary is swept",
    file: `${files}/file-ports.ts`,
    find: String.raw`/\.jsonl?(?:\.bak)?\.tmp-[0-9a-z]+$/`,
    replace: String.raw`/\.tmp-[0-9a-z]+$/`,
    ...{ test: `${files}/log-file.test.ts`, named: "only what was to replace" },
  },
  {
    id: "log: a short count is ignored",
    file: `${files}/file-ports.ts`,
    find: "    done += count;",
    replace: "    done = bytes.length;",
    ...{ ...faults, named: "fails with short" },
  },
  {
    id: "log: a torn tail is not cut",
    file: `${files}/log-end.ts`,
    find: "if (end === size) return found;",
    replace: "if (end <= size) return found;",
    ...cutLog,
  },
  {
    id: "log: no quarantine copy",
    file: `${files}/quarantine.ts`,
    find: "copyBytes(file, start, end, copy)",
    replace: "Promise.resolve()",
    ...cutLog,
  },
  {
    id: "log: a torn tail is not reported",
    file: `${files}/log-end.ts`,
    find: 'ports.report({ key, kind: "torn_tail",',
    replace: 'void ({ key, kind: "torn_tail",',
    ...cutLog,
  },
  {
    id: "log: an older copy is not reported",
    file: `${files}/reconcile.ts`,
    find: "reportOlderCopy(ports, log, entry.seq);",
    replace: "undefined;",
    ...cutLog,
  },
  {
    id: "log: no CRC of the batch",
    file: `${files}/commit.ts`,
    find: "return hex(crc32(batch.subarray(0, end))) === crc;",
    replace: "return true;",
    ...flippedLog,
  },
  {
    id: "log: damage is skipped in silence",
    file: `${files}/log-file.ts`,
    find: "this.#ports.damage(this.key, damage);",
    replace: "",
    ...flippedLog,
  },
  {
    id: "log: no chain of CRCs from the end",
    file: `${files}/batch-reader.ts`,
    find: "const broken = !gap && next !== undefined && next.commit.prev !== batch.commit.crc;",
    replace: "const broken = false;",
    ...{ test: "test/bit-rot.test.ts", named: "whoever reads the log from its end" },
  },
  {
    id: "log: no chain of CRCs from the start",
    file: `${files}/batch-reader.ts`,
    find: "const broken = batch.start === expected && prev !== undefined && batch.commit.prev !== prev;",
    replace: "const broken = false;",
    ...{ test: "test/bit-rot.test.ts", named: "whoever reads the log from its start" },
  },
];

const documents: readonly SeededBug[] = [
  {
    id: "document: no fsync of the new file",
    file: `${files}/file-ports.ts`,
    find: "      await fill(file);\n      await file.sync();",
    replace: "      await fill(file);",
    ...powerCut,
  },
  {
    id: "document: no fsync of the directory",
    file: `${files}/file-ports.ts`,
    find: "    await syncNames(ports, dirname(path));\n  } catch (error) {\n    throw replacedPerhaps(error);",
    replace: "  } catch (error) {\n    throw replacedPerhaps(error);",
    ...powerCut,
  },
  {
    id: "document: the copy before it is never read",
    file: `${files}/file-document-store.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "for (const each of [path, `${path}.bak`]) {\n      const found",
    replace: "for (const each of [path]) {\n      const found",
    ...document,
  },
  {
    id: "document: backed up without looking at it",
    file: `${files}/file-document-store.ts`,
    find: `if (current === undefined || current === "unreadable") return;`,
    replace: "if (current === undefined) return;",
    ...document,
  },
  {
    id: "document: saved over what could not be read",
    file: `${files}/file-document-store.ts`,
    find: `if (found === "unreadable") await this.#setAside(key, each, unreadable);`,
    replace: `if (found === "unreadable") continue;`,
    ...document,
  },
];

const lock: readonly SeededBug[] = [
  {
    id: "lock: none",
    file: `${files}/lease.ts`,
    find: `database.exec("begin exclusive");`,
    replace: "",
    ...{ test: `${files}/lease.test.ts`, named: "take a home twice" },
  },
  {
    id: "lock: the file's inode is not looked at again",
    file: `${files}/lease.ts`,
    find: "if (isSame(this.#taken.lock, identityAt(this.#lockPath))) return undefined;",
    replace: "if (isSame(this.#taken.home, identityAt(home))) return undefined;",
    ...{ test: `${files}/lease.test.ts`, named: "the holder notices" },
  },
  {
    id: "lock: the umask is trusted",
    file: `${files}/lease.ts`,
    find: "fs.fchmodSync(descriptor, 0o600);",
    replace: "",
    ...{ test: `${files}/lease.test.ts`, named: "umask" },
  },
  {
    id: "lock: not asked before an append",
    file: `${files}/file-log-store.ts`,
    find: "    this.#ports.guard();\n    return log.append(",
    replace: "    return log.append(",
    ...{ test: "test/kill.test.ts", named: "lock file was taken away" },
  },
];

const contracts: readonly SeededBug[] = [
  {
    id: "contract: a repeated id is stored again",
    file: `${files}/file-log-store.ts`,
    find: "if (stored === undefined) {",
    replace: "if (stored === undefined || ids.length >= 0) {",
    ...{ ...contract, named: "one batch appended 20 times at once" },
  },
  {
    id: "contract: expectedSeq is ignored",
    file: `${files}/file-log-store.ts`,
    find: "if (expectedSeq === undefined || expectedSeq === seq) return;",
    replace: "if (expectedSeq === undefined || expectedSeq >= 0) return;",
    ...{ ...contract, named: "an append that expects the seq at which the log ends" },
  },
  {
    id: "contract: other content under a known id is taken for the same",
    file: `${files}/batch-records.ts`,
    find: "if (sameRecord(JSON.stringify(content), record.json)) return;",
    replace: "if (sameRecord(record.json, record.json) || content) return;",
    ...{ ...contract, named: "of one id with different content" },
  },
  {
    id: "lock: not asked at all",
    file: `${files}/open-file-storage.ts`,
    find: "oncePerPass(() => lease.check())",
    replace: "() => undefined",
    ...{ test: `${files}/lost-home.test.ts` },
  },
  {
    id: "security: an id is a file name",
    file: `${files}/open-logs.ts`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "`${fileNameOf(key)}.jsonl`",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    replace: "`${key}.jsonl`",
    ...{ ...contract, named: "keys that differ at all|a log can have any key" },
  },
];

const duringTurns = "src/core/turns/changes-during-turns.test.ts";

const sessions: readonly SeededBug[] = [
  {
    id: "working memory: what was erased comes back by a turn that ends after it",
    file: "src/core/chat/working-memories.ts",
    find: "if (this.#chats.peek(chatId) === memory) this",
    replace: "if (memory !== undefined) this",
    ...{ test: duringTurns, named: "is told to no model" },
  },
  {
    id: "sessions: a message that waits ends its session by waiting",
    file: "src/core/turns/turn-records.ts",
    find: "sessions.resolveIn(transaction, target, { isQueued })",
    replace: "sessions.resolveIn(transaction, target, { isQueued: false })",
    ...{ test: duringTurns, named: "does not end a period between" },
  },
  {
    id: "sessions: a counter is set, not added to",
    file: "src/core/chat/usage.ts",
    find: "total_tokens: addCounts(bucket.total_tokens, delta.tokens),",
    replace: "total_tokens: addCounts(0, delta.tokens),",
    ...{
      test: "src/core/chat/usage.test.ts",
      named: "two updates made from equal",
    },
  },
  {
    id: "sessions: a limit clears every bucket",
    file: "src/core/chat/freshness.ts",
    find: `reason: "max_messages", ends: "provider"`,
    replace: `reason: "max_messages", ends: "session"`,
    ...{ test: "src/core/chat/freshness.test.ts", named: "D10" },
  },
  {
    id: "sessions: usage of an ended session is counted in the new one",
    file: "src/core/chat/usage.ts",
    find: `if (delta.generation !== state?.generation) return { rejected: "ended_generation" };`,
    replace: "",
    ...{ test: "src/core/chat/usage.test.ts", named: "D7, D8" },
  },
  {
    id: "sessions: a person's clock goes back",
    file: "src/core/chat/period.ts",
    find: "if (at <= (instantOf(state.human_at) ?? Number.NEGATIVE_INFINITY)) return state;",
    replace: "",
    ...{ test: "src/core/chat/period.test.ts" },
  },
  {
    id: "time: an act in the future is believed",
    file: "src/core/chat/freshness.ts",
    find: "const isHumanLate = storedHuman !== undefined && isLate(storedHuman);",
    replace: "const isHumanLate = false;",
    ...{ test: "src/core/chat/freshness.test.ts", named: "2099" },
  },
  {
    id: "time: the reset day in UTC",
    file: "src/core/chat/reset-day.ts",
    find: "return local / minuteMs - minute;",
    replace: "return 0 * (local / minuteMs - minute);",
    ...{ test: "src/core/chat/reset-day.test.ts" },
  },
  {
    id: "time: the hour that comes twice is a new day twice",
    file: "src/core/chat/reset-day.ts",
    find: "return Math.max(day, plainDay(before + offsetBefore, hour));",
    replace: "return day;",
    ...{ test: "src/core/chat/reset-day.test.ts" },
  },
];

const turn: readonly SeededBug[] = [
  {
    id: "variants: what was chosen again stays replaced",
    file: "src/core/chat/shown-messages.ts",
    find: "else if (replacement !== undefined) replaced.delete(replacement.target);",
    replace: "",
    ...{ test: "src/core/turns/variants.model.test.ts" },
  },
  {
    id: "variants: a model gets the answer that was hidden last",
    file: "src/core/chat/history-scope.ts",
    find: "if (this.#restoredAt.has(target)) return;",
    replace: "",
    ...{ test: "src/core/turns/variants.model.test.ts" },
  },
  {
    id: "log: what is appended is not added to the records in memory",
    file: "src/core/storage/files/log-file.ts",
    find: "this.#ports.recent.append(this, start, lines);",
    replace: "",
    test: "src/core/storage/files/recent-records.test.ts",
  },
  {
    id: "log: records that readers share can be changed",
    file: "src/core/storage/files/recent-records.ts",
    find: "recent.batches.unshift(freezeDeep(batch));",
    replace: "recent.batches.unshift(batch);",
    ...{ ...contract, named: "log.copy.records" },
  },
  {
    id: "history: a large turn takes the place of what was said before",
    file: "src/core/chat/history-fit.ts",
    find: "const older = known.map((turn) => shortenTurn(turn, large));",
    replace: "const older = known.slice();",
    ...{ test: "src/core/turns/window.test.ts" },
  },
  {
    id: "history: words that a person has read are asked for again with less",
    file: "src/core/turns/ask.ts",
    find: 'isOf(error, "too_long") && attempt.isSilent; left--',
    replace: 'isOf(error, "too_long"); left--',
    ...{ test: "src/core/turns/turns.test.ts", named: "asked for again with less" },
  },
  {
    id: "variants: a provider resumes a session with the other answer",
    file: "src/core/turns/choose.ts",
    find: "period && withoutSessionIds(period)",
    replace: "period",
    ...{ test: "src/core/turns/choose.test.ts", named: "resumes a session" },
  },
  {
    id: "variants: one is chosen after more was said",
    file: "src/core/turns/choose.ts",
    find: "user === undefined || answer.turn !== user.id",
    replace: "user === undefined",
    ...{ test: "src/core/turns/choose.test.ts", named: "once more was said" },
  },
  {
    id: "backup: a message lacks its file",
    file: "src/app/backup/verify.ts",
    find: 'each.kind === "missing_file" && !ofHome.includes(each)',
    replace: "each.kind === undefined && !ofHome.includes(each)",
    ...{ test: "src/app/backup/backup.test.ts", named: "leaves no gap in it" },
  },
  {
    id: "branches: a link leads to a chat that is no branch",
    file: "src/core/chat/branches.ts",
    find: "limit: maxBranches, label: forkLabel(chatId)",
    replace: "limit: maxBranches",
    ...{ test: "src/core/chat/branches.test.ts", named: "a fork that failed is not shown" },
  },
  {
    id: "turn: nothing says that a message has no answer",
    file: "src/core/turns/turn-records.ts",
    find: "open_turn: { id: turn.id, seq: user.seq, attempts: attempt },",
    replace: "open_turn: undefined,",
    ...{ ...turnKill, named: "when the model is asked leaves" },
  },
  {
    id: "turn: an answered turn is run again",
    file: "src/core/turns/run-turn.ts",
    find: "if (again !== undefined) return again;",
    replace: "",
    ...{ ...turnKill, named: "after the turn leaves" },
  },
  {
    id: "turn: an answered turn stays open",
    file: "src/core/turns/turn-records.ts",
    find: "isOver && transaction.head.open_turn?.id === turn.id",
    replace: "false",
    ...{ ...turns, named: "a turn commits both messages" },
  },
  {
    id: "turn: each Turns of a Throughline has a queue of its own",
    file: "src/core/throughline.ts",
    find: "queue ??= new TurnQueue(chats, sessions);",
    replace: "queue = new TurnQueue(chats, sessions);",
    ...{ ...openTurns, named: "a second message waits for its turn" },
  },
  {
    id: "turn: an open turn that was stopped waits for its caller without end",
    file: "src/core/turns/open-turn.ts",
    find: "if (this.#closing === undefined) this.#abandon(notClosed());",
    replace: "",
    ...{ ...openTurns, named: "a turn that was stopped and is not closed" },
  },
  {
    id: "turn: what an open turn keeps is stored after it has ended",
    file: "src/core/turns/open-turn.ts",
    find: "this.#assertOpen(); // it may have ended while this waited",
    replace: "",
    ...{ ...openTurns, named: "what was to be kept when its turn ended" },
  },
  {
    id: "turn: a message that an open turn answered is answered again",
    file: "src/core/turns/stored-answer.ts",
    find: "const isOther = shown === undefined && retryId === undefined;",
    replace: "const isOther = false;",
    ...{ ...openTurns, named: "a message that an open turn answered" },
  },
  {
    id: "turn: a tool runs before its call is stored",
    file: "src/core/turns/turn-steps.ts",
    find: "await this.#store(callRecordId, fields);",
    replace: "void this.#store(callRecordId, fields);",
    ...{ ...steps, named: "a tool waits until its call is on the disk" },
  },
  {
    id: "turn: a model gets a result before it is stored",
    file: "src/core/turns/turn-steps.ts",
    find: "await this.#storeResult(recorded, { content, isError: false });",
    replace: "void this.#storeResult(recorded, { content, isError: false });",
    ...{ ...steps, named: "a tool waits until its call is on the disk" },
  },
  {
    id: "turn: every call without a result is run again",
    file: "src/core/turns/turn-steps.ts",
    find: "tool?.repeatable !== true",
    replace: "tool === undefined",
    ...{ ...turnKill, named: "a tool killed while the tool runs" },
  },
  {
    id: "turn: what an unfinished retry did is shown",
    file: "src/core/chat/shown-messages.ts",
    find: "if (answer !== undefined && !isStanding(await logs.find(chatId, answer))) return true;",
    replace: "",
    ...{ ...steps, named: "a retry that fails after a tool ran" },
  },
  {
    id: "turn: a message that waits is forgotten at the end of the process",
    file: "src/core/turns/turn-records.ts",
    find: "transaction.set({ pending: [...(transaction.head.pending ?? []), turn.id] });",
    replace: "",
    ...{ ...turns, named: "keeps what waits unanswered" },
  },
];

const security: readonly SeededBug[] = [
  {
    id: "security: the host by its suffix",
    file: "src/server/guard.ts",
    find: "const origins = host === undefined ? undefined : hosts.get(host);",
    replace: "const origins = [...hosts].find(([name]) => host?.endsWith(name))?.[1];",
    ...{ ...guard, named: "the host .* is turned away" },
  },
  {
    id: "security: Origin: null is let in",
    file: "src/server/guard.ts",
    find: "if (origin !== undefined && !origins.includes(origin))",
    replace: `if (origin !== undefined && origin !== "null" && !origins.includes(origin))`,
    ...{ ...guard, named: "the origin null" },
  },
  {
    id: "security: another site is let in",
    file: "src/server/guard.ts",
    find: `site !== "same-origin" && site !== "none"`,
    replace: `site === "never"`,
    ...{ ...guard, named: "Sec-Fetch-Site" },
  },
  {
    id: "security: a token that is there is taken for the right one",
    file: "src/server/access.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: 'sameSecret(given.replace(/^bearer /i, "Bearer "), `Bearer ${this.#token}`)',
    replace: "true",
    ...{ test: "src/server/access.test.ts", named: "is turned away" },
  },
  {
    id: "security: a sign-in code can be guessed at for ever",
    file: "src/server/access.ts",
    find: "++code.guesses >= accessLimits.guesses",
    replace: "++code.guesses < 0",
    ...{ test: "src/server/access.test.ts", named: "wrong guesses" },
  },
  {
    id: "security: a path in the body of an error",
    file: "src/server/problem.ts",
    find: " && !pathLike.test(message)",
    replace: "",
    ...{ test: "src/server/problem.test.ts", named: "is not told" },
  },
];

const companionParts = { test: "src/companion/conversation/companion-part.test.ts" };
const companion: readonly SeededBug[] = [
  {
    id: "companion: what somebody did while no run was up is a sign of its life",
    file: "src/companion/gap.ts",
    find: "return commits.filter(({ at }) => at !== undefined && at <= until);",
    replace: "return until < 0 ? [] : commits;",
    test: "src/companion/gap.test.ts",
  },
  {
    id: "companion: a gap is not clamped",
    file: "src/companion/gap.ts",
    find: "Math.max(0, wallMs)",
    replace: "wallMs",
    test: "src/companion/gap.test.ts",
  },
  {
    id: "companion: an uncertain gap is taken for a crash of just now",
    file: "src/companion/restart.ts",
    find: `!clean && certainty !== "uncertain"`,
    replace: "!clean",
    test: "src/companion/restart.test.ts",
  },
  {
    id: "companion: the answer does not say that its chat was told",
    file: "src/core/turns/turn-records.ts",
    find: "if (isAcknowledged) transaction.set({ told_session: ended.acknowledged });",
    replace: "",
    ...companionParts,
  },
  {
    id: "chats: what is appended is not heard",
    file: "src/core/chat/chat-log.ts",
    find: "for (const { message, client } of heard) this.#onHeard(chatId, message, client);",
    replace: "",
    test: "test/server-hearing.test.ts",
  },
  {
    id: "chats: what is appended again is heard again",
    file: "src/core/chat/chats.ts",
    find: "if (one.seq > seq) onNew(one);",
    replace: "onNew(one);",
    test: "test/server-hearing.test.ts",
  },
  {
    id: "companion: words are heard after the model was asked",
    file: "src/core/turns/run-turn.ts",
    find: "if (begun.isNew) ports.extensions.heard(turn.chatId, begun.user);",
    replace: "",
    ...companionParts,
  },
  {
    id: "companion: a wound waits for the next save",
    file: "src/companion/companion.ts",
    find: "if (isUrgent && this.#shared === undefined) this.#snapshots.saveSoon();",
    replace: "",
    test: "src/companion/companion.test.ts",
  },
  {
    id: "companion: older copies of the document outlive forgetting",
    file: "src/companion/snapshots.ts",
    find: "await this.#ports.documents.forgetCopies(documentKey);",
    replace: "",
    test: "src/companion/forget-chat.test.ts",
  },
];

const clusterLost = { test: "test/cluster-lost.test.ts" };
const cluster: readonly SeededBug[] = [
  {
    id: "cluster: a turn that lost its chat is stored all the same",
    file: "src/core/turns/turns.ts",
    find: 'turn.span.add({ stage: "store", finish, input, output });\n        turn.assertUnfenced();',
    replace: 'turn.span.add({ stage: "store", finish, input, output });',
    ...{ ...clusterLost, named: "a lease that is lost before anybody has it" },
  },
  {
    id: "cluster: what waited is begun though its chat was forgotten",
    file: "src/core/turns/run-turn.ts",
    find: 'if (isGone) throw notFound(turn.chatId, "message that waits");',
    replace: "",
    ...{ ...clusterLost, named: "forgotten meanwhile is not begun" },
  },
  {
    id: "cluster: a remembered chat is answered",
    file: "src/core/chat/chat-log.ts",
    find: "const tail = await this.logs.tail(chatId, 0);\n    const state",
    replace:
      "const known = this.#guess(chatId);\n    if (known !== undefined) return known;\n    const tail = await this.logs.tail(chatId, 0);\n    const state",
    test: "src/core/chat/chat-log-cluster.test.ts",
  },
  {
    id: "cluster: the leader before writes the document on",
    file: "src/companion/snapshots.ts",
    find: "onConflict === undefined ? {} : { expectedRevision: this.#revision };",
    replace: "{};",
    ...{ test: "test/cluster-companion.test.ts", named: "a process that slept" },
  },
  {
    id: "cluster: what was decided before an erasure is stored over it",
    file: "src/core/chat/erasure.ts",
    find: "if (cluster.isShared && (isTitle || !isCounted)) {",
    replace: "if (isCounted && isTitle) {",
    ...{ test: "src/core/chat/chats-cluster.test.ts", named: "decided before an erasure" },
  },
  {
    id: "cluster: an erasure overwrites a head that it did not see",
    file: "src/core/chat/chat-log.ts",
    find: "ids, { expectedSeq, head, onDamageRemoved }",
    replace: "ids, { head, onDamageRemoved }",
    ...{ test: "src/core/chat/chats-cluster.test.ts", named: "before the erase of an erasure" },
  },
  {
    id: "cluster: an act is appended behind acts that were not read",
    file: "src/companion/act-log.ts",
    find: "const last = await this.#logs.append(log, records, { expectedSeq: seq });",
    replace: "const last = seq + records.length + 0 * (await this.#logs.append(log, records));",
    ...{ test: "test/cluster-companion.test.ts", named: "all feel in one order" },
  },
  {
    id: "cluster: acts after the last document are not folded at a start",
    file: "src/companion/left.ts",
    find: "const isCovered = position.log === covered?.log && position.seq <= covered.seq;",
    replace: "const isCovered = covered !== undefined && position.seq > 0;",
    ...{ test: "test/cluster-companion.test.ts", named: "when all are killed" },
  },
  {
    id: "cluster: acts that a document covers are folded once more",
    file: "src/companion/left.ts",
    find: "const isCovered = position.log === covered?.log && position.seq <= covered.seq;",
    replace: "const isCovered = position.seq < 0;",
    ...{ test: "test/cluster-companion.test.ts", named: "when all are killed" },
  },
  {
    id: "cluster: a chat that was told is told again once all were killed",
    file: "src/companion/left.ts",
    find: "told.set(act.chat, act.session);",
    replace: "told.set(act.chat, 0);",
    ...{ test: "test/cluster-companion.test.ts", named: "what was told is not told again" },
  },
  {
    id: "clients: a run that ended is taken for a crash",
    file: "src/companion/client-runs.ts",
    find: "previous: before && { runId: before.runId, clean: before.isEnded },",
    replace: "previous: before && { runId: before.runId, clean: false },",
    ...{ test: "test/server-clients.test.ts", named: "an end, 20 s ago" },
  },
  {
    id: "cluster: words of a chat that was forgotten elsewhere are stored",
    file: "src/companion/shared-acts.ts",
    find: "this.#pending = this.#pending.filter((each) => !isOf(each));",
    replace: "",
    ...{ test: "test/cluster-companion.test.ts", named: "words that a process wanted" },
  },
  {
    id: "cluster: the acts of a forgotten chat stay in their log",
    file: "src/companion/act-log.ts",
    find: "if (ids.length > 0) await logs.erase(log, ids);",
    replace: "",
    ...{ test: "test/cluster-companion.test.ts", named: "a chat that is forgotten" },
  },
  {
    id: "cluster: moods that a killed leader did not store are lost",
    file: "src/companion/companion.ts",
    find: "this.#history.startOver(this.#unsaved.filter(({ at }) => Date.parse(at) > since));",
    replace: "this.#history.startOver([]);",
    ...{ test: "test/cluster-companion.test.ts", named: "nothing that was felt is lost" },
  },
  {
    id: "cluster: moments of a chat that was forgotten during a gap stay",
    file: "src/moments/record/forget-forgotten.ts",
    find: "failed += (await kept.forget({ name })).failed.length;",
    replace: "",
    ...{ test: "src/moments/moments-cluster.test.ts", named: "a package alone" },
  },
];

const exporter = "src/moments/export";
const exports: readonly SeededBug[] = [
  {
    id: "export: HTML of a message stays HTML in Markdown",
    file: "src/core/chat/render-markdown.ts",
    find: '    .replace(/</g, "&lt;")\n',
    replace: "",
    test: "src/core/chat/render-markdown.test.ts",
  },
  {
    id: "completion: a shell is offered any id",
    file: "src/cli/completion.ts",
    find: ".filter(isPlain)",
    replace: "",
    ...{ test: "test/cli-completion.test.ts", named: "only words that no shell expands" },
  },
  {
    id: "export: a package is written that was not compared whole",
    file: `${exporter}/export-feedback.ts`,
    find: "await from.verifyRest();",
    replace: "",
    test: `${exporter}/feedback-export.test.ts`,
  },
];

const privacy: readonly SeededBug[] = [
  {
    id: "privacy: without consent to words a message that is named brings them in",
    file: "src/moments/record/moment-recorder.ts",
    find: "judgedMessages([], withoutWords(input), label, now)",
    replace: "judgedMessages([], input, label, now)",
    ...{ test: "src/moments/record/moment-recorder.test.ts", named: "none come in" },
  },
  {
    id: "privacy: what is erased or cleared stays in the rolling buffers",
    file: "src/moments/start-moments.ts",
    find: 'if (loss !== "forget") this.kept?.moments.recorder.removeWords(chatId, messageId);',
    replace: "",
    ...{ test: "test/server-feedback.test.ts", named: "in no package that is made after" },
  },
  {
    id: "privacy: what a killed upload from memory left stays in the bucket",
    file: "src/moments/upload/upload-work.ts",
    find: "await removePackage(at, upload.prefix, signal);",
    replace: "",
    ...{ test: "src/moments/upload/upload-loop.test.ts", named: "the next one removes them" },
  },
  {
    id: "loss: a package that arrived whole before a kill is removed from the bucket",
    file: "src/moments/upload/upload-work.ts",
    find: "if (!(await hasArrived(at, upload.prefix, signal))) {",
    replace: "if (at !== undefined) {",
    ...{ test: "src/moments/upload/upload-loop.test.ts", named: "the next one keeps them" },
  },
  {
    id: "privacy: an erasure does not name what a framework keeps",
    file: "src/core/throughline.ts",
    find: 'loss === "erase" ? namedFrameworkLogs(storage, chatId) : []',
    replace: "[]",
    ...{ test: "test/framework-logs.test.ts", named: "erasing a message names" },
  },
  {
    id: "privacy: a LangGraph thread gives the model what its chat removed",
    file: "src/adapters/langchain/saver.ts",
    find: "await this.#transcript?.chat.takeOut(threadId, tuple);",
    replace: "",
    ...{
      test: "src/adapters/langchain/removed-messages.test.ts",
      named: "the thread gives the model",
    },
  },
  {
    id: "privacy: a message with the id of a removal passes for it",
    file: "src/core/chat/shown-messages.ts",
    find: 'if (!isControl(record, kind) || record["target"] !== target) continue;',
    replace: "",
    test: "src/core/chat/forged-controls.test.ts",
  },
  {
    id: "privacy: an export removes whatever has the name of its own partial",
    file: `${exporter}/out-folder.ts`,
    find: "return name.startsWith(start) && /^[0-9a-z]{18}$/.test(name.slice(start.length));",
    replace: "return name.startsWith(start);",
    test: `${exporter}/out-folder.test.ts`,
  },
  {
    id: "documents: a damaged copy before it stays in quarantine when a chat is forgotten",
    file: "src/core/storage/files/file-document-store.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a source.
    find: "await this.#ports.forgetQuarantine(`${path}.bak`);",
    replace: "{ files: 0 };",
    ...{ test: "src/companion/forget-chat.test.ts", named: "2 damaged" },
  },
  {
    id: "documents: one that somebody else wrote is passed over for its copy",
    file: "src/core/storage/files/file-document-store.ts",
    find: "if (isForeign(current)) return { ...current, revision };",
    replace: "",
    test: "src/core/storage/files/file-document-store.test.ts",
  },
];

const groups = { test: "src/postgres/append-groups.test.ts" };

const database: readonly SeededBug[] = [
  {
    id: "database: a group waits for a log that somebody is writing",
    file: "src/postgres/append-groups.ts",
    find: "for update skip locked",
    replace: "for update",
    ...{ ...groups, named: "keeps no other append waiting" },
  },
  {
    id: "database: a group is stored under an epoch that is over",
    file: "src/postgres/append-groups.ts",
    find: "and (wanted.epoch is null or old.epoch = wanted.epoch)",
    replace: "",
    ...{ ...groups, named: "is fenced in a group" },
  },
  {
    id: "database: a group that may have been stored is sent again",
    file: "src/postgres/append-groups.ts",
    find: "begun?.isInDoubt ? begun : rest",
    replace: "rest",
    ...{ ...groups, named: "whoever holds the log" },
  },
  {
    id: "database: an append counts as stored whatever the database says",
    file: "src/postgres/append-statement.ts",
    find: " || rowCount !== records.length",
    replace: "",
    ...{ ...groups, named: "stands against no other" },
  },
];

export const seededBugs: readonly SeededBug[] = [
  ...[...log, ...journalBugs, ...indexBugs, ...documents, ...lock, ...contracts],
  ...[...sessions, ...turn, ...security, ...companion, ...cluster, ...exports, ...privacy],
  ...database,
];
