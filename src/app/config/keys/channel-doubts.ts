import { accountConfig } from "../../../channels/config.ts";
import { hasEverybody } from "../../../channels/access/listed.ts";
import { policyOf } from "../../../channels/access/policy.ts";
import { PARSED_ONCE } from "./schema-keys.ts";
import { isRecord, type RawNote } from "../problem.ts";

/** Account keys that are accepted but do not have the effect that their names suggest. */
export function doubtfulAccount(channel: string, input: Record<string, unknown>): RawNote[] {
  const { data } = accountConfig.safeParse(input, PARSED_ONCE);
  if (!data) return [];
  const policy = policyOf(data, { mentionPatterns: [], historyLimit: 0 });
  if (policy.direct !== "open" || hasEverybody(policy.allowFrom, channel)) return [];
  const { dm } = input;
  return [
    {
      path: isRecord(dm) && dm["policy"] !== undefined ? ["dm", "policy"] : ["dmPolicy"],
      message: '"open" lets in only whom allowFrom names; add "*" to allowFrom to hear everybody',
    },
  ];
}
