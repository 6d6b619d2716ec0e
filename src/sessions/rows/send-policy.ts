import type { SessionKey } from "../../types/ids.ts";
import type { SendPolicyConfig } from "../config.ts";

interface Asked {
  readonly key: SessionKey;
  readonly channel: string;
  readonly chatType: "direct" | "group";
}

/** Other names in configs of the field. */
const KINDS: Readonly<Record<string, Asked["chatType"]>> = {
  direct: "direct",
  dm: "direct",
  group: "group",
  channel: "group",
};

/**
 * Whether the config allows answers in a session: no rule that denies matches, and either a rule that allows matches or the
 * default allows.
 */
export function mayAnswer(policy: SendPolicyConfig | undefined, asked: Asked): boolean {
  if (!policy) return true;
  const fitting = policy.rules.filter(({ match }) => fits(match, asked)).map(({ action }) => action);
  if (fitting.includes("deny")) return false;
  return fitting.includes("allow") || policy.default === "allow";
}

function fits(match: SendPolicyConfig["rules"][number]["match"], { key, channel, chatType }: Asked): boolean {
  const { keyPrefix = "", rawKeyPrefix = "" } = match;
  return (
    (match.channel === undefined || match.channel === channel) &&
    (match.chatType === undefined || KINDS[match.chatType] === chatType) &&
    [keyPrefix, rawKeyPrefix].every((prefix) => key.startsWith(prefix))
  );
}
