import type { AgentEntry, HeartbeatConfig } from "../../automation/config.ts";
import type { AgentSettings, HeartbeatSettings } from "../../types/settings.ts";
import { localZone } from "../../utils/time/local-time.ts";
import type { Config } from "./schema.ts";

const HALF_AN_HOUR_MS = 1_800_000;

/** An agent's heartbeat settings. Once an agent has its own block, only such agents have heartbeats; else the default agent has. */
export function heartbeatOf(
  { agents: { defaults, list } }: Config,
  { heartbeat: own }: Partial<AgentEntry>,
  isDefault: boolean,
): Pick<AgentSettings, "heartbeat"> {
  const isWoken = own !== undefined || (isDefault && list.every(({ heartbeat }) => heartbeat === undefined));
  const config = { ...defaults.heartbeat, ...own };
  const { every = HALF_AN_HOUR_MS } = config;
  if (!isWoken || every === 0) return {};
  return { heartbeat: { everyMs: every, ...hoursOf(config, defaults.userTimezone), ...settingsOf(config) } };
}

function settingsOf(config: HeartbeatConfig): Omit<HeartbeatSettings, "everyMs" | "activeHours"> {
  const { to, accountId, model, prompt, session, timeoutSeconds } = config;
  return {
    target: config.target ?? "last",
    ...(to !== undefined && { to }),
    ...(accountId !== undefined && { accountId }),
    ...(session !== undefined && { session }),
    ...(model !== undefined && { model }),
    ...(prompt !== undefined && { prompt }),
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    intoDirect: config.directPolicy !== "block",
    inSystemPrompt: config.includeSystemPromptSection !== false,
    ackMaxChars: config.ackMaxChars ?? 300,
    light: config.lightContext !== false,
    // The heartbeat continues in the named conversation.
    isolated: config.isolatedSession ?? session === undefined,
    skipWhenBusy: config.skipWhenBusy === true,
  };
}

function hoursOf(
  { activeHours }: HeartbeatConfig,
  userZone: string | undefined,
): Pick<HeartbeatSettings, "activeHours"> {
  if (!activeHours) return {};
  const { start: from, end: to, timezone } = activeHours;
  const local = localZone();
  const named = timezone === "user" ? (userZone ?? local) : timezone;
  return { activeHours: { from, to, timezone: named === "local" ? local : named } };
}
