import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { Link } from "wouter";
import { queryClient, signedOut } from "./api/client.ts";
import { useStore } from "./api/store.ts";
import { ForgetReceiptDialog } from "./chats/forget-receipt.tsx";
import { BesideButton } from "./chats/list/beside-button.tsx";
import { useChatKeys } from "./chats/list/beside-state.ts";
import { ChatsBeside } from "./chats/list/chats-beside.tsx";
import { chatOpened, useTalkAddress } from "./chats/list/last-chat.ts";
import { type TalkParts, TalkView } from "./chats/talk/talk-view.tsx";
import { AllowedProviders } from "./companion/allowed-providers.tsx";
import { MoodLink } from "./companion/mood-link.tsx";
import { PatButtons } from "./companion/pat.tsx";
import { RecordingBar } from "./moments/capture/recording-bar.tsx";
import { ReactionButtons, ReactionNotes } from "./moments/reactions.tsx";
import { useHasMoments, useLiveBuffers } from "./moments/use-moments.ts";
import { type Route, useRoute } from "./shell/routes.ts";
import { type Place, Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in-view.tsx";
import { ViewBoundary } from "./shell/view-boundary.tsx";
import { Empty, Loading, Page } from "./ui/page.tsx";

/** All but the talk, which most people open first. */
const views = {
  chats: async () => ({ default: (await import("./chats/list/chats-view.tsx")).ChatsView }),
  mood: async () => ({ default: (await import("./companion/mood/mood-view.tsx")).MoodView }),
  restart: async () => ({
    default: (await import("./companion/restart/restart-view.tsx")).RestartView,
  }),
  sessions: async () => ({
    default: (await import("./chats/sessions/sessions-view.tsx")).SessionsView,
  }),
  memory: async () => {
    const { MemoryView } = await import("./chats/memory/memory-view.tsx");
    const { FactsCard } = await import("./companion/facts/facts-card.tsx");
    return { default: () => <MemoryView facts={<FactsCard />} /> };
  },
  moments: async () => ({ default: (await import("./moments/moments-view.tsx")).MomentsView }),
};
const ChatsView = lazy(views.chats);
const MoodView = lazy(views.mood);
const RestartView = lazy(views.restart);
const SessionsView = lazy(views.sessions);
const MemoryView = lazy(views.memory);
const MomentsView = lazy(views.moments);

const places: readonly Place[] = [
  { views: ["talk", "chat", "chats"], to: "/", name: "Talk", icon: "talk" },
  { views: ["mood"], to: "/mood", name: "Mood", icon: "mood" },
  { views: ["moments"], to: "/moments", name: "Moments", icon: "moments" },
  { views: ["memory"], to: "/memory", name: "Memory", icon: "memory" },
  { views: ["waking", "sessions"], to: "/waking", name: "Status", icon: "status" },
];

const talkParts: TalkParts = {
  lead: <BesideButton />,
  head: (chatId) => (
    <>
      <MoodLink />
      <PatButtons chatId={chatId} />
    </>
  ),
  replyActions: (chatId, message) => <ReactionButtons reply={{ chatId, message }} />,
  foot: (chatId) => <ReactionNotes chatId={chatId} />,
};

/** Gets the other views, so that each is there to be opened while the server is away. */
export async function loadViews(): Promise<void> {
  for (const load of Object.values(views)) await load().catch(() => undefined); // again when opened
}

/** The whole page: it puts the features together, which do not know each other. */
export function App() {
  const isOut = useStore(signedOut);
  return (
    <QueryClientProvider client={queryClient}>{isOut ? <SignIn /> : <Main />}</QueryClientProvider>
  );
}

function Main() {
  const route = useRoute();
  useLiveBuffers();
  useChatKeys();
  return (
    <Shell
      view={route.view}
      places={usePlaces()}
      banner={<RecordingBar />}
      beside={isTalk(route) ? <Beside chatId={route.chatId} /> : null}
    >
      <ViewBoundary key={JSON.stringify(route)}>
        <Suspense fallback={<Loading />}>
          <View route={route} />
        </Suspense>
      </ViewBoundary>
      <ForgetReceiptDialog />
    </Shell>
  );
}

/** Where one can go. Talk leads to the chat that was open last. */
function usePlaces(): readonly Place[] {
  const hasMoments = useHasMoments();
  const talk = useTalkAddress();
  return places
    .filter(({ to }) => hasMoments || to !== "/moments")
    .map((place) => (place.to === "/" ? { ...place, to: talk } : place));
}

function isTalk(route: Route): route is Extract<Route, { readonly chatId: string }> {
  return route.view === "talk" || route.view === "chat";
}

function Beside({ chatId }: { readonly chatId: string }) {
  useEffect(() => chatOpened(chatId), [chatId]);
  return (
    <ViewBoundary>
      <ChatsBeside current={chatId} />
    </ViewBoundary>
  );
}

function View({ route }: { readonly route: Route }) {
  switch (route.view) {
    case "talk":
    case "chat":
      return <TalkView key={route.chatId} chatId={route.chatId} parts={talkParts} />;
    case "chats":
      return <ChatsView />;
    case "mood":
      return <MoodView />;
    case "waking":
      return <RestartView />;
    case "sessions":
      return <SessionsView note={<AllowedProviders />} />;
    case "memory":
      return <MemoryView />;
    case "moments":
      return <MomentsView />;
    case "none":
      return (
        <Page title="Page not found">
          <Empty title="There is nothing at this address">
            <Link to="/">Go to Talk</Link>
          </Empty>
        </Page>
      );
  }
}
