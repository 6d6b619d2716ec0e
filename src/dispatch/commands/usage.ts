import { USAGE_LEVELS, usageLevelOf, type UsageLevel } from "../../types/run/usage-level.ts";
import type { Session } from "../../types/session.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";
import { tokensIn } from "../../providers/budget/sum.ts";
import { tokensText, usdText } from "../../providers/budget/texts.ts";
import type { SpendSum } from "../../types/spend/ledger.ts";
import { lastRunLine } from "./kit/last-run.ts";
import { usedTokensText } from "./kit/status.ts";
import { storeLevel } from "./kit/store-setting.ts";

const SHOWN: Readonly<Record<UsageLevel, string>> = {
  off: "Answers come without their cost.",
  tokens: "A line after each answer says how many tokens it took.",
  full: "A line after each answer says its tokens, price, model and time.",
};

/** Shows what this conversation took so far, and shows or sets whether each answer says what it took. */
export async function setUsage(context: CommandContext, session?: Session): Promise<CommandAnswer> {
  const refused = await storeLevel(context, "responseUsage", { levels: USAGE_LEVELS, levelOf: usageLevelOf }, session);
  if (refused !== undefined) return { text: refused };
  const { args, key, isOwner, ports } = context;
  const isAsked = args.trim() === "";
  const entry = ports.storage.sessions.peek(key);
  const now = usageLevelOf(entry?.responseUsage) ?? "off";
  const last = isAsked ? await ports.storage.journal.runs.last(key) : undefined;
  const lines = [
    `Usage: ${now}. ${SHOWN[now]}`,
    ...(isAsked ? [`This conversation: ${usedTokensText(entry)}`] : []),
    ...(last ? [lastRunLine(last, isOwner)] : []),
    ...(isAsked ? await todayLines(context) : []),
  ];
  return { text: lines.join("\n") };
}

/**
 * The sums of the ledger, so with summaries, subagents and calls that failed. People who are no owners do not see the
 * usage of others.
 */
async function todayLines({
  key,
  isOwner,
  ports: {
    runs: { budgets },
  },
}: CommandContext): Promise<readonly string[]> {
  const own = `This conversation today: ${sumText(await budgets.spentToday(key))}`;
  return isOwner ? [own, `Everything today: ${sumText(await budgets.spentToday())}`] : [own];
}

const sumText = (sum: SpendSum): string =>
  `${tokensText(tokensIn(sum))}, ${usdText(sum.costUsd)}, ${sum.calls} ${sum.calls === 1 ? "call" : "calls"}`;
