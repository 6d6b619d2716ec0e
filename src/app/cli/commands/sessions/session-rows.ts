import { z } from "zod";
import type { Io } from "../../io.ts";
import { showDuration, table } from "../../table.ts";

const sessionShape = z.looseObject({
  key: z.string(),
  agentId: z.string().optional(),
  sessionId: z.string().optional(),
  updatedAt: z.number(),
  totalTokens: z.number().optional(),
  model: z.string().nullish(),
  displayName: z.string().optional(),
  subject: z.string().optional(),
  label: z.string().optional(),
  hasActiveRun: z.boolean().optional(),
});
export type SessionLine = z.infer<typeof sessionShape>;

export const sessionsShape = z.looseObject({ sessions: z.array(sessionShape), nextOffset: z.int().nullish() });
export type SessionPage = z.infer<typeof sessionsShape>;

/** Conversations for a person. */
export function sessionRows(io: Io, sessions: readonly SessionLine[]): string {
  if (sessions.length === 0) return "No session yet.\n";
  const now = Date.now();
  const rows = sessions.map((one) => [
    one.key,
    one.label ?? one.displayName ?? one.subject ?? "",
    one.hasActiveRun === true ? "now" : `${showDuration(now - one.updatedAt)} ago`,
    one.totalTokens ? String(one.totalTokens) : "",
    one.model ?? "",
  ]);
  return table(io, ["KEY", "NAME", "LAST", "TOKENS", "MODEL"], rows);
}
