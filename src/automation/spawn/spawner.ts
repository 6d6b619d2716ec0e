import { untilStopped, Stopped } from "../../harness/run/until-stopped.ts";
import type { AgentId, RunId, SessionKey } from "../../types/ids.ts";
import type {
  ChildAct,
  ChildView,
  SessionAsker,
  SpawnAnswer,
  SpawnAsk,
  SubagentActs,
} from "../../types/subagent/spawn.ts";
import { KeyedQueue } from "../../utils/keyed-queue.ts";
import { ANNOUNCE_KIND } from "../announce/announce-message.ts";
import { SubagentArchive } from "./archive.ts";
import type { SpawnPorts } from "./ports.ts";
import { PROMPT_FILES, subagentPrompt, taskCount, countOne, spawn, whenEndedOf } from "./spawn.ts";
import { overTotal } from "./rules.ts";
import { agentOf } from "../../sessions/keys.ts";
import type { RunStream } from "../../types/run/events.ts";
import type { SessionRow } from "../../types/session.ts";
import { defined } from "../../utils/defined.ts";

/** Milliseconds between two corrections of one subagent: each correction ends the subagent's present run. */
const BETWEEN_STEERS_MS = 2000;
/** Minutes for which a subagent that has ended can still be named. */
const RECENT_MINUTES = 24 * 60;

/** The subagents that agents start with their tools. */
export class Spawner implements SubagentActs {
  readonly archive: SubagentArchive;
  readonly #ports: SpawnPorts;
  /** Requests of one session, one after the other: each request counts the earlier ones. */
  readonly #asking = new KeyedQueue();
  readonly #steeredAt = new Map<SessionKey, number>();

  constructor(ports: SpawnPorts) {
    this.#ports = ports;
    this.archive = new SubagentArchive(ports);
  }

  prefersDelegation(agent: AgentId): boolean {
    return this.#ports.rules().of(agent).delegationMode === "prefer";
  }

  async spawn(ask: SpawnAsk, asker: SessionAsker): Promise<SpawnAnswer> {
    const answer = await this.#asking.run(asker.sessionKey, () => spawn(ask, asker, this.#ports));
    if (answer.status === "accepted") this.archive.add(answer.childSessionKey);
    return answer;
  }

  children({ sessionKey }: Pick<SessionAsker, "sessionKey">, recentMinutes: number): readonly ChildView[] {
    return this.#of(sessionKey, recentMinutes).map(({ view }) => view);
  }

