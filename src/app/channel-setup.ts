import { OpenClawError } from "../types/errors.ts";

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
  /** What a form asks for, in its order. */
  readonly labels: Partial<Record<keyof SetupFlags, string>>;
}

const TOKEN_FILE = "File with the token, on the gateway's machine";

const SETUPS: Readonly<Record<string, Setup>> = {
  discord: {
    keys: { token: "token", botToken: "token" },
    secrets: { token: "DISCORD_BOT_TOKEN" },
    asks: "token",
    labels: { token: "Bot token", tokenFile: TOKEN_FILE },
  },
  signal: {
    keys: { signalNumber: "account", httpUrl: "httpUrl", cliPath: "cliPath" },
    secrets: {},
    labels: {
      signalNumber: "Phone number, as +49301234567",
      httpUrl: "Address of a signal-cli that runs already (optional)",
      cliPath: "The signal-cli program (optional)",
    },
  },
  slack: {
    keys: { token: "botToken", botToken: "botToken", appToken: "appToken", secret: "signingSecret" },
    secrets: { botToken: "SLACK_BOT_TOKEN", appToken: "SLACK_APP_TOKEN" },
    asks: "botToken",
    labels: {
      botToken: "Bot token (xoxb-…)",
      appToken: "App token (xapp-…), for Socket Mode",
      secret: "Signing secret, for the Events API",
      tokenFile: TOKEN_FILE,
    },
  },
  telegram: {
    keys: { token: "botToken", botToken: "botToken", tokenFile: "tokenFile" },
    secrets: { botToken: "TELEGRAM_BOT_TOKEN" },
    asks: "token",
    labels: { token: "Bot token, from @BotFather", tokenFile: TOKEN_FILE },
  },
  whatsapp: { keys: {}, secrets: {}, labels: {} },
};

const NONE: Setup = { keys: {}, secrets: {}, labels: {} };
const setupOf = (channel: string): Setup => (Object.hasOwn(SETUPS, channel) ? SETUPS[channel] : undefined) ?? NONE;

/** A flag whose value must not be shown anywhere. */
export const isSecret = (channel: string, flag: keyof SetupFlags): boolean =>
  Object.hasOwn(setupOf(channel).secrets, setupOf(channel).keys[flag] ?? "");

/** The flag that is asked for at the terminal. */
export const askedFlag = (channel: string): keyof SetupFlags | undefined => setupOf(channel).asks;

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

const SECRET_FLAGS = new Set(["token", "botToken", "appToken", "secret"]);

/** What a form asks for, in its order; nothing of a channel that is linked afterwards. */
export function setupFields(channel: string): readonly SetupField[] {
  const { keys, secrets, asks, labels } = setupOf(channel);
  const keyOf = new Map(Object.entries(keys));
  return Object.entries(labels).map(([name, label]) => {
    const env = name === "tokenFile" ? undefined : secrets[keyOf.get(name) ?? ""];
    return {
      name,
      label,
      secret: SECRET_FLAGS.has(name),
      required: name === asks,
      ...(env !== undefined && { env }),
    };
  });
}

/** The field of a form whose answer became this key of the account. */
export function fieldOf(channel: string, key: string): string | undefined {
  const { keys, labels } = setupOf(channel);
  return Object.entries(keys).find(([flag, own]) => own === key && Object.hasOwn(labels, flag))?.[0];
}

/** The keys of an account as its flags say. Throws USAGE for a flag that the channel has no use for. */
export function keysFrom(
  channel: string,
  flags: readonly (readonly [string, string])[],
  useEnv: boolean,
): ReadonlyMap<string, unknown> {
  const { keys, secrets, asks } = setupOf(channel);
  const keyOf = new Map(Object.entries(keys));
  const found = new Map<string, unknown>();
  if (useEnv) for (const [key, id] of Object.entries(secrets)) found.set(key, { source: "env", id });
  for (const [flag, value] of flags) {
    const key = keyOf.get(flag);
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
