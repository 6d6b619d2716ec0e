import { accountInputs } from "../../../channels/config.ts";
import { listedAgents } from "./agent-key.ts";
import { NARROWING_KEYS, type NarrowingKey } from "./narrowing-keys.ts";
import { isRecord, pathsLike, showPath, valueAt, type KeyPath, type RawNote } from "../schema/problem.ts";

/**
 * The agents or accounts that a restricting key without an implementation stops. `agent` and `account` unset: all of
 * them; `channel` unset: those of all channels.
 */
export type Stops =
  | { readonly kind: "agents"; readonly agent?: string }
  | { readonly kind: "accounts"; readonly channel?: string; readonly account?: string };

/** A restricting key of the config that this version does not implement. */
export interface Stop {
  /** The key as a person writes it: `tools.byProvider.openai.deny`. */
  readonly key: string;
  readonly path: KeyPath;
  /** Completes "it says". */
  readonly says: string;
  readonly stops: Stops;
}

export const STOP_FIX = "Take the key out of the config, or wait for a version that obeys it.";

/** All stops by the keys of a config; `input` is the resolved file. */
export function stopsOf(input: unknown): readonly Stop[] {
  return NARROWING_KEYS.flatMap((row) => placesOf(input, row).flatMap((path) => stopsAt(input, path, row)));
}

function placesOf(input: unknown, { key, narrows }: NarrowingKey): readonly KeyPath[] {
  return pathsLike(input, key.split(".")).filter((path) => narrows(valueAt(input, path)));
}

function stopsAt(input: unknown, path: KeyPath, { says }: NarrowingKey): readonly Stop[] {
  const of = (stops: Stops): Stop => ({ key: showPath(path), path, says, stops });
  const [section, second, third, fourth] = path;
  if (section === "channels" && second === "defaults") return [of({ kind: "accounts" })];
  if (section === "channels") {
    const isOfOne = third === "accounts";
    return [of({ kind: "accounts", channel: String(second), ...(isOfOne && { account: String(fourth) }) })];
  }
  if (section === "agents" && second === "list")
    return [of({ kind: "agents", agent: String(valueAt(input, [...path.slice(0, 3), "id"])) })];
  if (section === "agents" && second === "entries") return [of({ kind: "agents", agent: String(third) })];
  return agentsUnder(input, path).map((stops) => of(stops));
}

/**
 * The agents that a key for all agents stops: those without a value of their own for it. A value of their own is
 * checked separately.
 */
function agentsUnder(input: unknown, path: KeyPath): readonly Stops[] {
  const below = path[0] === "agents" ? path.slice(2) : path;
  const agents = listedAgents(input);
  if (agents.length === 0) return [{ kind: "agents" }];
  const without = agents.filter(({ entry }) => valueAt(entry, below) === undefined);
  return without.map(({ id }) => ({ kind: "agents", agent: id }));
}

/** The stops as notes for the log, `status` and `doctor`, one for each key. */
export function stopNotes(stops: readonly Stop[]): readonly RawNote[] {
  const byKey = new Map(stops.map((stop) => [stop.key, stop]));
  return [...byKey.values()].map(({ key, path, says }) => ({
    path,
    at: "name",
    isStop: true,
    message: `it says ${says}, which this version does not obey: ${namesOf(stops.filter((stop) => stop.key === key))} until the key is gone`,
  }));
}

function namesOf(stops: readonly Stop[]): string {
  const names = stops.map(({ stops: what }) => {
    if (what.kind === "agents") return what.agent === undefined ? "every agent" : `the agent "${what.agent}"`;
    if (what.channel === undefined) return "every channel";
    return what.account === undefined ? what.channel : `the account "${what.account}" of ${what.channel}`;
  });
  const distinct = [...new Set(names)];
  return `${distinct.join(", ")} ${distinct.length > 1 ? "are" : "is"} stopped`;
}

/** The reason why an agent may not answer, in one sentence; undefined when it may. */
export const agentStop = (stops: readonly Stop[], agent: string): string | undefined =>
  sentence(stops.filter(({ stops: what }) => what.kind === "agents" && (what.agent ?? agent) === agent));

/** The reason why an account of a channel may not answer, in one sentence; undefined when it may. */
export const accountStop = (stops: readonly Stop[], channel: string, account: string): string | undefined =>
  sentence(
    stops.filter(
      ({ stops: what }) =>
        what.kind === "accounts" && (what.channel ?? channel) === channel && (what.account ?? account) === account,
    ),
  );

function sentence(stops: readonly Stop[]): string | undefined {
  const [first, ...more] = stops;
  if (!first) return undefined;
  const others = more.length === 0 ? "" : ` (and ${more.map(({ key }) => key).join(", ")})`;
  return `stopped by ${first.key}${others}: it says ${first.says}, which this version does not obey.`;
}

/** Channels that have an account which one list of stops stops and the other does not. */
export function channelsThatDiffer(
  input: Readonly<Record<string, unknown>>,
  one: readonly Stop[],
  other: readonly Stop[],
): readonly string[] {
  return Object.entries(input).flatMap(([channel, section]) => {
    const ids = isRecord(section) ? accountInputs(section).map(({ id }) => id) : [];
    return ids.some((id) => accountStop(one, channel, id) !== accountStop(other, channel, id)) ? [channel] : [];
  });
}
