import { agentOf } from "../../sessions/keys.ts";
import type { SessionAsker, SessionsFilter, SessionView } from "../../types/subagent/spawn.ts";
import type { SessionRow, Sessions } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";
import { kindOf, type TalkRules, whyHidden } from "./visible.ts";

const MINUTE_MS = 60_000;

/** The sessions that a run may see, the latest first. */
export function listSessions(
  filter: SessionsFilter,
  asker: SessionAsker,
  ports: { readonly sessions: Pick<Sessions, "newest" | "peek">; readonly rules: TalkRules; readonly now: number },
): readonly SessionView[] {
  const since = filter.activeMinutes === undefined ? 0 : ports.now - filter.activeMinutes * MINUTE_MS;
  const found: SessionView[] = [];
  for (const row of ports.sessions.newest()) {
    if (row.entry.updatedAt < since || found.length >= filter.limit) break;
    const view = viewOf(row, ports.rules);
    if (fits(view, filter) && whyHidden(row.key, asker, ports) === undefined) found.push(view);
  }
  return found;
}

function viewOf({ key, entry }: SessionRow, { defaultAgent }: TalkRules): SessionView {
  const { providerOverride, modelOverride } = entry;
  return {
    key,
    kind: kindOf(key, defaultAgent),
    channel: entry.lastChannel ?? entry.channel ?? "none",
    agentId: agentOf(key, defaultAgent),
    updatedAt: entry.updatedAt,
    ...defined({
      label: entry.label,
      displayName: entry.displayName ?? entry.subject,
      spawnedBy: entry.spawnedBy,
      totalTokens: entry.totalTokens,
      model: modelOverride === undefined ? undefined : `${providerOverride ?? ""}/${modelOverride}`,
    }),
  };
}

function fits(view: SessionView, { kinds, label, agentId, search }: SessionsFilter): boolean {
  const text = [view.key, view.label, view.displayName].join(" ").toLowerCase();
  return (
    (kinds === undefined || kinds.length === 0 || kinds.includes(view.kind)) &&
    (label === undefined || view.label === label) &&
    (agentId === undefined || view.agentId === agentId) &&
    (search === undefined || text.includes(search.toLowerCase()))
  );
}
