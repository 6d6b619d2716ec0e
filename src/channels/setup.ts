import type { SetupField } from "../types/answers/channels.ts";
import { OpenClawError } from "../types/errors.ts";
import type { ChannelContribution, MissingValue, SetupFlag, SetupValues } from "../types/contribution.ts";

/** Why an account cannot work with the given values; `key` is a key of the account. */
export interface SetupError extends MissingValue {
  readonly kind: "shape" | "missing";
}

/** The fields of the form, in order; none for a channel that only needs to be linked. */
export function setupFields({ setup }: ChannelContribution): readonly SetupField[] {
  return setup.flags.flatMap(({ name, label, secret, isRequired = false }) => {
    if (label === undefined) return [];
    const env = secret?.env;
    return [{ name, label, secret: secret !== undefined, required: isRequired, ...(env !== undefined && { env }) }];
  });
}

/** The flag that the terminal prompts for. */
export const promptedFlag = ({ setup }: ChannelContribution): SetupFlag | undefined =>
  setup.flags.find(({ isRequired }) => isRequired === true);

/** The field of the form that sets this key of the account. */
export const fieldOf = ({ setup }: ChannelContribution, key: string): string | undefined =>
  setup.flags.find((flag) => flag.key === key && flag.label !== undefined)?.name;

/** The keys of an account that these flags set. Throws USAGE for a flag that the channel does not have. */
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
    if (!flag) throw unknownFlag(channel, name);
    found.set(flag.key, flag.isFile === true ? { source: "file", id: value } : value);
  }
  return found;
}

const dashed = (flag: string): string => `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function unknownFlag({ id, setup }: ChannelContribution, flag: string): OpenClawError {
  const flags = [...new Set(setup.flags.map(({ name }) => dashed(name)))];
  return new OpenClawError("USAGE", {
    message: `${id} has no flag ${dashed(flag)}.`,
    fix:
      flags.length === 0
        ? "It needs no flags: link it afterwards with openclaw channels login."
        : `Its flags: ${flags.join(", ")}.`,
  });
}

type Given = ReadonlyMap<string, unknown>;

/** Adds the keys that follow from the given ones. */
export function withImplied({ setup }: ChannelContribution, given: Given, before: SetupValues): Given {
  const all = { ...before, ...Object.fromEntries(given) };
  return new Map([...given, ...Object.entries(setup.implied?.(all) ?? {})]);
}

/** The first error in the values of an account, after the given ones are applied. Values in files and variables are not checked. */
export function setupErrorIn(
  { setup }: ChannelContribution,
  given: Given,
  before: SetupValues,
): SetupError | undefined {
  for (const { key, shape } of setup.flags) {
    const value = given.get(key);
    if (shape && typeof value === "string" && !isReference(value) && !shape.pattern.test(value))
      return { key, kind: "shape", message: `${shape.what}: the given value does not match.`, fix: shape.fix };
  }
  const missing = setup.missing?.({ ...before, ...Object.fromEntries(given) });
  return missing && { ...missing, kind: "missing" };
}

/** `${NAME}`, which the config resolves. */
const isReference = (value: string): boolean => value.startsWith("${");

export const setupUsageError = ({ message, fix }: SetupError): OpenClawError =>
  new OpenClawError("USAGE", { message, fix });
