import type { ChatListRow } from "../../api/openapi-types.ts";

/** The chats of one span of days, as the list beside the talk heads them. */
interface ChatGroup {
  readonly name: string;
  readonly chats: readonly ChatListRow[];
}

const month = new Intl.DateTimeFormat("en", { month: "long" });
const monthAndYear = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });

/**
 * Chats by when a person last acted in them, in days of this browser's zone: today, yesterday, the
 * 7 and the 30 days before, then month by month. The order of the chats stays.
 *
 * @param now epoch milliseconds.
 */
export function groupsOf(chats: readonly ChatListRow[], now: number): readonly ChatGroup[] {
  const groups = Map.groupBy(chats, ({ last_active: at }) => groupName(at, now));
  return [...groups].map(([name, rows]) => ({ name, chats: rows }));
}

function groupName(at: string, now: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "Date unknown";
  const days = daysBetween(date, new Date(now));
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  if (days <= 30) return "Previous 30 days";
  const isThisYear = date.getFullYear() === new Date(now).getFullYear();
  return (isThisYear ? month : monthAndYear).format(date);
}

/** Between their dates: a day may have 23 or 25 hours. */
function daysBetween(from: Date, to: Date): number {
  const noon = (date: Date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate(), 12);
  return Math.round((noon(to) - noon(from)) / 86_400_000);
}
