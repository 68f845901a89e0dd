// A long chat, and where a page stands in its transcript.
import type { Page } from "playwright-core";
import type { Companion } from "../support/server-fixture.ts";

export function chatOf(count: number, chat = "local:me") {
  return async ({ throughline }: Companion) => {
    const batch = 1_000;
    for (let from = 1; from <= count; from += batch) {
      const said = Array.from({ length: Math.min(batch, count - from + 1) }, (_, index) => {
        const n = from + index;
        const role = n % 2 === 1 ? ("user" as const) : ("assistant" as const);
        const words = n % 7 === 0 ? `\n\n${"Long lines of words. ".repeat(n % 40)}` : "";
        return { role, content: `Message ${n} of them.${words}` };
      });
      await throughline.chats.append(chat, said);
    }
  };
}

export const box = (page: Page) => page.locator(".transcript-box");

export async function scrollBy(page: Page, px: number): Promise<void> {
  await box(page).evaluate((each, by) => each.scrollBy(0, by), px);
}

/** The number of the first message in sight, and where it is. */
export async function firstInSight(
  page: Page,
): Promise<{ readonly n: number; readonly top: number }> {
  return box(page).evaluate((each) => {
    const edge = each.getBoundingClientRect().top;
    for (const row of each.querySelectorAll(".message")) {
      const { top, bottom } = row.getBoundingClientRect();
      if (bottom <= edge) continue;
      const [, n = "0"] = row.textContent?.match(/Message (\d+) of/) ?? [];
      return { n: Number(n), top: top - edge };
    }
    return { n: 0, top: 0 };
  });
}
