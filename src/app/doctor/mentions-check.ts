import { MentionPattern } from "../../channels/access/mention-pattern.ts";
import type { Check, CheckResult } from "../../types/check.ts";
import type { Config } from "../config/schema.ts";

/** Length of a text on which a pattern may search without end. */
const LENGTH = 200;

/** Whether a stranger's text can keep a mention pattern busy. */
export function mentionsCheck({ agents, messages }: Config): Check {
  const own = agents.list.flatMap(({ groupChat }) => groupChat.mentionPatterns ?? []);
  const sources = [...new Set([...messages.groupChat.mentionPatterns, ...own])];
  return {
    id: "app.mentions",
    title: "Mention patterns",
    run: async () => {
      const found = sources.filter(isEndless).map(tellOf);
      return found.length > 0 ? found : [{ status: "ok", message: "None can be made to search without end." }];
    },
  };
}

/** Tries inputs that typically cause it: many repetitions of a character of the pattern, then a different one. */
function isEndless(source: string): boolean {
  const pattern = new MentionPattern(source);
  const literals = source.replaceAll(/\\./gsu, "").match(/[\p{L}\p{N}@ _-]+/gu) ?? [];
  const units = new Set(["a", "1", " ", "-", "a ", ...literals, ...literals.flatMap((one) => one.match(/./gu) ?? [])]);
  for (const unit of units) {
    if (pattern.wasStopped) break;
    pattern.isIn(`${unit.repeat(Math.ceil(LENGTH / unit.length))}\n!`);
  }
  return pattern.wasStopped;
}

const tellOf = (source: string): CheckResult => ({
  status: "warn",
  message: `The mention pattern ${JSON.stringify(source)} searches some texts without end; the search is stopped, and the pattern is then not used for a minute.`,
  fix: "Write it without a repetition inside of a repetition, such as `(a+)+`.",
});
