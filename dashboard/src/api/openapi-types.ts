// The types of what goes over the wire, inferred from the schemas that api/openapi.json is made of.
import type { z } from "zod";
import type { personaBody, personaState } from "../../../src/app/persona-routes.ts";
import type * as companion from "../../../src/companion/routes/answer-schemas.ts";
import type { touch } from "../../../src/companion/routes/schemas.ts";
import type * as moments from "../../../src/moments/routes/answer-schemas.ts";
import type { preservation, reaction } from "../../../src/moments/routes/schemas.ts";
import type * as server from "../../../src/server/answer-schemas.ts";
import type * as turns from "../../../src/server/event-schemas.ts";
import type { resetBody } from "../../../src/server/schemas.ts";

/** As it is read: nothing is changed, and of an object that may hold more the named fields are known. */
type Read<T> = T extends readonly (infer Item)[]
  ? readonly Read<Item>[]
  : T extends object
    ? [keyof Named<T>] extends [never]
      ? { readonly [Key in keyof T]: Read<T[Key]> }
      : { readonly [Key in keyof Named<T>]: Read<Named<T>[Key]> }
    : T;
type Named<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] };

type Answer<Schema extends z.ZodType> = Read<z.output<Schema>>;
type Body<Make extends () => z.ZodType> = Read<z.input<ReturnType<Make>>>;
type EventsOf<Schemas extends Record<string, z.ZodType>> = {
  readonly [Name in keyof Schemas]: Answer<Schemas[Name]>;
};

export type ServerEvents = EventsOf<
  typeof turns.events & typeof companion.events & typeof moments.events
>;
export type TurnEvents = Answer<typeof turns.TurnEvents>;
export type Retrying = TurnEvents["retrying"];

export type Message = Answer<typeof server.message>;
export type MessagePage = Answer<typeof server.messagePage>;
export type Attachment = NonNullable<Message["attachments"]>[number];
export type AnswerStats = NonNullable<Message["stats"]>;
export type Matches = Answer<typeof server.matches>;
export type MessageReceipt = Answer<typeof server.removed>;

export type Chat = Answer<typeof server.chat>;
export type ChatRow = Answer<typeof server.chatRow>;
export type ChatList = Answer<typeof server.chatList>;
export type ChatListRow = ChatList["chats"][number];
export type LinkedChat = Chat["branches"][number];
export type ForgetReceipt = Answer<typeof server.forgetReceipt>;
export type Reset = Body<typeof resetBody>;
export type Session = Answer<typeof server.session>;
export type ProviderSession = Session["provider_sessions"][string];

export type ModelList = Answer<typeof server.modelList>;
export type WorkingMemory = Answer<typeof server.memory>;
export type NextPrompt = Answer<typeof server.nextPrompt>;
export type PromptSection = NextPrompt["sections"][number];
export type PromptMessage = NonNullable<PromptSection["messages"]>[number];
export type Persona = Answer<Awaited<ReturnType<typeof personaState>>>;
export type PersonaChange = Body<typeof personaBody>;

export type Facts = Answer<typeof companion.factsState>;
export type CompanionRun = Answer<typeof companion.companionRun>;
export type Restart = Answer<typeof companion.restart>;
export type Delivery = Restart["deliveries"][number];
export type Emotions = Answer<typeof companion.emotionState>;
export type Wound = Emotions["wounds"][number];
export type MoodHistory = Answer<typeof companion.moodHistory>;
export type PersonSeen = Answer<typeof companion.personSeen>;
export type Sleeping = Answer<typeof companion.sleeping>;
export type Touch = Body<typeof touch>;
export type Touched = Answer<typeof companion.touched>;

export type Consent = Answer<typeof moments.consent>;
export type Receipt = Answer<typeof moments.receipt>;
export type Reaction = Body<typeof reaction>;
export type ReactionsOfChat = Answer<typeof moments.reactions>;
export type MessageReaction = ReactionsOfChat["reactions"][number];
export type Buffers = ServerEvents["buffers"];
export type PackageList = Answer<typeof moments.packageList>;
export type Package = PackageList["packages"][number];
export type PackageStatus = Answer<typeof moments.packageStatus>;
export type PackageContent = Answer<typeof moments.onePackage>;
export type PackageAudio = NonNullable<Feedback["audio"]>;
export type Feedback = PackageContent["feedback"];
export type PackageMessage = PackageContent["messages"][number];
export type Preservation = Body<typeof preservation>;
export type Verification = Answer<typeof moments.verification>;
export type Difference = Verification["differences"][number];
export type DeletedPackages = Answer<typeof moments.deletion>;
