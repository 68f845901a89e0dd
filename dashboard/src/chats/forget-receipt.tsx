// What was removed when a chat was forgotten. The view of the chat is gone by then.
import "./chats.css";
import { Fragment } from "react";
import { useLocation } from "wouter";
import type { ForgetReceipt } from "../api/openapi-types.ts";
import { Store, useStore } from "../api/store.ts";
import { routeOf } from "../shell/routes.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { fullTime } from "../ui/in-words.ts";
import { ChatLink } from "./chat-link.tsx";

interface NamedReceipt {
  readonly chatId: string;
  /** As the chat was called. */
  readonly name: string;
  readonly receipt: ForgetReceipt;
}

/** The receipt of the chat that was forgotten last; `undefined`: it was read. */
export const forgetReceipt = new Store<NamedReceipt | undefined>(undefined);

/** Names for places that the server calls something else. */
const places: Readonly<Record<string, string>> = {
  companion: "the companion's own record",
  packages: "moments",
};

/** Shows the receipt until it is closed. */
export function ForgetReceiptDialog() {
  const shown = useStore(forgetReceipt);
  const [, navigate] = useLocation();
  if (shown === undefined) return null;
  const { chatId, name, receipt } = shown;
  const { unreachable, forks, at } = receipt;
  const removed = receipt.removed.filter(({ count }) => count > 0);
  function onClose(): void {
    forgetReceipt.set(undefined);
    // Its own view would offer to begin it again.
    const route = routeOf(window.location.pathname);
    if (route.view === "chat" && route.chatId === chatId) navigate("/");
  }
  return (
    <Dialog
      title="Forgotten"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p>
        “{name}” was forgotten{at === "" ? "" : ` on ${fullTime(at)}`}. Removed:
      </p>
      <table className="receipt">
        <thead>
          <tr>
            <th scope="col">Place</th>
            <th scope="col">Removed</th>
          </tr>
        </thead>
        <tbody>
          {removed.map(({ place, count }) => (
            <tr key={place}>
              <td>{places[place] ?? place}</td>
              <td>{count.toLocaleString("en-GB")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {removed.length === 0 ? <p className="hint">Nothing was left to remove.</p> : null}
      {unreachable.length === 0 ? null : (
        <p className="error-note">Could not be reached: {unreachable.join(", ")}.</p>
      )}
      {forks.length === 0 ? null : (
        <p className="error-note">
          Copies of its messages stay in its forks. Forget them too if they should go:{" "}
          {forks.map((fork, i) => (
            <Fragment key={fork}>
              {i > 0 ? ", " : ""}
              <ChatLink chatId={fork} />
            </Fragment>
          ))}
        </p>
      )}
    </Dialog>
  );
}
