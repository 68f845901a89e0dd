import { useState } from "react";
import { Link } from "wouter";
import { chatPath } from "../api/client.ts";
import { chatAddress, promptAddress } from "../shell/routes.ts";
import { Menu } from "../ui/menu.tsx";
import {
  ClearDialog,
  ForgetDialog,
  ForkDialog,
  RenameDialog,
  ResetDialog,
} from "./chat-dialogs.tsx";
import { chatName, type NamedChat } from "./chat-link.tsx";

const dialogs = {
  rename: RenameDialog,
  fork: ForkDialog,
  reset: ResetDialog,
  clear: ClearDialog,
  forget: ForgetDialog,
};
const formats = [
  ["jsonl", "JSON lines"],
  ["markdown", "Markdown"],
  ["html", "HTML"],
] as const;

interface ChatMenuProps {
  readonly chat: NamedChat;
  /** In a list, the chat can be opened too. */
  readonly inList?: boolean;
}

/** Everything that can be done with a whole chat. */
export function ChatMenu({ chat, inList = false }: ChatMenuProps) {
  const [open, setOpen] = useState<keyof typeof dialogs>();
  const Opened = open === undefined ? undefined : dialogs[open];
  const item = (which: keyof typeof dialogs, label: string) => (
    <button type="button" onClick={() => setOpen(which)}>
      {label}
    </button>
  );
  return (
    <>
      <Menu label={inList ? `Actions for ${chatName(chat)}` : "Chat actions"}>
        {inList ? <Link to={chatAddress(chat.chat_id)}>Open</Link> : null}
        {item("rename", "Rename…")}
        {item("fork", "Copy into a new chat…")}
        <Link to={promptAddress(chat.chat_id)}>Next prompt</Link>
        <hr />
        {formats.map(([format, name]) => (
          <a key={format} href={`${chatPath(chat.chat_id)}/export?format=${format}`} download>
            Export as {name}
          </a>
        ))}
        <hr />
        {item("reset", "Reset session…")}
        {item("clear", "Clear…")}
        <span className="menu-danger">{item("forget", "Forget…")}</span>
      </Menu>
      {Opened === undefined ? null : <Opened chat={chat} onClose={() => setOpen(undefined)} />}
    </>
  );
}
