import type { ReactNode } from "react";
import { Page } from "../../ui/page.tsx";
import { PersonaCard } from "./persona-card.tsx";
import { PromptCard } from "./prompt-card.tsx";
import { WorkingMemories } from "./working-memories.tsx";
import "./memory.css";

/** What a model gets: who answers, what is remembered, and the next prompt. `facts` is a part of it. */
export function MemoryView({ facts }: { readonly facts: ReactNode }) {
  return (
    <Page title="Memory">
      <div className="stack memory">
        <PersonaCard />
        {facts}
        <PromptCard />
        <WorkingMemories />
      </div>
    </Page>
  );
}
