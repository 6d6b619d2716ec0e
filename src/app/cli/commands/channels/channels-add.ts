import { text as readAll } from "node:stream/consumers";
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promptedFlag, keysFrom, setupUsageError, setupErrorIn, withImplied } from "../../../../channels/setup.ts";
import type { ChannelContribution } from "../../../../types/contribution.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { expandHome } from "../../../../utils/env.ts";
import { unlessMissing } from "../../../../utils/missing.ts";
import { findChannel } from "../../../accounts/channel-accounts.ts";
import { checkAccountName, findPlace, putAccount, rawConfig, readAccountToBe } from "../../../accounts/channel-edit.ts";
import { valueAt } from "../../../config/schema/problem.ts";
import { removeConfigValue } from "../../../config/edit/write.ts";
import { askHidden, canAsk, confirmed } from "../../ask.ts";
import type { Io } from "../../io.ts";
import { readState, type State } from "../../state.ts";

/** Flags of channels by name. Each channel's setup defines its flags. */
type SetupFlags = Readonly<Record<string, string>>;

export interface ChannelAddFlags {
  readonly channel: string;
  readonly account?: string;
  readonly useEnv?: boolean;
  readonly setup: SetupFlags;
}

/** Writes an account into the config, or changes one. Throws USAGE, and what writing the config throws. */
export async function channelsAdd(io: Io, { channel: id, account, useEnv, setup }: ChannelAddFlags): Promise<number> {
  const channel = findChannel(io.contributions, id);
  const adapter = await channel.adapter();
  checkAccountName(account);
  const state = await readState(io);
  const isEnough = useEnv === true || (await isThere(state, id, account));
  const flags = await withFiles(io, channel, await filledIn(io, channel, setup, isEnough));
  const before = await readAccountToBe(state.load, { channel: id, account });
  const keys = await fitting(io, channel, keysFrom(channel, Object.entries(flags), useEnv === true), before);
  await mkdir(dirname(state.load.path), { recursive: true, mode: 0o700 });
  await putAccount(state.load, { channel: id, account }, keys);
  io.out(`${adapter.label} (${account ?? "default"}) is in ${state.load.path}; a running gateway starts it at once.\n`);
  const more = account === undefined ? "" : ` --account ${account}`;
  if (adapter.login) io.out(`Link it: openclaw channels login --channel ${id}${more}\n`);
  return 0;
}

/** The files that flags name, absolute: the gateway may run in another folder. Throws USAGE for one that is none. */
async function withFiles(io: Io, { setup }: ChannelContribution, flags: SetupFlags): Promise<SetupFlags> {
  const found = Object.entries(flags).map(async ([name, value]): Promise<readonly [string, string]> => {
    const usage = setup.flags.find((flag) => flag.name === name)?.usage;
    if (usage?.endsWith("-file <path>") !== true) return [name, value];
    const path = resolve(expandHome(value, io.env));
    const facts = await unlessMissing(stat(path));
    if (facts?.isFile() === true) return [name, path];
    throw new OpenClawError("USAGE", {
      message: facts ? `${path} is no file.` : `There is no file ${path}.`,
      fix: `Name the file with the token: ${usage}`,
    });
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Asks at a terminal for missing values. Throws USAGE for an account that cannot work. */
async function fitting(
  io: Io,
  channel: ChannelContribution,
  given: ReadonlyMap<string, unknown>,
  before: Readonly<Record<string, unknown>>,
): Promise<ReadonlyMap<string, unknown>> {
  const keys = withImplied(channel, given, before);
  const wrong = setupErrorIn(channel, keys, before);
  if (!wrong) return keys;
  if (wrong.kind === "shape" || !canAsk(io)) throw setupUsageError(wrong);
  const value = nonEmpty(await askHidden(`${wrong.message} It is: `));
  return fitting(io, channel, new Map([...keys, [wrong.key, value]]), before);
}

export interface RemoveFlags {
  readonly channel: string;
  readonly account?: string;
  readonly yes?: boolean;
}

/** Removes an account from the config; its keys on disk are kept. Throws NOT_FOUND, and USAGE if nobody confirms. */
export async function channelsRemove(io: Io, { channel, account, yes }: RemoveFlags): Promise<number> {
  const state = await readState(io);
  const { name, path } = await findPlace(state.load, { channel, account });
  if (yes !== true && !(await isConfirmed(io, `Take ${channel} (${name}) out of the config?`))) {
    io.err("Nothing was changed.\n");
    return 1;
  }
  await removeConfigValue(state.load, path);
  io.out(`Took ${channel} (${name}) out of ${state.load.path}; a running gateway stops it at once.\n`);
  return 0;
}

async function isConfirmed(io: Io, question: string): Promise<boolean> {
  if (canAsk(io)) return confirmed(question);
  throw new OpenClawError("USAGE", { message: "There is nobody to ask here.", fix: "Add --yes." });
}

/** `-` reads the secret from standard input; a missing one is asked for without showing it. */
async function filledIn(
  io: Io,
  channel: ChannelContribution,
  flags: SetupFlags,
  isEnough: boolean,
): Promise<SetupFlags> {
  const piped = Object.entries(flags).filter(([, value]) => value === "-");
  if (piped.length > 1)
    throw new OpenClawError("USAGE", { message: "Only one value can be piped.", fix: "Give the others as files." });
  const [flag] = piped[0] ?? [];
  if (flag !== undefined) return { ...flags, [flag]: nonEmpty(await readAll(process.stdin)) };
  const asked = promptedFlag(channel);
  if (asked === undefined || isEnough || Object.keys(flags).length > 0) return flags;
  if (!canAsk(io)) {
    throw new OpenClawError("USAGE", {
      message: `The token of ${channel.id} is missing.`,
      fix: "Give --token - and pipe it in, --token-file <path>, or --use-env.",
    });
  }
  const what = asked.secret ? "Token" : "Value";
  return { [asked.name]: nonEmpty(await askHidden(`${what} of ${channel.id}: `)) };
}

function nonEmpty(text: string): string {
  if (text.trim() !== "") return text.trim();
  throw new OpenClawError("USAGE", { message: "The token is empty.", fix: "Give one." });
}

async function isThere({ load }: State, channel: string, account: string | undefined): Promise<boolean> {
  const path = ["channels", channel, ...(account === undefined ? [] : ["accounts", account])];
  return valueAt(await rawConfig(load), path) !== undefined;
}
