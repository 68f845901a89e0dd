import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Link } from "wouter";
import { queryClient } from "./api/query-client.ts";
import { useIsSignedOut } from "./api/sign-in.ts";
import { ReceiptDialog } from "./chats/receipt-dialog.tsx";
import { type Route, useRoute } from "./shell/routes.ts";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in-view.tsx";
import { ViewBoundary } from "./shell/view-boundary.tsx";
import { Empty } from "./ui/empty.tsx";
import { Loading } from "./ui/loading.tsx";
import { Page } from "./ui/page.tsx";

const views = {
  talk: async () => ({ default: (await import("./chats/talk/talk-view.tsx")).TalkView }),
  chats: async () => ({ default: (await import("./chats/list/chats-view.tsx")).ChatsView }),
  mood: async () => ({ default: (await import("./companion/mood/mood-view.tsx")).MoodView }),
  waking: async () => ({
    default: (await import("./companion/waking/waking-view.tsx")).WakingView,
  }),
  sessions: async () => ({
    default: (await import("./chats/sessions/sessions-view.tsx")).SessionsView,
  }),
  memory: async () => ({ default: (await import("./chats/memory/memory-view.tsx")).MemoryView }),
  moments: async () => ({
    default: (await import("./moments/moments-view.tsx")).MomentsView,
  }),
};
const TalkView = lazy(views.talk);
const ChatsView = lazy(views.chats);
const MoodView = lazy(views.mood);
const WakingView = lazy(views.waking);
const SessionsView = lazy(views.sessions);
const MemoryView = lazy(views.memory);
const MomentsView = lazy(views.moments);

/** Gets all views, so that each is there to be opened while the server is away. */
export async function loadViews(): Promise<void> {
  for (const load of Object.values(views)) await load().catch(() => undefined); // again when opened
}

/** The whole page. */
export function App() {
  const route = useRoute();
  const isOut = useIsSignedOut();
  return (
    <QueryClientProvider client={queryClient}>
      {isOut ? (
        <SignIn />
      ) : (
        <Shell view={route.view}>
          <ViewBoundary key={JSON.stringify(route)}>
            <Suspense fallback={<Loading />}>
              <View route={route} />
            </Suspense>
          </ViewBoundary>
          <ReceiptDialog />
        </Shell>
      )}
    </QueryClientProvider>
  );
}

function View({ route }: { readonly route: Route }) {
  switch (route.view) {
    case "talk":
      return <TalkView key={route.chatId} chatId={route.chatId} />;
    case "chat":
      return <TalkView key={route.chatId} chatId={route.chatId} />;
    case "chats":
      return <ChatsView />;
    case "mood":
      return <MoodView />;
    case "waking":
      return <WakingView />;
    case "sessions":
      return <SessionsView />;
    case "memory":
      return <MemoryView />;
    case "moments":
      return <MomentsView />;
    case "none":
      return (
        <Page title="No such page">
          <Empty title="It may have moved.">
            <Link to="/">Go to Talk</Link>
          </Empty>
        </Page>
      );
  }
}
