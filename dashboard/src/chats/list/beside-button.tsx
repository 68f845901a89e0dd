import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { showChats, useBeside } from "./beside-state.ts";

/** In the head of a chat: shows the chats beside it, or hides them. */
export function BesideButton() {
  const { hasRoom, isShown } = useBeside();
  const label = isShown ? "Hide chats" : "Show chats";
  return (
    <Button
      kind="quiet"
      className="button-icon beside-button"
      aria-label={label}
      aria-expanded={isShown}
      aria-haspopup={hasRoom ? undefined : "dialog"}
      title={label}
      onClick={() => showChats(!isShown)}
    >
      <Icon name={hasRoom ? "panel" : "chats"} />
    </Button>
  );
}
