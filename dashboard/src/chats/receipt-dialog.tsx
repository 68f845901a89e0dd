import "./receipt.css";
import { useLocation } from "wouter";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { fullTime } from "../ui/relative-time.ts";
import { showReceipt, useReceipt } from "./receipt.ts";

/** The server's words for places that a person calls something else. */
const places: Readonly<Record<string, string>> = {
  companion: "the companion's own record",
  packages: "moments",
};

/** What was removed from where, when a chat was forgotten; nothing while none was. */
export function ReceiptDialog() {
  const shown = useReceipt();
  const [, navigate] = useLocation();
  if (shown === undefined) return null;
  const { name, receipt } = shown;
  const { unreachable, at } = receipt;
  const removed = receipt.removed.filter(({ count }) => count > 0);
  function onClose(): void {
    showReceipt(undefined);
    navigate("/chats");
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
        “{name}” was forgotten{at === "" ? "" : ` on ${fullTime(at)}`}. This is what was removed:
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
              <td>{count.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {removed.length === 0 ? <p className="hint">There was nothing left of it.</p> : null}
      {unreachable.length === 0 ? null : (
        <p className="error-note">Could not be reached: {unreachable.join(", ")}.</p>
      )}
    </Dialog>
  );
}
