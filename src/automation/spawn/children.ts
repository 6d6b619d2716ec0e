import { agentOf } from "../../sessions/keys.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { ChildView } from "../../types/subagent/spawn.ts";
import type { SessionRow } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";
import type { SpawnPorts } from "./ports.ts";

const MINUTE_MS = 60_000;

/** A subagent with its run, when it has one that runs or waits. */
export interface Child {
  readonly view: ChildView;
  readonly stream: RunStream | undefined;
}

/** The subagents below a session, those at work first, then the latest. */
export function childrenOf(
  key: SessionKey,
  recentMinutes: number,
  { sessions, running, clock }: Pick<SpawnPorts, "sessions" | "running" | "clock">,
): readonly Child[] {
  const streams = new Map(running().map(({ stream }) => [stream.facts.sessionKey, stream]));
  const since = clock.now() - recentMinutes * MINUTE_MS;
  const isShown = ({ key: child, entry }: SessionRow) => streams.has(child) || entry.updatedAt >= since;
  const rows = below(key, sessions).filter(isShown);
  const latest = rows.toSorted(
    (a, b) => Number(streams.has(b.key)) - Number(streams.has(a.key)) || b.entry.updatedAt - a.entry.updatedAt,
  );
  return latest.map((row, at) => childOf(row, at + 1, streams.get(row.key)));
}

/** The sessions that this one, or one below it, asked for. */
function below(key: SessionKey, sessions: Pick<SpawnPorts["sessions"], "list">): readonly SessionRow[] {
  const byParent = new Map<string, SessionRow[]>();
  for (const row of sessions.list()) {
    const { spawnedBy } = row.entry;
    if (spawnedBy === undefined) continue;
    const siblings = byParent.get(spawnedBy);
    if (siblings) siblings.push(row);
    else byParent.set(spawnedBy, [row]);
  }
  const found = new Map<SessionKey, SessionRow>();
  const add = (parent: SessionKey): void => {
    for (const row of byParent.get(parent) ?? []) {
      if (found.has(row.key) || row.key === key) continue;
      found.set(row.key, row);
      add(row.key);
    }
  };
  add(key);
  return [...found.values()];
}

function childOf({ key, entry }: SessionRow, index: number, stream: RunStream | undefined): Child {
  const model =
    entry.modelOverride === undefined ? undefined : `${entry.providerOverride ?? ""}/${entry.modelOverride}`;
  const view: ChildView = {
    index,
    key,
    label: entry.label ?? idOf(key),
    agentId: agentOf(key),
    depth: entry.spawnDepth ?? 1,
    status: stream ? "running" : "done",
    updatedAt: entry.updatedAt,
    ...defined({ runId: stream?.facts.runId, tokens: entry.totalTokens, model }),
  };
  return { view, stream };
}

/** The part of its key by which it is told from others. */
const idOf = (key: SessionKey): string => key.slice(key.lastIndexOf(":") + 1);

/** The subagents that a word means: `all`, a number of the list, a key, a run's id, a label, or the beginning of an id. */
export function named(target: string, all: readonly Child[]): readonly Child[] | string {
  const word = target.trim().replace(/^#(?=\d+$)/, "");
  if (word === "all" || word === "*") return all;
  const exact = all.filter(({ view }) => isNamed(view, word));
  const found =
    exact.length > 0 ? exact : all.filter(({ view }) => word.length >= 4 && idOf(view.key).startsWith(word));
  if (found.length === 0)
    return `There is no subagent "${word}" here: name it by its number, label or id from the list.`;
  return found.length === 1 ? found : `Several subagents are called "${word}": use the number or the id.`;
}

function isNamed({ index, key, runId, label }: ChildView, word: string): boolean {
  const names: readonly (string | RunId | undefined)[] = [String(index), key, idOf(key), runId];
  return names.includes(word) || label.toLowerCase() === word.toLowerCase();
}
