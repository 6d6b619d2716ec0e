import { openJournalToRead } from "../../store/journal/read-only.ts";
import type { Check } from "../../types/check.ts";
import { exists } from "../../utils/exists.ts";
import { type Strangers, strangersText } from "../strangers-text.ts";

/** Whether strangers wait for pairing or were rejected. `journal`: its path. */
export function strangersCheck(journal: string): Check {
  return {
    id: "app.strangers",
    title: "Strangers",
    async run() {
      const text = strangersText(await strangersIn(journal));
      if (text === undefined) return [{ status: "ok", message: "Nobody waits to be let in." }];
      const fix = "Let somebody in by their code or id: openclaw pairing approve <channel> <code>";
      return [{ status: "warn", message: `${text.charAt(0).toUpperCase()}${text.slice(1)}`, fix }];
    },
  };
}

/** A check does not create a journal. */
async function strangersIn(path: string): Promise<Strangers> {
  if (!(await exists(path))) return { waiting: 0, turnedAway: 0 };
  const journal = await openJournalToRead(path);
  try {
    const [requests, turnedAway] = await Promise.all([journal.pairing.list(), journal.pairing.turnedAway()]);
    return { waiting: requests.length, turnedAway: turnedAway.length };
  } finally {
    await journal.close();
  }
}
