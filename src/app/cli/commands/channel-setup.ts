import { OpenClawError } from "../../../types/errors.ts";

/** Flags of `channels add` that become a key of the account. */
export interface SetupFlags {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly botToken?: string;
  readonly appToken?: string;
  readonly secret?: string;
  readonly signalNumber?: string;
  readonly httpUrl?: string;
  readonly cliPath?: string;
}

interface Setup {
  /** The key that a flag becomes. */
  readonly keys: Partial<Record<keyof SetupFlags, string>>;
  /** Keys that are secret, with the environment variable that `--use-env` takes. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The secret that is asked for where none was given. */
  readonly asks?: keyof SetupFlags;
}

const SETUPS: Readonly<Record<string, Setup>> = {
  discord: {
    keys: { token: "token", botToken: "token" },
    secrets: { token: "DISCORD_BOT_TOKEN" },
    asks: "token",
  },
  signal: {
    keys: { signalNumber: "account", httpUrl: "httpUrl", cliPath: "cliPath" },
    secrets: {},
  },
  slack: {
    keys: { token: "botToken", botToken: "botToken", appToken: "appToken", secret: "signingSecret" },
    secrets: { botToken: "SLACK_BOT_TOKEN", appToken: "SLACK_APP_TOKEN" },
    asks: "botToken",
  },
  telegram: {
    keys: { token: "botToken", botToken: "botToken", tokenFile: "tokenFile" },
    secrets: { botToken: "TELEGRAM_BOT_TOKEN" },
    asks: "token",
  },
  whatsapp: { keys: {}, secrets: {} },
};

const NONE: Setup = { keys: {}, secrets: {} };
const setupOf = (channel: string): Setup => (Object.hasOwn(SETUPS, channel) ? SETUPS[channel] : undefined) ?? NONE;

/** A flag whose value must not be shown anywhere. */
export const isSecret = (channel: string, flag: keyof SetupFlags): boolean =>
  Object.hasOwn(setupOf(channel).secrets, setupOf(channel).keys[flag] ?? "");

/** The flag that is asked for at the terminal. */
export const askedFlag = (channel: string): keyof SetupFlags | undefined => setupOf(channel).asks;

/** The keys of an account as its flags say. Throws USAGE for a flag that the channel has no use for. */
export function keysFrom(channel: string, flags: SetupFlags, useEnv: boolean): ReadonlyMap<string, unknown> {
  const { keys, secrets, asks } = setupOf(channel);
  const found = new Map<string, unknown>();
  if (useEnv) for (const [key, id] of Object.entries(secrets)) found.set(key, { source: "env", id });
  for (const [flag, value] of Object.entries(flags)) {
    const key = new Map(Object.entries(keys)).get(flag);
    if (key !== undefined) found.set(key, value);
    // A file with the token works everywhere, as a reference to it.
    else if (flag === "tokenFile" && asks) found.set(keys[asks] ?? "", { source: "file", id: value });
    else throw useless(channel, flag, Object.keys(keys));
  }
  return found;
}

const dashed = (flag: string): string => `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const useless = (channel: string, flag: string, flags: readonly string[]): OpenClawError =>
  new OpenClawError("USAGE", {
    message: `${channel} has no use for ${dashed(flag)}.`,
    fix:
      flags.length === 0
        ? "It needs no flag of its own: link it afterwards with openclaw channels login."
        : `Its flags: ${flags.map(dashed).join(", ")}.`,
  });
