import { OpenClawError } from "../../types/errors.ts";
import { defined } from "../../utils/defined.ts";
import { writeConfigValues } from "../config/edit/write.ts";
import type { LoadOptions } from "../config/load.ts";
import { isRecord, valueAt } from "../config/schema/problem.ts";
import { addAgent, agentsIn, bindingsIn, readFileToEdit, unknownAgent, type Edit } from "./agent-file.ts";

/** Condition of a binding on messages, in the form of the config. */
export interface BindingMatch {
  readonly channel: string;
  readonly accountId?: string;
  readonly peer?: { readonly kind: "direct" | "group"; readonly id: string };
  readonly guildId?: string;
  readonly teamId?: string;
  readonly roles?: readonly string[];
}

/** Conditions of a command on messages in addition to channel and account. */
export interface MatchFlags {
  /** `direct:42`, `group:-100`; an id alone is a direct chat. */
  readonly peer?: string;
  readonly guild?: string;
  readonly team?: string;
  readonly role?: readonly string[];
}

/** The match of `telegram` or `telegram:work`, with further conditions. Throws USAGE. */
export function matchFrom(text: string, { peer, guild, team, role }: MatchFlags = {}): BindingMatch {
  const [channel = "", accountId, ...rest] = text.trim().split(":");
  if (channel === "" || accountId === "" || rest.length > 0)
    throw new OpenClawError("USAGE", {
      message: `"${text}" names no messages.`,
      fix: "Write a channel, or channel:account; * is every account.",
    });
  const where = { accountId, guildId: guild, teamId: team, roles: role };
  return { channel: channel.toLowerCase(), ...defined(where), ...(peer !== undefined && { peer: peerFrom(peer) }) };
}

function peerFrom(text: string): NonNullable<BindingMatch["peer"]> {
  const [, kind = "direct", id = text] = /^(direct|dm|group|channel):(.+)$/.exec(text) ?? [];
  return { kind: kind === "group" || kind === "channel" ? "group" : "direct", id };
}

/** Results for the bindings that a command asked for, each named as `bindingName` does. */
export interface BindingResults {
  readonly added: string[];
  /** Bindings of the whole channel's default account that now name an account. */
  readonly updated: string[];
  /** Bindings that the agent had before. */
  readonly skipped: string[];
  /** Bindings of another agent; they are not changed. */
  readonly conflicts: { readonly binding: string; readonly agentId: string }[];
}

/**
 * Binds messages to an agent. A binding of a channel alone gets the account, so that the agent does not get a second
 * one. Throws NOT_FOUND when there is no such agent, and as `writeConfigValues` does.
 */
export async function bindAgent(
  load: LoadOptions,
  id: string,
  matches: readonly BindingMatch[],
): Promise<BindingResults> {
  const { file, hash } = await readFileToEdit(load);
  if (!agentsIn(file).includes(id)) throw unknownAgent(id);
  const { bound, edits } = planBindings(file, id, matches);
  if (edits.length > 0) await writeConfigValues(load, edits, hash);
  return bound;
}

/**
 * Adds an agent together with its bindings in one write, so that no message that matches them goes to the default agent
 * once the new agent exists. Throws as `addAgent` does.
 */
export async function addBoundAgent(
  load: LoadOptions,
  id: string,
  entry: Readonly<Record<string, unknown>>,
  matches: readonly BindingMatch[],
): Promise<BindingResults> {
  let bound: BindingResults = { added: [], updated: [], skipped: [], conflicts: [] };
  await addAgent(load, id, entry, (file) => {
    const plan = planBindings(file, id, matches);
    bound = plan.bound;
    return plan.edits;
  });
  return bound;
}

function planBindings(
  file: unknown,
  id: string,
  matches: readonly BindingMatch[],
): { readonly bound: BindingResults; readonly edits: readonly Edit[] } {
  const rows = bindingsIn(file).map((row) => ({
    agentId: row["agentId"],
    name: bindingName(row["match"]),
    isRoute: isRoute(row),
  }));
  const bound: BindingResults = { added: [], updated: [], skipped: [], conflicts: [] };
  const edits: Edit[] = [];
  for (const match of matches) {
    const name = bindingName(match);
    const holder = rows.find((row) => row.isRoute && row.name === name);
    const wider = rows.findIndex((row) => row.isRoute && row.agentId === id && row.name === match.channel);
    if (holder?.agentId === id) bound.skipped.push(name);
    else if (holder) bound.conflicts.push({ binding: name, agentId: String(holder.agentId) });
    else if (wider >= 0 && name === `${match.channel}:${match.accountId}`) {
      edits.push({ path: ["bindings", wider, "match", "accountId"], value: match.accountId });
      rows[wider] = { agentId: id, name, isRoute: true };
      bound.updated.push(name);
    } else {
      edits.push({ path: ["bindings", rows.length], value: { agentId: id, match } });
      rows.push({ agentId: id, name, isRoute: true });
      bound.added.push(name);
    }
  }
  return { bound, edits };
}

/**
 * Removes bindings of an agent; all of them without `matches`. Bindings of other agents stay. Throws as `bindAgent`
 * does.
 */
export async function unbindAgent(
  load: LoadOptions,
  id: string,
  matches?: readonly BindingMatch[],
): Promise<{ removed: readonly string[]; missing: readonly string[] }> {
  const { file, hash } = await readFileToEdit(load);
  if (!agentsIn(file).includes(id)) throw unknownAgent(id);
  const wanted = matches?.map(bindingName);
  const found = bindingsIn(file).flatMap((row, at) => {
    const name = bindingName(row["match"]);
    return row["agentId"] === id && isRoute(row) && (wanted?.includes(name) ?? true) ? [{ at, name }] : [];
  });
  const edits = found.toReversed().map(({ at }) => ({ path: ["bindings", at], value: undefined }));
  if (edits.length > 0) await writeConfigValues(load, edits, hash);
  const removed = found.map(({ name }) => name);
  return { removed, missing: (wanted ?? []).filter((name) => !removed.includes(name)) };
}

const isRoute = (row: Readonly<Record<string, unknown>>): boolean => row["type"] !== "acp";

/** A match as one line, equal for matches with the same meaning: `discord:work guild=1 roles=2`. */
export function bindingName(match: unknown): string {
  const text = (key: string): string => shown(valueAt(match, [key]));
  const account = text("accountId");
  const roles = valueAt(match, ["roles"]);
  const peer = valueAt(match, ["peer"]);
  return [
    account === "" ? text("channel") : `${text("channel")}:${account}`,
    ...(isRecord(peer) ? [`${kindOf(peer["kind"])}=${shown(peer["id"])}`] : []),
    ...["guildId", "teamId"].flatMap((key) => (text(key) === "" ? [] : [`${key.slice(0, -2)}=${text(key)}`])),
    ...(Array.isArray(roles) ? [`roles=${roles.map(String).toSorted().join(",")}`] : []),
  ].join(" ");
}

const shown = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");

const kindOf = (kind: unknown): string => (kind === "group" || kind === "channel" ? "group" : "direct");
