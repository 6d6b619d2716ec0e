import { type FaultFixture, journalRows } from "../fixture.ts";

/** A message of the inbox. */
export interface Row {
  readonly key: string;
  readonly text: string;
  readonly kind: string | undefined;
  readonly isDone: boolean;
  readonly outcome: string | undefined;
}

export function rowsOf(at: FaultFixture): readonly Row[] {
  return journalRows(at.home, "SELECT message, state, outcome FROM inbox ORDER BY id").map((row) => {
    const message = JSON.parse(String(row["message"])) as {
      eventKey: string;
      text: string;
      options?: { kind?: string };
    };
    const outcome = row["outcome"];
    return {
      key: message.eventKey,
      text: message.text,
      kind: message.options?.kind,
      isDone: row["state"] === "done",
      outcome: typeof outcome === "string" ? (JSON.parse(outcome) as { kind: string }).kind : undefined,
    };
  });
}

/** Every message has ended, and every answer has arrived or failed. */
export const isQuiet = (at: FaultFixture): boolean =>
  rowsOf(at).every(({ isDone }) => isDone) &&
  journalRows(at.home, "SELECT 1 FROM outbox WHERE state NOT IN ('sent', 'failed')").length === 0;

export async function quiet(at: FaultFixture): Promise<void> {
  while (!isQuiet(at)) await new Promise((look) => setTimeout(look, 20));
}
