import { OpenClawError } from "../types/errors.ts";
import type { ChannelContribution, MissingValue, SetupFlag, SetupValues } from "../types/contribution.ts";

/** What keeps an account from working that its values already show; `key` is the account's. */
export interface Misfit extends MissingValue {
  readonly kind: "shape" | "missing";
}

/** One thing that a form asks of an account. */
export interface SetupField {
  /** The flag of `channels add`. */
  readonly name: string;
  readonly label: string;
  /** Must not be shown while it is typed. */
  readonly secret: boolean;
  /** The environment variable that can hold it. */
  readonly env?: string;
  /** Stands for the secret that the channel cannot do without. */
  readonly required: boolean;
}

/** What a form asks for, in its order; nothing of a channel that is linked afterwards. */
export function setupFields({ setup }: ChannelContribution): readonly SetupField[] {
  return setup.flags.flatMap(({ name, label, secret, isRequired = false }) => {
    if (label === undefined) return [];
    const env = secret?.env;
    return [{ name, label, secret: secret !== undefined, required: isRequired, ...(env !== undefined && { env }) }];
  });
}

/** The flag that is asked for at the terminal. */
export const askedFlag = ({ setup }: ChannelContribution): SetupFlag | undefined =>
  setup.flags.find(({ isRequired }) => isRequired === true);

/** The field of a form whose answer became this key of the account. */
export const fieldOf = ({ setup }: ChannelContribution, key: string): string | undefined =>
  setup.flags.find((flag) => flag.key === key && flag.label !== undefined)?.name;

/** The keys of an account as its flags say. Throws USAGE for a flag that the channel has no use for. */
export function keysFrom(
  channel: ChannelContribution,
  given: readonly (readonly [string, string])[],
  useEnv: boolean,
): ReadonlyMap<string, unknown> {
  const { flags } = channel.setup;
  const found = new Map<string, unknown>();
  if (useEnv)
    for (const { key, secret } of flags)
      if (secret?.env !== undefined) found.set(key, { source: "env", id: secret.env });
  for (const [name, value] of given) {
    const flag = flags.find((one) => one.name === name);
    if (!flag) throw useless(channel, name);
    found.set(flag.key, flag.isFile === true ? { source: "file", id: value } : value);
  }
  return found;
}

const dashed = (flag: string): string => `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function useless({ id, setup }: ChannelContribution, flag: string): OpenClawError {
  const flags = [...new Set(setup.flags.map(({ name }) => dashed(name)))];
  return new OpenClawError("USAGE", {
    message: `${id} has no use for ${dashed(flag)}.`,
    fix:
      flags.length === 0
        ? "It needs no flag of its own: link it afterwards with openclaw channels login."
        : `Its flags: ${flags.join(", ")}.`,
  });
}

type Given = ReadonlyMap<string, unknown>;

/** Keys that an account gets because of others that it is given. */
export function withImplied({ setup }: ChannelContribution, given: Given, before: SetupValues): Given {
  const all = { ...before, ...Object.fromEntries(given) };
  return new Map([...given, ...Object.entries(setup.implied?.(all) ?? {})]);
}

/** The first thing that is wrong with an account as it would become; values in files and variables are not looked at. */
export function misfitOf({ setup }: ChannelContribution, given: Given, before: SetupValues): Misfit | undefined {
  for (const { key, shape } of setup.flags) {
    const value = given.get(key);
    if (shape && typeof value === "string" && !isReference(value) && !shape.pattern.test(value))
      return { key, kind: "shape", message: `${shape.what}: the given one does not fit.`, fix: shape.fix };
  }
  const missing = setup.missing?.({ ...before, ...Object.fromEntries(given) });
  return missing && { ...missing, kind: "missing" };
}

/** `${NAME}`, which the config resolves. */
const isReference = (value: string): boolean => value.startsWith("${");

export const misfitError = ({ message, fix }: Misfit): OpenClawError => new OpenClawError("USAGE", { message, fix });
