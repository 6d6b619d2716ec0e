import type { CommandForm } from "../../types/chat/channel.ts";
import { inCommandForm } from "../chats.ts";
import { shownPath } from "../../tools/shown-path.ts";
import type { Principal } from "../../types/run/principal.ts";
import type { BoundFile } from "../../types/run/backend.ts";
import { answersTo, type QuestionEnd } from "../../types/chat/question-end.ts";
import type { Approval } from "../../types/run/tool.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { BLANKS, IGNORABLE, NO_LETTERS } from "../../utils/text/unicode.ts";

const MOST_NAME = 60;
const UNSEEN = new RegExp(`[${IGNORABLE}${NO_LETTERS}${BLANKS}]+`, "gv");

/** A display name, which its owner chose: one line, without characters that would end the code span around it. */
const plain = (name: string): string => shorten(name.replaceAll(UNSEEN, " ").replaceAll("`", "'").trim(), MOST_NAME);

const WORDS = [
  ["allow-once", "once"],
  ["allow-always", "always"],
  ["deny", "deny"],
] as const;

/** The question for a chat whose people write commands in this form. */
export function approvalText(approval: Approval, form?: CommandForm): string {
  const { id } = approval;
  const answers = answersTo(approval);
  const words = WORDS.flatMap(([answer, word]) => (answers.includes(answer) ? [word] : []));
  const note = answers.includes("allow-always") ? "" : ". It cannot be allowed for good";
  const choices = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}${note}`;
  return `${factsOf(approval)}\n${inCommandForm(`An owner answers within 5 minutes: /approve ${id} ${choices}.`, form)}`;
}

const ENDS: Readonly<Record<QuestionEnd["how"], string>> = {
  "allow-once": "Allowed once.",
  "allow-always": "Allowed for good, while the files that it names stay as they are.",
  deny: "Denied.",
  timeout: "Nobody answered in time: it was not run.",
  abort: "The run was stopped: it was not run.",
  restart: "The gateway was restarted before anybody answered: it was not run.",
};

const BUDGET_ENDS: Readonly<Partial<Record<QuestionEnd["how"], string>>> = {
  "allow-once": "Allowed: the budget is raised.",
  timeout: "Nobody answered in time: the budget stays as it is.",
  abort: "The run was stopped: the budget stays as it is.",
};

/** The text that replaces the question once it is answered. */
export function answeredText(approval: Approval, { how }: QuestionEnd): string {
  const ofBudget = approval.askedBy === "budget" ? BUDGET_ENDS[how] : undefined;
  const isByPlugin = how === "allow-always" && approval.allowance === undefined;
  return `${factsOf(approval)}\n${ofBudget ?? (isByPlugin ? BY_PLUGIN : ENDS[how])}`;
}

const BY_PLUGIN = "Allowed for good, as far as the plugin that asked keeps it.";

/**
 * The text that replaces a question of an earlier start once it is answered. The question's command is not known any
 * more.
 */
export const oldAnswerText = ({ how }: QuestionEnd): string =>
  how === "allow-once" || how === "allow-always" ? `${ENDS[how]} ${MAY_NOT_HAVE_RUN}` : ENDS[how];

const MAY_NOT_HAVE_RUN = "The gateway ended soon afterwards, so it may not have run.";

const WISHES = {
  plugin: "A plugin asks whether to allow a call of the agent",
  budget: "A budget does not allow the next step of the agent",
  exec: "The agent wants to run a command",
};

const wishOf = (askedBy: Approval["askedBy"]): string => WISHES[askedBy ?? "exec"];

const forWhom = ({ askedBy, principal, chat }: Approval): string =>
  `${wishOf(askedBy)}${principal ? ` for ${whoIs(principal)}` : ""}${chat === undefined ? "" : ` in \`${plain(chat)}\``}`;

function factsOf(approval: Approval): string {
  if (approval.askedBy === "budget") return `💰 ${forWhom(approval)}: ${approval.reason}`;
  return callText(approval);
}

function callText(approval: Approval): string {
  const { command, cwd, reason, files = [], variables = [] } = approval;
  return [
    `${forWhom(approval)}:`,
    `\`\`\`sh\n${command.replaceAll("```", "` ` `")}\n\`\`\``,
    `in \`${cwd.replaceAll("`", "'")}\` (${reason}).`,
    ...(variables.length === 0 ? [] : [`Plugins set these variables for it: ${variables.map(shownName).join(", ")}.`]),
    ...(files.length === 0
      ? []
      : ["Only with these files as they are now:", ...files.map((file) => fileLine(file, cwd))]),
  ].join("\n");
}

function whoIs({ kind, id, name }: Principal): string {
  if (kind === "automation" || kind === "plugin") return `the ${kind} \`${plain(id)}\``;
  const who = name === undefined ? `\`${plain(id)}\`` : `\`${plain(name)}\` (\`${plain(id)}\`)`;
  return kind === "owner" ? `the owner ${who}` : `${who}, who is no owner`;
}

const shownName = (name: string): string => `\`${plain(name)}\``;

const DIGITS = 12;

function fileLine({ path, size, content }: BoundFile, cwd: string): string {
  const [kind, value = ""] = content.split(":");
  const mark = kind === "sha256" ? `, sha256 ${value.slice(0, DIGITS)}` : "";
  return `- \`${shownPath(path, cwd).replaceAll("`", "'")}\` (${size} bytes${mark})`;
}

const LABELS = { "allow-once": "Allow once", "allow-always": "Always", deny: "Deny" } as const;

export function approvalButtons(approval: Approval) {
  const answers = answersTo(approval);
  return WORDS.flatMap(([answer, word]) =>
    answers.includes(answer) ? [{ label: LABELS[answer], command: `/approve ${approval.id} ${word}` }] : [],
  );
}
