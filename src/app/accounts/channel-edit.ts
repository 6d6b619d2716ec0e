import { accountInputs } from "../../channels/config.ts";
import { OpenClawError } from "../../types/errors.ts";
import { readConfigText, type LoadOptions } from "../config/load.ts";
import { parseConfigText } from "../config/parse.ts";
import { isRecord, valueAt, type KeyPath } from "../config/problem.ts";
import { removeConfigValue, writeConfigValues } from "../config/edit/write.ts";

/** An account as people name it; the nameless one of a channel when `account` is unset. */
export interface AccountName {
  readonly channel: string;
  readonly account: string | undefined;
}

interface Edit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** Sets keys of an account in the config file, which is made where it is not there, and switches it on. Throws as `writeConfigValues` does. */
export async function putAccount(
  load: LoadOptions,
  { channel, account }: AccountName,
  keys: ReadonlyMap<string, unknown>,
): Promise<void> {
  const section = valueAt(await rawConfig(load), ["channels", channel]);
  const base = ["channels", channel];
  const named = namesIn(section);
  const name = account ?? "default";
  const isNameless = name === "default" && named.length === 0;
  // The first one that is named leaves the nameless one as `default`.
  const keepsDefault = named.length === 0 && section !== undefined && name !== "default";
  const path = isNameless ? base : [...base, "accounts", name];
  const others = keepsDefault ? ["default"] : named.filter((other) => other !== name);
  await writeConfigValues(load, [
    ...(keepsDefault ? [{ path: [...base, "accounts", "default"], value: {} }] : []),
    ...(isNameless ? [] : othersStayOff(section, base, others)),
    ...[["enabled", true] as const, ...keys].map(([key, value]) => ({ path: [...path, key], value })),
  ]);
}

/** Switches one account on or off and gives back its name; the channel's others stay as they are. Throws NOT_FOUND, and as `writeConfigValues` does. */
export async function switchAccount(load: LoadOptions, of: AccountName, isOn: boolean): Promise<string> {
  const { channel } = of;
  const section = valueAt(await rawConfig(load), ["channels", channel]);
  const base = ["channels", channel];
  const { name } = await findPlace(load, of);
  const named = namesIn(section);
  const path = named.length === 0 ? base : [...base, "accounts", name];
  const others = named.filter((other) => other !== name);
  await writeConfigValues(load, [
    ...(isOn && named.length > 0 ? othersStayOff(section, base, others) : []),
    { path: [...path, "enabled"], value: isOn },
  ]);
  return name;
}

/** A channel that is off keeps all of its accounts off: where one comes up, the others get switches of their own. */
function othersStayOff(section: unknown, base: KeyPath, others: readonly string[]): readonly Edit[] {
  if (valueAt(section, ["enabled"]) !== false) return [];
  return [
    { path: [...base, "enabled"], value: true },
    ...others.map((name) => ({ path: [...base, "accounts", name, "enabled"], value: false })),
  ];
}

/** Where an account stands in the file, and its name: the only one's when it was not given. Throws NOT_FOUND. */
export async function findPlace(
  load: LoadOptions,
  { channel, account }: AccountName,
): Promise<{ name: string; path: KeyPath }> {
  const file = await rawConfig(load);
  const accounts = namesIn(valueAt(file, ["channels", channel]));
  const name = account ?? (accounts.length === 1 ? accounts[0] : "default") ?? "default";
  const isAll = accounts.length === 0 ? name === "default" : accounts.length === 1 && accounts[0] === name;
  const path = isAll ? ["channels", channel] : ["channels", channel, "accounts", name];
  if (valueAt(file, path) === undefined) throw unknownAccount(channel, name, accounts);
  return { name, path };
}

/** Takes an account out of the config, with its channel when it is the last one, and gives back its name; its keys on disk stay. Throws NOT_FOUND. */
export async function removeAccount(load: LoadOptions, of: AccountName): Promise<string> {
  const { name, path } = await findPlace(load, of);
  await removeConfigValue(load, path);
  return name;
}

/** What the file says of an account, the channel's own keys among it; undefined when it names none of this name. */
export async function readAccount(
  load: LoadOptions,
  { channel, account = "default" }: AccountName,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const section = valueAt(await rawConfig(load), ["channels", channel]);
  if (!isRecord(section)) return undefined;
  return accountInputs(section).find(({ id }) => id === account)?.input;
}

/** What the file says of an account, or what one of this name would take over from its channel. */
export async function readAccountToBe(load: LoadOptions, of: AccountName): Promise<Readonly<Record<string, unknown>>> {
  const known = await readAccount(load, of);
  if (known) return known;
  const section = valueAt(await rawConfig(load), ["channels", of.channel]);
  const { accounts: _others, ...own } = isRecord(section) ? section : {};
  return own;
}

/** The file as it is written: a token that is missing here must not keep anybody from mending it. Throws CONFIG_SYNTAX. */
export async function rawConfig({ path }: LoadOptions): Promise<unknown> {
  const text = (await readConfigText(path)) ?? "";
  return text.trim() === "" ? {} : parseConfigText(text, path);
}

function namesIn(section: unknown): readonly string[] {
  const listed = valueAt(section, ["accounts"]);
  return isRecord(listed) ? Object.keys(listed) : [];
}

export const isAccountName = (account: string): boolean => /^[\w-]{1,64}$/.test(account);

/** Throws USAGE for what is no name of an account. */
export function checkAccountName(account: string | undefined): void {
  if (account === undefined || isAccountName(account)) return;
  throw new OpenClawError("USAGE", {
    message: `"${account}" is no name of an account.`,
    fix: "Use letters, digits, - and _.",
  });
}

const unknownAccount = (channel: string, account: string, accounts: readonly string[]): OpenClawError =>
  new OpenClawError("NOT_FOUND", {
    message: `The config has no account ${account} of ${channel}.`,
    fix: accounts.length === 0 ? "See openclaw channels list." : `It has: ${accounts.join(", ")}.`,
  });