  async untold({ sessionKey }: Pick<SessionAsker, "sessionKey">): Promise<number> {
    const open = (await this.#ports.inbox.open()).map(({ message }) => message.options);
    return open.filter(
      (options) =>
        options?.kind === ANNOUNCE_KIND && options.sessionKey === sessionKey && options.announce?.isSilent !== true,
    ).length;
  }

  async kill(target: string, { sessionKey }: Pick<SessionAsker, "sessionKey">): Promise<readonly ChildAct[] | string> {
    const found = named(target, this.#of(sessionKey));
    if (typeof found === "string") return found;
    const acts: ChildAct[] = [];
    for (const { view, stream } of found) {
      const isEnded = stream === undefined || (await this.#ports.stop(view.key)).length === 0;
      acts.push({ key: view.key, label: view.label, status: isEnded ? "not running" : "killed" });
    }
    return acts;
  }

  say(
    how: "steer" | "send",
    said: { readonly target: string; readonly message: string },
    asker: SessionAsker,
  ): Promise<ChildAct | string> {
    return this.#asking.run(asker.sessionKey, () => this.#say(how, said, asker));
  }

  async #say(
    how: "steer" | "send",
    { target, message }: { readonly target: string; readonly message: string },
    asker: SessionAsker,
  ): Promise<ChildAct | string> {
    const settings = this.#ports.rules().of(asker.agentId);
    // An agent that answers each announcement with a correction would go on for ever; a person stops without a limit.
    const over = asker.runId === undefined ? undefined : overTotal(taskCount(asker.sessionKey, this.#ports), settings);
    if (over) return over.error;
    const found = named(target, this.#of(asker.sessionKey));
    if (typeof found === "string") return found;
    const [child, ...more] = found;
    if (!child || more.length > 0) return "Name one subagent.";
    const { key, label } = child.view;
    const ended = how === "steer" ? await this.#interrupt(key) : [];
    if (!ended) return `"${label}" was corrected a moment ago: wait two seconds.`;
    const whenEnded = await whenEndedOf({}, asker, { key, label }, this.#ports);
    const { runId } = await this.#ports.runs.run({
      sessionKey: key,
      message,
      requester: asker,
      systemPrompt: subagentPrompt({ label, maySpawn: child.view.depth < settings.maxSpawnDepth }),
      spawn: { label, whenEnded, files: PROMPT_FILES },
    });
    if (asker.runId !== undefined) await countOne(asker.sessionKey, this.#ports);
    // A subagent without a run of its own has only lost the runs of its own subagents.
    const dropped = child.stream ? ended.slice(1) : [];
    const status = `${how === "steer" ? "steered" : "sent"}: run ${runId}`;
    return { key, label, status, ...(dropped.length > 0 && { dropped: dropped.length }) };
  }

  /** Ends the runs of a subagent, the present one first. Undefined when a correction ended them a moment ago. */
  async #interrupt(key: SessionKey): Promise<readonly RunId[] | undefined> {
    const now = this.#ports.clock.now();
    if (now - (this.#steeredAt.get(key) ?? -Infinity) < BETWEEN_STEERS_MS) return undefined;
    this.#steeredAt.set(key, now);
    return this.#ports.stop(key);
  }

  async wait(
    targets: readonly string[],
    { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
    { sessionKey }: Pick<SessionAsker, "sessionKey">,
  ): Promise<readonly ChildView[] | string> {
    const all = this.#of(sessionKey);
    const found = targets.length === 0 ? [all] : targets.map((target) => named(target, all));
    const unknown = found.find((one) => typeof one === "string");
    if (typeof unknown === "string") return unknown;
    const children = found.flatMap((one) => (typeof one === "string" ? [] : one));
    await this.#untilEnded(children, timeoutMs, signal);
    const keys = new Set(children.map(({ view }) => view.key));
    return this.children({ sessionKey }, RECENT_MINUTES).filter(({ key }) => keys.has(key));
  }

  async #untilEnded(children: readonly Child[], timeoutMs: number, signal: AbortSignal): Promise<void> {
    const overdue = new AbortController();
    const cancel = this.#ports.clock.after(timeoutMs, () => overdue.abort());
    const ended = Promise.all(children.flatMap(({ stream }) => (stream ? [stream.done] : [])));
    try {
      await untilStopped(() => ended, AbortSignal.any([overdue.signal, signal]));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    } finally {
      cancel();
    }
  }

  #of(key: SessionKey, recentMinutes = RECENT_MINUTES): readonly Child[] {
    return childrenOf(key, recentMinutes, this.#ports);
  }
}

const MINUTE_MS = 60_000;

/** A subagent with its active or waiting run, if there is one. */
interface Child {
  readonly view: ChildView;
  readonly stream: RunStream | undefined;
}

/** The subagents below a session: active ones first, then the latest. */
function childrenOf(
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

/** The sessions that this session, or one below it, asked for. */
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

/** The last part of a session key, which differs from that of other subagents. */
const idOf = (key: SessionKey): string => key.slice(key.lastIndexOf(":") + 1);

/**
 * The subagents that a word means: `all`, a number of the list, a key, a run's id, a label, or the beginning of an id.
 * A text is the reason why there is none.
 */
function named(target: string, all: readonly Child[]): readonly Child[] | string {
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
