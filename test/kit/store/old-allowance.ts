import { DatabaseSync } from "node:sqlite";

/** Keeps a permanent allowance in a journal as earlier versions did; later ones write `exec-approvals.json`. */
export function keepOldAllowance(
  journal: string,
  { agent, command, by }: { readonly agent: string; readonly command: string; readonly by: string },
): void {
  const db = new DatabaseSync(journal, { timeout: 5000 });
  try {
    db.prepare("INSERT INTO allowed (agent, command, at, given_by) VALUES (?, ?, 1, ?)").run(agent, command, by);
  } finally {
    db.close();
  }
}
