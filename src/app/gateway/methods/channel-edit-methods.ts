import { z } from "zod";
import { channelAnswers } from "../../../types/answers/channels.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";
import type { Contributions } from "../../../plugins/contributions.ts";
import type { ChannelContribution } from "../../../types/contribution.ts";
import { findChannel } from "../../accounts/channel-accounts.ts";
import {
  isAccountName,
  putAccount,
  rawConfig,
  readAccount,
  readAccountToBe,
  removeAccount,
  switchAccount,
} from "../../accounts/channel-edit.ts";
import { fieldOf, keysFrom, setupErrorIn, setupFields, withImplied } from "../../../channels/setup.ts";
import type { LoadOptions } from "../../config/load.ts";
import { ConfigError, isRecord, readPath } from "../../config/schema/problem.ts";
import { resolveSecrets } from "../../config/secrets.ts";
import { loadOptionsFor } from "../../plugins/load-options.ts";
import type { Parts } from "../parts/parts.ts";

const name = z.string().min(1);
const oneAccount = z.looseObject({ channel: name, accountId: name.optional() });

const newAccount = oneAccount.extend({
  /** Values by the names of `channels.setups`; empty values are ignored. */
  values: z.record(z.string(), z.string().max(8192)).default({}),
  /** The secrets are in the environment variables that `channels.setups` names. */
  useEnv: z.boolean().default(false),
  /** Whether an existing account may get these values. */
  replace: z.boolean().default(false),
});
type NewAccount = z.output<typeof newAccount>;

/** Writes an account into the config and switches it on. Throws `MethodError` with the field in `details.field` if it is known. */
export const addAccount = (parts: Parts, asked: NewAccount) =>
  editAndTell(parts, "added", {
    channel: asked.channel,
    work: (load) => add(load, parts.live.contributions, asked),
  });

/** The protocol's methods that add, enable, disable and remove accounts in the config. The config's watcher applies the change. */
export function channelEditMethods(parts: Parts): readonly Method[] {
  const edits = new KeyedQueue();
  // Sequential: each edit reads the file before it writes it.
  const edit = (did: string, channel: string, work: Work) =>
    edits.run("config", () => editAndTell(parts, did, { channel, work }));
  return [
    defineMethod({
      name: "channels.setups",
      scope: "operator.read",
      params: z.looseObject({}),
      result: channelAnswers.setups,
      run: async () => ({ channels: await Promise.all(parts.live.contributions.channels.map(setupOf)) }),
    }),
    defineMethod({
      name: "channels.add",
      scope: "operator.admin",
      params: newAccount,
      result: channelAnswers.edited,
      run: (asked) => edit("added", asked.channel, (load) => add(load, parts.live.contributions, asked)),
    }),
    defineMethod({
      name: "channels.remove",
      scope: "operator.admin",
      params: oneAccount,
      result: channelAnswers.edited,
      run: (asked) => edit("removed", asked.channel, (load) => removeAccount(load, namesOf(asked))),
    }),
    defineMethod({
      name: "channels.enable",
      scope: "operator.admin",
      params: oneAccount.extend({ enabled: z.boolean() }),
      result: channelAnswers.edited,
      run: (asked) => {
        const did = asked.enabled ? "switched on" : "switched off";
        return edit(did, asked.channel, (load) => switchAccount(load, namesOf(asked), asked.enabled));
      },
    }),
  ];
}

const namesOf = ({ channel, accountId }: z.output<typeof oneAccount>) => ({ channel, account: accountId });

async function setupOf(channel: ChannelContribution) {
  const { label, login } = await channel.adapter();
  return { channel: channel.id, label, login: login !== undefined, fields: setupFields(channel) };
}

/** Changes the file; returns the account's name. */
type Work = (load: LoadOptions) => Promise<string>;

/** Changes the file and logs it. A refusal has the form's field in `details.field` if it is known. */
async function editAndTell({ live, log }: Parts, did: string, { channel, work }: { channel: string; work: Work }) {
  const load = await loadOptionsFor(live.contributions, live.paths);
  try {
    const accountId = await work(load);
    log.info(`channel ${did}`, { channel, account: accountId });
    const { mode } = live.started.gateway.reload;
    return { ok: true, channel, accountId, restartNeeded: mode === "off" || mode === "restart" };
  } catch (error) {
    if (error instanceof OpenClawError) throw refusalOf(error, live.contributions.channel(channel));
    throw error;
  }
}

