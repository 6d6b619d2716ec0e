import { fitBindings, bindingFor, type BindingFit, type Routed } from "../../../../channels/routing/bindings.ts";
import { broadcastTo } from "../../../../channels/routing/broadcast.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { accountId, channelId, DEFAULT_ACCOUNT } from "../../../../types/ids.ts";
import { bindAgent, matchFrom, bindingName, unbindAgent, type MatchFlags } from "../../../agents/binding-file.ts";
import { defaultAccountOf } from "../../../accounts/accounts.ts";
import { own } from "../../../../utils/own.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { table } from "../../table.ts";
import { untilFollowed } from "../../until-followed.ts";
import { agentsOf, oneAgent } from "./list.ts";

interface Json {
  readonly json?: boolean;
}

export interface BindFlags extends MatchFlags, Json {
  readonly agent?: string;
  readonly bind?: readonly string[];
}

const matchesOf = (flags: BindFlags) => (flags.bind ?? []).map((text) => matchFrom(text, flags));

const nothingNamed = (): OpenClawError =>
  new OpenClawError("USAGE", { message: "No messages are named.", fix: "Use --bind <channel[:account]>." });

/** Binds messages to an agent, the default one without `--agent`. Exits with 1 when another agent has them. */
export async function agentsBind(io: Io, flags: BindFlags): Promise<number> {
  const matches = matchesOf(flags);
  if (matches.length === 0) throw nothingNamed();
  const state = await requireState(io);
  const { id } = oneAgent(agentsOf(state, io), flags.agent);
  const bound = await bindAgent(state.load, id, matches);
  await untilFollowed(io, state);
  warnOfChannels(io, state, matches);
  if (flags.json === true) writeJson(io, { agentId: id, ...bound });
  else {
    for (const text of [...bound.added, ...bound.updated]) io.out(`${id} answers: ${text}\n`);
    for (const text of bound.skipped) io.out(`${id} answered already: ${text}\n`);
    for (const { binding, agentId } of bound.conflicts) io.err(`${binding} stays with the agent ${agentId}.\n`);
  }
  return bound.conflicts.length > 0 ? 1 : 0;
}

/** Says which channels of new bindings the config does not have. */
export function warnOfChannels(io: Io, { config }: State, matches: readonly { readonly channel: string }[]): void {
  const named = matches.map(({ channel }) => channel);
  // The web chat is always there.
  const missing = named.filter((id) => id !== "webchat" && own(config.channels, id) === undefined);
  for (const id of new Set(missing))
    io.err(`The config names no channel ${id} yet, so no message fits: openclaw channels add --channel ${id}\n`);
}

export interface UnbindFlags extends BindFlags {
  readonly all?: boolean;
}

/** Removes bindings of an agent. Exits with 1 when one was not there. */
export async function agentsUnbind(io: Io, flags: UnbindFlags): Promise<number> {
  const matches = matchesOf(flags);
  if ((matches.length === 0) !== (flags.all === true))
    throw matches.length === 0
      ? nothingNamed()
      : new OpenClawError("USAGE", { message: "--all and --bind exclude each other.", fix: "Use one of them." });
  const state = await requireState(io);
  const { id } = oneAgent(agentsOf(state, io), flags.agent);
  const done = await unbindAgent(state.load, id, flags.all === true ? undefined : matches);
  await untilFollowed(io, state);
  if (flags.json === true) writeJson(io, { agentId: id, ...done });
  else {
    if (done.removed.length + done.missing.length === 0) io.out(`${id} has no bindings.\n`);
    for (const text of done.removed) io.out(`${id} answers no more: ${text}\n`);
    for (const text of done.missing) io.err(`${id} has no binding ${text}.\n`);
  }
  return done.missing.length > 0 ? 1 : 0;
}

export interface BindingsFlags extends MatchFlags, Json {
  readonly agent?: string;
  readonly channel?: string;
  readonly account?: string;
  readonly thread?: string;
}

/** Lists the bindings; with `--channel` says which one is chosen for such a message, and why not the others. */
export async function agentsBindings(io: Io, flags: BindingsFlags): Promise<number> {
  const state = await requireState(io);
  const { channel } = flags;
  return channel === undefined ? list(io, state, flags) : explain(io, state, { ...flags, channel });
}

function list(io: Io, { config }: State, { agent, json }: BindingsFlags): number {
  const rows = config.bindings.flatMap(({ agentId, match, comment }, at) =>
    agent === undefined || agent === agentId ? [{ at, agentId, match, comment, text: bindingName(match) }] : [],
  );
  if (json === true)
    writeJson(
      io,
      rows.map(({ at: _at, ...row }) => row),
    );
  else if (rows.length === 0) io.out("There are no bindings: the default agent answers everywhere.\n");
  else {
    const shown = rows.map((row) => [`bindings[${row.at}]`, row.agentId, row.text, row.comment ?? ""]);
    io.out(table(io, ["KEY", "AGENT", "MESSAGES", "COMMENT"], shown));
  }
  return 0;
}

function explain(io: Io, state: State, flags: BindingsFlags & { readonly channel: string }): number {
  const { bindings } = state.config;
  const account = defaultAccountOf(state.config, flags.channel);
  const message = messageOf(flags, account);
  const won = bindingFor(bindings, message, account);
  const agentId = won?.agentId ?? oneAgent(agentsOf(state, io), undefined).id;
  const rows = fitBindings(bindings, message, account).map((fit) => ({
    key: `bindings[${fit.at}]`,
    agentId: fit.binding.agentId,
    text: bindingName(fit.binding.match),
    chosen: fit.binding === won,
    why: whyOf(fit, won !== undefined && fit.binding === won),
  }));
  const several = broadcastTo(state.config.broadcast, message);
  if (flags.json === true)
    writeJson(io, {
      agentId: several[0] ?? agentId,
      isDefault: several.length === 0 && won === undefined,
      ...(several.length > 0 && { broadcast: several }),
      bindings: rows,
    });
  else if (several.length > 0) io.out(`${several.join(", ")} answer, because broadcast names the chat.\n`);
  else {
    io.out(`${agentId} answers${won ? "" : ", because no binding matches: it is the default agent"}.\n`);
    if (rows.length > 0)
      io.out(
        table(
          io,
          ["KEY", "AGENT", "MESSAGES", "WHY"],
          rows.map((row) => [row.key, row.agentId, row.text, row.why]),
        ),
      );
  }
  return 0;
}

function whyOf(fit: BindingFit, isChosen: boolean): string {
  if ("misfit" in fit) return `match.${fit.misfit} does not hold`;
  return isChosen ? `chosen: ${fit.tier}` : `matches by ${fit.tier}; a more specific or earlier one is chosen`;
}

/** A message as the flags describe it. */
function messageOf(flags: BindingsFlags & { readonly channel: string }, account: string): Routed {
  const { peer } = matchFrom(flags.channel, flags);
  const { kind = "direct", id = "" } = peer ?? {};
  const { thread, guild, team, role } = flags;
  return {
    from: {
      channel: channelId(flags.channel.toLowerCase()),
      account: accountId(flags.account ?? account ?? DEFAULT_ACCOUNT),
      chat: { kind, id },
      ...(thread !== undefined && { thread }),
    },
    sender: { id: kind === "direct" ? id : "", ...(role && { roles: role }) },
    ...(guild !== undefined && { guildId: guild }),
    ...(team !== undefined && { teamId: team }),
  };
}
