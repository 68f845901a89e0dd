import type { Context } from "../cli/command.ts";
import { Exit, exitCodes, isErrno } from "../cli/failure.ts";
import { type EndSignal, type Io, tell, write } from "../cli/io.ts";
import { type LineReader, readLines } from "../cli/line-reader.ts";
import { openLog } from "../cli/log.ts";
import { isStyled, MarkdownStyler } from "../cli/markdown-styles.ts";
import { chatPath, type Routes } from "../cli/routes.ts";
import { type Flags, resolveSettings } from "../cli/settings.ts";
import type { GivenFile } from "../core/chat/attachments.ts";
import type { MessagePage } from "../core/chat/message-page.ts";
import { printableLine } from "../core/chat/printable.ts";
import type { Target } from "../core/chat/provider-sessions.ts";
import { isThroughlineError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { shownModel } from "../core/models/model-name.ts";
import type { InputTrigger, OutputSink } from "../core/turns/coordinator.ts";
import { deliver, runCoordinator, textOnly, textOutput } from "../core/turns/coordinator.ts";
import { type Intent, parseIntent } from "../core/turns/intent.ts";
import { AttachedFiles } from "./attach-files.ts";
import type { ServedChat } from "./chats/read.ts";
import { modelBody, withModelRoutes } from "./routes.ts";
import { ModelChoice, runSlashCommand, slashCommand, targetOf } from "./slash-commands.ts";
import { type Notices, turnEvents } from "./turn-events.ts";

interface ChatFlags extends Flags {
  readonly chat: string;
}

/**
 * `throughline chat`. @throws Exit with 1 when a piped message was not answered, 130 by a signal; and what
 * `Talk.run` throws.
 */
export async function chat(flags: ChatFlags, context: Context): Promise<void> {
  const { io, env, version } = context;
  const settings = resolveSettings(flags, env);
  const { companionName, isEphemeral, logLevel } = settings;
  const path = chatPath(flags.chat);
  const exitCode = await withModelRoutes(settings, context, async (routes, _, isServed) => {
    // Named for this chat, not only for new ones.
    const target: Target = modelBody(flags, isServed);
    if (io.isInteractive) {
      const name = shownModel(await targetOf(routes, path, target));
      await tell(io, `Throughline ${version} · ${flags.chat} · ${name} · /help lists the commands`);
    }
    const logger = openLog(logLevel, "error");
    return new Talk(routes, io, { path, target, companionName, isEphemeral, logger }).run();
  });
  if (exitCode !== exitCodes.done) throw new Exit(exitCode);
}

interface TalkOptions {
  /** The path of the chat. */
  readonly path: string;
  /** What every turn is to run on; empty: what its period ran on. */
  readonly target: Target;
  readonly companionName: string | undefined;
  readonly isEphemeral: boolean;
  readonly logger: Logger;
}

/** One person at one terminal (or one pipe), in one chat. */
export class Talk {
  readonly #routes: Routes;
  readonly #io: Io;
  readonly #options: TalkOptions;
  readonly #ending = new AbortController();
  readonly #sink: OutputSink;
  readonly #notices: Notices;
  readonly #models: ModelChoice;
  readonly #lateNotices: string[] = [];
  /** Of the answer that streams now, where it is shown with styles. */
  #styler: MarkdownStyler | undefined;
  readonly #attached: AttachedFiles;
  #lines: LineReader | undefined;
  /** Cuts the answer short that is streaming now. */
  #interrupt: (() => void) | undefined;
  #failures = 0;
  /** Why an answer could not be written. */
  #unwritten: unknown;
  #exitCode: number = exitCodes.done;

  constructor(routes: Routes, io: Io, options: TalkOptions) {
    this.#routes = routes;
    this.#io = io;
    this.#options = options;
    this.#attached = new AttachedFiles(io);
    this.#models = new ModelChoice(routes, options.path, options.target);
    this.#sink = this.#output();
    this.#notices = {
      early: (text) => tell(io, `(${text})`),
      late: (text) => void this.#lateNotices.push(text),
    };
  }

  /**
   * Talks until the person, the input or a signal ends it. @returns the exit code.
   *
   * @throws why an answer could not be written, such as a full disk. A reader that is gone ends the chat.
   */
  async run(): Promise<number> {
    const { isInteractive } = this.#io;
    const ignoreSignals = this.#io.onSignal((signal) => this.#onSignal(signal));
    try {
      await this.#tellUnanswered();
      const lines = readLines(this.#io);
      this.#lines = lines;
      lines.onInterrupt(() => this.#onSignal("SIGINT"));
      try {
        const ended = await this.#loop(lines);
        if (isInteractive && ended !== "stop_word") await this.#goodbye();
      } finally {
        lines.close();
      }
    } finally {
      ignoreSignals();
    }
    if (this.#exitCode !== exitCodes.done) return this.#exitCode;
    if (this.#unwritten !== undefined) throw this.#unwritten;
    // A person has seen the failure; a script needs the code.
    return !isInteractive && this.#failures > 0 ? exitCodes.failed : exitCodes.done;
  }

  async #loop(lines: LineReader): Promise<string> {
    const { companionName, logger } = this.#options;
    const { ended } = await runCoordinator(
      {
        input: this.#input(lines),
        speechToText: textOnly,
        parseIntent,
        converse: (text, intent, signal) => this.#converse(text, intent, signal),
        output: this.#sink,
      },
      { companionName, signal: this.#ending.signal, logger },
    );
    return ended;
  }

  #input(lines: LineReader): InputTrigger {
    return {
      next: async () => {
        for (;;) {
          lines.prompt();
          const line = await lines.next();
          if (line.done === true) return undefined;
          if (await this.#attached.run(line.value)) continue;
          const command = slashCommand(line.value);
          if (command === undefined) return { text: line.value };
          if (!(await this.#run(command))) return undefined;
        }
      },
    };
  }

  /** Runs a command of the chat. @returns false when it ends the chat. */
  async #run(name: string): Promise<boolean> {
    try {
      const { path, logger } = this.#options;
      const result = await runSlashCommand(name, path, this.#routes, this.#models);
      if (result === undefined) return false;
      if (typeof result === "string") await tell(this.#io, result);
      else {
        const loop = { output: this.#sink, signal: this.#ending.signal, logger };
        await deliver(loop, "a turn failed", (cut) => turnEvents(result, cut, this.#notices));
      }
    } catch (error) {
      if (!isThroughlineError(error)) throw error;
      await tell(this.#io, `(${error.message})`);
    }
    return true;
  }

  async *#converse(text: string, intent: Intent, signal: AbortSignal) {
    const { path, logger } = this.#options;
    const body = messageBody(text, this.#attached.files, this.#models.target);
    const routes = this.#routes;
    const turn = { routes, path, events: routes.events(`${path}/messages`, body) };
    // A message that is refused leaves its files to the next one.
    const accepted = () => this.#attached.clear();
    yield* turnEvents(turn, signal, { ...this.#notices, accepted });
    logger.debug({ path, intent }, "the turn is remembered");
  }

  #output(): OutputSink {
    const sink = textOutput((text) => this.#write(this.#styler?.push(text) ?? text));
    return {
      begin: (interrupt) => {
        this.#interrupt = interrupt;
        if (isStyled(this.#io.output)) this.#styler = new MarkdownStyler();
        return sink.begin(interrupt);
      },
      write: (text) => sink.write(text),
      end: async (result) => {
        this.#interrupt = undefined;
        const held = this.#styler?.end() ?? "";
        this.#styler = undefined;
        if (held !== "") await this.#write(held);
        await sink.end(result);
        for (const text of this.#lateNotices.splice(0)) await tell(this.#io, `(${text})`);
        if (result.outcome === "failed") await this.#onFailure();
      },
    };
  }

  async #write(text: string): Promise<void> {
    try {
      await write(this.#io.output, text);
    } catch (error) {
      // No answer would be read: the reader is gone, or the disk of a file is full.
      const isFirst = !this.#ending.signal.aborted;
      if (isFirst && !isErrno(error, "EPIPE")) this.#unwritten = error;
      this.#ending.abort();
      throw error;
    }
  }

  async #onFailure(): Promise<void> {
    this.#failures++;
    // Not even the message could be stored, or asking fails too: that was reported.
    const isOpen = await this.#chat().then(
      (chat) => chat?.row.unanswered ?? false,
      () => false,
    );
    if (!isOpen) return;
    await tell(
      this.#io,
      "(Your message is kept. /answer asks again, until you say something else.)",
    );
  }

  #onSignal(signal: EndSignal): void {
    const interrupt = this.#interrupt;
    this.#interrupt = undefined;
    if (this.#ending.signal.aborted) {
      this.#lines?.close(); // the terminal is left as it was
      this.#io.exitNow(exitCodes.interrupted);
    } else if (signal === "SIGINT" && interrupt !== undefined) interrupt();
    else {
      // Ctrl-C at the prompt is how a person leaves.
      const isFarewell = signal === "SIGINT" && this.#io.isInteractive;
      if (!isFarewell) this.#exitCode = exitCodes.interrupted;
      this.#ending.abort();
    }
  }

  async #tellUnanswered(): Promise<void> {
    const chat = await this.#chat();
    if (chat === undefined || chat.running || chat.unanswered_ids.length === 0) return;
    const { messages } = await this.#routes.json<MessagePage>(`${this.#options.path}/messages`);
    // What waited for its turn is in no list.
    const open = messages.find(({ id }) => id === chat.unanswered_ids[0]);
    const words = open && printableLine(open.content);
    const what = words ? `"${words}"` : "A message";
    await tell(this.#io, `(${what} has no answer yet. Use /answer or /dismiss.)`);
  }

  /** @returns `undefined`: it was not begun. */
  #chat(): Promise<ServedChat | undefined> {
    return this.#routes.json(this.#options.path, { query: { if_exists: true } });
  }

  #goodbye(): Promise<void> {
    const { isEphemeral } = this.#options;
    return tell(
      this.#io,
      `\nGoodbye. ${isEphemeral ? "Nothing was stored." : "Your messages are kept."}`,
    );
  }
}

/** JSON, or a form if files go with the message. */
function messageBody(content: string, files: readonly GivenFile[], target: Target): object {
  if (files.length === 0) return { content, ...target };
  const form = new FormData();
  for (const [name, value] of Object.entries({ content, ...target })) form.append(name, value);
  for (const { name, bytes } of files) form.append("file", new Blob([bytes]), name);
  return form;
}
