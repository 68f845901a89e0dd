import type { ProviderModel, Target, TurnTarget } from "../chat/provider-sessions.ts";
import { invalid, isThroughlineError } from "../errors.ts";
import { shownModel } from "../models/model-name.ts";
import type { Responder } from "../models/responder.ts";
import { ask } from "./ask.ts";
import type { Answerer } from "./run.ts";
import type { TurnsRuntime } from "./turns-options.ts";

/** A model that is configured here. */
interface ModelAnswerer extends Answerer {
  readonly responder: Responder;
}

/**
 * What answers in a chat: what was asked for, else what its period is to run on. Where that cannot be
 * asked here, what new periods run on answers in its place, until it can.
 *
 * @throws ThroughlineError `THROUGHLINE_INVALID`, `THROUGHLINE_CONFIGURATION`: what was asked for cannot
 *   be asked here.
 */
export async function modelFor(
  { chats, responders }: Pick<TurnsRuntime, "chats" | "responders">,
  chatId: string,
  asked: Target,
): Promise<ModelAnswerer> {
  const { standard } = responders;
  let target: TurnTarget;
  let responder: Responder;
  let notice: string | undefined;
  const { head } = chats.known(chatId) ?? (await chats.state(chatId));
  const period = head?.session ?? undefined;
  const preferred = period?.preferred;
  // A period that began without a model continues with one as soon as one is configured.
  const current = period === undefined || period.provider === "offline" ? standard : period;
  if (asked.provider !== undefined || asked.model !== undefined) {
    target = namedTarget(asked, current, standard);
    responder = await responders.get(target.provider, target.model);
  } else {
    const { provider, model } = preferred ?? current;
    target = { provider, model };
    try {
      responder = await responders.get(provider, model);
      if (preferred) notice = `${provider}/${model} is configured again, and answers.`;
    } catch (error) {
      const isStandard = provider === standard.provider && model === standard.model;
      if (isStandard || !isNotConfigured(error)) throw error;
      responder = await responders.get(standard.provider, standard.model);
      notice = preferred === undefined ? fallbackNotice(target, standard) : undefined;
      target = { ...standard, insteadOf: target };
    }
  }
  return {
    target,
    responder,
    notice,
    answer: async (prompt, end) => end(await ask(prompt, responder)),
  };
}

function namedTarget(
  asked: Target,
  current: ProviderModel,
  standard: ProviderModel,
): ProviderModel {
  const provider = asked.provider ?? current.provider;
  const known = [current, standard].find((each) => each.provider === provider)?.model;
  const model = asked.model ?? known;
  if (model === undefined) throw invalid(`a model of ${provider} must be named too`);
  return { provider, model };
}

/** What a message that waited was to run on, or nothing if that is no longer configured. */
export async function stillConfigured(
  ports: Parameters<typeof modelFor>[0],
  chatId: string,
  asked: Target,
): Promise<Target> {
  try {
    await modelFor(ports, chatId, asked);
    return asked;
  } catch (error) {
    if (!isNotConfigured(error)) throw error;
    return {};
  }
}

/** Whether a model cannot be asked because of what is configured, not because of a fault. */
function isNotConfigured(error: unknown): boolean {
  return (
    isThroughlineError(error, "THROUGHLINE_CONFIGURATION") ||
    isThroughlineError(error, "THROUGHLINE_INVALID")
  );
}

function fallbackNotice(own: ProviderModel, standard: ProviderModel): string {
  const name = standard.provider === "offline" ? "the built-in responder" : shownModel(standard);
  return `${shownModel(own)} is not configured here: ${name} answers until it is.`;
}