async function add(
  load: LoadOptions,
  contributions: Contributions,
  { channel, accountId, values, useEnv, replace }: NewAccount,
): Promise<string> {
  const contribution = findChannel(contributions, channel);
  if (accountId !== undefined && !isAccountName(accountId)) throw refused("Use letters, digits, - and _.", "accountId");
  const of = { channel, account: accountId };
  const given = Object.entries(values).flatMap(([key, value]) =>
    value.trim() === "" ? [] : [[key, value.trim()] as const],
  );
  const before = await readAccount(load, of);
  if (before && !replace && isSetUp(contribution, before)) throw taken(accountId ?? "default");
  if (!replace) checkRequired(contribution, given, useEnv);
  const keys = await fitting(load, { contribution, account: accountId }, keysFrom(contribution, given, useEnv));
  await checkSecrets(load, contribution, keys);
  await putAccount(load, of, keys);
  return accountId ?? "default";
}

type Keys = ReadonlyMap<string, unknown>;

/** Adds implied values. Refuses values that contradict each other. */
async function fitting(
  load: LoadOptions,
  { contribution, account }: { contribution: ChannelContribution; account: string | undefined },
  given: Keys,
): Promise<Keys> {
  const before = await readAccountToBe(load, { channel: contribution.id, account });
  const keys = withImplied(contribution, given, before);
  const wrong = setupErrorIn(contribution, keys, before);
  if (!wrong) return keys;
  const { kind, message, fix, key } = wrong;
  throw refused(kind === "shape" ? `${message} ${fix}` : message, fieldOf(contribution, key));
}

/** An account without its required values is incomplete and may be completed. */
function isSetUp(channel: ChannelContribution, account: Readonly<Record<string, unknown>>): boolean {
  if (setupFields(channel).length === 0) return account["enabled"] !== false;
  return Object.keys(account).some((key) => fieldOf(channel, key) !== undefined);
}

function checkRequired(
  channel: ChannelContribution,
  given: readonly (readonly [string, string])[],
  useEnv: boolean,
): void {
  const names = given.map(([key]) => key);
  const missing = setupFields(channel).find((field) => field.required && !names.includes(field.name));
  if (!missing || names.includes("tokenFile") || (useEnv && missing.env !== undefined)) return;
  throw refused(`${missing.label}: it is missing.`, missing.name);
}

/** A reference that cannot be resolved in the gateway's environment would make the whole file invalid. */
async function checkSecrets(load: LoadOptions, channel: ChannelContribution, keys: Keys): Promise<void> {
  const file = await rawConfig(load);
  const { env, secrets } = isRecord(file) ? file : {};
  const root = { env, secrets, channels: { [channel.id]: Object.fromEntries(keys) } };
  const { problems } = await resolveSecrets(root, load.env);
  const problem = problems.find(({ path }) => path[0] === "channels");
  if (!problem) return;
  const key = String(problem.path[2]);
  const value = keys.get(key);
  throw refused(sentence(problem.message), isRecord(value) ? placeOf(value) : fieldOf(channel, key));
}

const placeOf = ({ source }: Readonly<Record<string, unknown>>): string => (source === "env" ? "useEnv" : "tokenFile");

function refusalOf(error: OpenClawError, channel: ChannelContribution | undefined): MethodError {
  const { code, message, fix } = error;
  const [problem] = error instanceof ConfigError ? error.problems : [];
  const field = problem && channel && fieldOf(channel, String(readPath(problem.key).at(-1)));
  if (problem && field !== undefined) return refused(sentence(problem.message), field);
  return refused(`${message} ${fix}`, undefined, code);
}

const sentence = (words: string): string => `${words.charAt(0).toUpperCase()}${words.slice(1).replace(/\.?$/, ".")}`;

function refused(message: string, field?: string, code = "CHANNEL_SETUP"): MethodError {
  return new MethodError("INVALID_REQUEST", message, { details: { code, ...(field !== undefined && { field }) } });
}

const taken = (account: string): MethodError =>
  refused(`There is an account ${account} already: give this one another name.`, "accountId", "CHANNEL_TAKEN");
