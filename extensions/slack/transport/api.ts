import { LogLevel, WebClient } from "@slack/web-api";
import type { Logger } from "@slack/web-api";
import { OpenClawError } from "openclaw/plugin-sdk";
import type { ChannelLog, Secret } from "openclaw/plugin-sdk";
import type { SlackConfig } from "../config.ts";

/** The bot itself. */
export interface Self {
  readonly userId: string;
  readonly botId: string | undefined;
  readonly teamId: string;
  readonly name: string;
  readonly team: string;
  /** The scopes of the bot token, which Slack sends with every answer. */
  readonly scopes: readonly string[];
}

/** Client and tokens for calls to the Web API. */
export interface Slack {
  readonly calls: WebClient;
  /** Token for files and uploads. */
  readonly token: string;
  /** Only with `mode: socket`. */
  readonly appToken: string | undefined;
}

/** Throws `OpenClawError` `CHANNEL_CONFIG` when a token is missing. */
export function openSlack(config: SlackConfig, log: ChannelLog | undefined): Slack {
  const token = requireSecret(config.botToken, "botToken", "the app's bot token (xoxb-…)");
  const appToken =
    config.mode === "socket" ? requireSecret(config.appToken, "appToken", "an app-level token (xapp-…)") : undefined;
  const calls = new WebClient(token, {
    slackApiUrl: config.apiUrl,
    timeout: config.timeoutSeconds * 1000,
    // Only the outbox retries: a second try here could show a message twice.
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    allowAbsoluteUrls: false,
    logger: loggerFor(log),
  });
  return { calls, token, appToken };
}

/** Throws `OpenClawError` `CHANNEL_CONFIG` when a secret is not set. */
export function requireSecret(secret: Secret | undefined, key: string, what: string): string {
  const text = secret?.reveal().trim() ?? "";
  if (text !== "") return text;
  throw new OpenClawError("CHANNEL_CONFIG", {
    message: `Slack has no ${key}.`,
    fix: `Set channels.slack.${key} to ${what}; api.slack.com/apps shows it.`,
  });
}

/** Logs only the client's errors: the failures of its calls report the same. */
function loggerFor(log: ChannelLog | undefined): Logger {
  const silent = (): void => undefined;
  return {
    debug: silent,
    info: silent,
    warn: silent,
    error: (...parts) => log?.info("the Slack client reports an error", { message: parts.map(String).join(" ") }),
    setLevel: silent,
    setName: silent,
    getLevel: () => LogLevel.ERROR,
  };
}

/** Requests the identity that the token belongs to. Throws the errors of the Web API client. */
export async function whoAmI({ calls }: Slack): Promise<Self> {
  const me = await calls.auth.test();
  return {
    userId: me.user_id ?? "",
    botId: me.bot_id,
    teamId: me.team_id ?? "",
    name: me.user ?? "bot",
    team: me.team ?? "",
    scopes: me.response_metadata?.scopes ?? [],
  };
}
