import type { PersonsAnswer } from "../../types/answers/approvals.ts";
import { endText, type QuestionEnd } from "../../types/chat/question-end.ts";
import { NOT_OWNER } from "../notices/chat-texts.ts";
import { commandFormOf, inCommandForm } from "../chats.ts";
import { principalOf } from "../turn-facts.ts";
import type { CommandAnswer, CommandContext } from "./kit/command.ts";

const ANSWERED = { "allow-once": "Allowed.", "allow-always": "Allowed.", deny: "Denied." } as const;

const DECISIONS = new Map([
  ["once", "allow-once"],
  ["allow-once", "allow-once"],
  ["always", "allow-always"],
  ["allow-always", "allow-always"],
  ["deny", "deny"],
  ["no", "deny"],
] as const);

/** Why an answer is not taken. */
const tooLate = (id: string, end: QuestionEnd | undefined): string =>
  end === undefined ? `No question has the id "${id}".` : `The command "${id}" waits no more: ${endText(end)}.`;

/**
 * The sender's rights over a question. People whom `execApprovals` names decide about commands, and about nothing else;
 * owners whom such a list leaves out do not decide about commands.
 */
function rightsOver(id: string, { message, ports, approvals }: CommandContext) {
  const settings = ports.settings();
  const isOwner = settings.isOwner(message);
  const asked = approvals.list().find((one) => one.id === id.toLowerCase());
  if (asked?.askedBy !== undefined) return isOwner ? { isOwner } : { isOwner, refused: NOT_OWNER };
  const isLeftOut = message.options?.operator !== true && settings.mayApprove?.(message) === false;
  return isLeftOut ? { isOwner, refused: NO_APPROVER } : { isOwner };
}

const NO_APPROVER =
  "You may not answer questions about commands here. (`execApprovals.approvers` of the channel names who may.)";

/** Answers a question, for owners and for people whom the channel names for such questions. */
export async function approve(context: CommandContext): Promise<CommandAnswer> {
  const [id = "", word = "once"] = context.args.split(/\s+/);
  const decision = [...DECISIONS].find(([name]) => name === word.toLowerCase())?.[1];
  const { message, ports } = context;
  if (!decision)
    return { text: inCommandForm("Use /approve <id> once, always or deny.", commandFormOf(ports, message.from)) };
  const by = principalOf([{ message }], ports);
  const { isOwner, refused } = rightsOver(id, context);
  if (refused !== undefined) return { text: refused };
  const given = decision === "allow-always" && !isOwner ? ("allow-once" as const) : decision;
  const taken = context.approvals.resolve(id, given, by.id);
  if (taken === undefined && context.approvals.offered(id) !== undefined)
    return { text: `The question "${id}" cannot be allowed once: answer always or deny.` };
  if (taken === undefined) return { text: tooLate(id, await context.approvals.endOf(id)) };
  return { text: takenText(decision, given, taken) };
}

/** `given` is the answer as the sender's rights limit it, `taken` the answer as the question limits it too. */
function takenText(decision: PersonsAnswer, given: PersonsAnswer, taken: PersonsAnswer): string {
  if (given !== decision) return "Allowed once: only an owner allows for good.";
  return decision === taken ? ANSWERED[taken] : "Allowed once: this command cannot be allowed for good.";
}
