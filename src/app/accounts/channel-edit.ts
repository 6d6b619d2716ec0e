import { accountInputs } from "../../channels/config.ts";
import { OpenClawError } from "../../types/errors.ts";
import type { LoadOptions } from "../config/load.ts";
import { readConfigSource } from "../config/source.ts";
import { isRecord, valueAt, type KeyPath } from "../config/schema/problem.ts";
import { removeConfigValue, writeConfigValues } from "../config/edit/write.ts";

/** An account as people name it; the channel's unnamed account when `account` is unset. */
export interface AccountName {
  readonly channel: string;
  readonly account: string | undefined;
}

interface Edit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/**
 * Sets keys of an account in the config file, creating the file if needed, and enables the account. Throws as
 * `writeConfigValues` does.
 */
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
  // When the first named account is added, the unnamed one becomes `default`.
  const keepsDefault = named.length === 0 && section !== undefined && name !== "default";
  const path = isNameless ? base : [...base, "accounts", name];
  const others = keepsDefault ? ["default"] : named.filter((other) => other !== name);
  await writeConfigValues(load, [
    ...(keepsDefault ? [{ path: [...base, "accounts", "default"], value: {} }] : []),
    ...(isNameless ? [] : othersStayOff(section, base, others)),
    ...[["enabled", true] as const, ...keys].map(([key, value]) => ({ path: [...path, key], value })),
  ]);
}

/**
 * Enables or disables one account and returns its name; other accounts do not change. Throws NOT_FOUND, and as
 * `writeConfigValues` does.
 */
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

/** A disabled channel disables all of its accounts: when one is enabled, each other account gets its own switch. */
function othersStayOff(section: unknown, base: KeyPath, others: readonly string[]): readonly Edit[] {
  if (valueAt(section, ["enabled"]) !== false) return [];
  return [
    { path: [...base, "enabled"], value: true },
    ...others.map((name) => ({ path: [...base, "accounts", name, "enabled"], value: false })),
  ];
}

/** The path of an account in the file, and its name; the only account when no name is given. Throws NOT_FOUND. */
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

/**
 * Removes an account from the config and returns its name; the last account goes together with its channel. The
 * account's keys on disk stay. Throws NOT_FOUND.
 */
export async function removeAccount(load: LoadOptions, of: AccountName): Promise<string> {
  const { name, path } = await findPlace(load, of);
  await removeConfigValue(load, path);
  return name;
}

/** An account as the file has it, including the channel's own keys; undefined when the file does not have it. */
export async function readAccount(
  load: LoadOptions,
  { channel, account = "default" }: AccountName,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const section = valueAt(await rawConfig(load), ["channels", channel]);
  if (!isRecord(section)) return undefined;
  return accountInputs(section).find(({ id }) => id === account)?.input;
}

/** An account as the file has it, or what a new account of this name would inherit from its channel. */
export async function readAccountToBe(load: LoadOptions, of: AccountName): Promise<Readonly<Record<string, unknown>>> {
  const known = await readAccount(load, of);
  if (known) return known;
  const section = valueAt(await rawConfig(load), ["channels", of.channel]);
  const { accounts: _others, ...own } = isRecord(section) ? section : {};
  return own;
}

/**
 * The config file without its secrets resolved: a missing token must not prevent an edit that corrects it. Throws
 * CONFIG_SYNTAX.
 */
export async function rawConfig(options: LoadOptions): Promise<unknown> {
  return (await readConfigSource(options)).value;
}

function namesIn(section: unknown): readonly string[] {
  const listed = valueAt(section, ["accounts"]);
  return isRecord(listed) ? Object.keys(listed) : [];
}

export const isAccountName = (account: string): boolean => /^[\w-]{1,64}$/.test(account);

/** Throws USAGE for an invalid account name. */
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
