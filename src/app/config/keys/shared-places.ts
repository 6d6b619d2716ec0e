import { Secret } from "../../../types/secret.ts";
import { pathOfAgent } from "./agent-key.ts";
import { isRecord, type KeyPath, type RawNote, showPath } from "../schema/problem.ts";
import type { Config } from "../schema/schema.ts";

type Shared = Pick<Config, "agents" | "bindings" | "channels">;

interface Place {
  readonly path: KeyPath;
  /** Path by which messages name the agent or account. */
  readonly of: KeyPath;
  /** Equal for places that are the same. */
  readonly name: string;
  /** Owner of the place; places of one owner may be the same. Each place has an owner of its own when unset. */
  readonly owner?: string | undefined;
}

/** Agents that have one id or would work in one directory, or take the messages of one bot from each other. */
export function sharedPlaces({ agents, bindings, channels }: Shared): readonly RawNote[] {
  const workspaces = agents.list.flatMap(({ id, workspace }): Place[] =>
    workspace === undefined ? [] : [placeOf(pathOfAgent(agents, id), workspace)],
  );
  const bots = Object.entries(channels).flatMap(([channel, section]) => botsOf(channel, section, bindings));
  return [
    ...repeated(ids(agents), () => "is the id of another agent too; give each agent an id of its own"),
    ...repeated(workspaces, (other) => `is the workspace of ${other} too; give each agent one of its own`),
    ...repeated(
      bots,
      (other) => `is the bot of ${other} too, which another agent answers; give each agent a bot of its own`,
    ),
  ];
}

/** The ids of agents. Those of `entries` are in `list`, after its own. */
function ids({ list, entries }: Config["agents"]): readonly Place[] {
  const own = list.length - Object.keys(entries).length;
  return list.map(({ id }, at) => {
    const of = at < own ? ["agents", "list", at] : ["agents", "entries", id];
    return { path: at < own ? [...of, "id"] : of, of, name: id };
  });
}

const placeOf = (agent: KeyPath, workspace: string): Place => ({
  path: [...agent, "workspace"],
  of: agent,
  name: workspace,
});

/** The bots of a channel. A token counts where the config has it: accounts without one have the channel's. */
function botsOf(
  channel: string,
  section: Readonly<Record<string, unknown>>,
  bindings: Config["bindings"],
): readonly Place[] {
  const accounts = isRecord(section["accounts"]) ? Object.entries(section["accounts"]) : [];
  const own = accounts.flatMap(([id, account]) => botIn(account, ["channels", channel, "accounts", id], section));
  return [...botIn(section, ["channels", channel], section), ...own].map((bot) => {
    const account = String(bot.of[3] ?? "default");
    const bound = bindings.find(({ match }) => isOfAccount(match, channel, account));
    return { ...bot, owner: bound?.agentId ?? "" };
  });
}

const isOfAccount = (match: Config["bindings"][number]["match"], channel: string, account: string): boolean =>
  match.channel === channel && (match.accountId ?? "default") === account && match.peer === undefined;

function botIn(place: unknown, path: KeyPath, section: Readonly<Record<string, unknown>>): readonly Place[] {
  if (!isRecord(place) || place["enabled"] === false) return [];
  const key = ["botToken", "token"].find((name) => textOf(place[name]) !== "");
  if (key === undefined) return [];
  const name = JSON.stringify([path[1], textOf(place[key]), place["apiRoot"] ?? section["apiRoot"] ?? ""]);
  return [{ path: [...path, key], of: path, name }];
}

function textOf(value: unknown): string {
  if (value instanceof Secret) return value.reveal();
  return typeof value === "string" ? value : "";
}

function repeated(places: readonly Place[], message: (other: string) => string): readonly RawNote[] {
  return places.flatMap(({ path, name, owner }, at) => {
    const first = places.findIndex((other) => other.name === name && (owner === undefined || other.owner !== owner));
    const other = places[first];
    return other && first < at ? [{ path, message: message(showPath(other.of)) }] : [];
  });
}
