import { endText, type QuestionEnd } from "../../../types/chat/question-end.ts";
import { commandFormOf, inCommandForm } from "../../command-form.ts";
import { principalOf } from "../../turn/principal.ts";
import type { CommandAnswer, CommandContext } from "../command.ts";

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

/** Answers a question to owners. */
export async function approve(context: CommandContext): Promise<CommandAnswer> {
  const [id = "", word = "once"] = context.args.split(/\s+/);
  const decision = [...DECISIONS].find(([name]) => name === word.toLowerCase())?.[1];
  const { message, ports } = context;
  if (!decision)
    return { text: inCommandForm("Use /approve <id> once, always or deny.", commandFormOf(ports, message.from)) };
  const by = principalOf([{ message }], ports);
  const taken = context.approvals.resolve(id, decision, by.id);
  if (taken === undefined && context.approvals.offered(id) !== undefined)
    return { text: `The question "${id}" cannot be allowed once: answer always or deny.` };
  if (taken === undefined) return { text: tooLate(id, await context.approvals.endOf(id)) };
  return { text: decision === taken ? ANSWERED[taken] : "Allowed once: this command cannot be allowed for good." };
}
