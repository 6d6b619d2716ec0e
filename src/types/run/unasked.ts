import { z } from "zod";
import { type Answer, openText } from "../method.ts";

/** Why nobody can be asked about a call: sentences for the model, the log and people, with what would change it. */
export const UNASKED_TEXTS = {
  unshown: "the question does not fit into one message of this chat",
  unattended:
    "nobody attends a turn of this kind. The operator can let a program run without a question: openclaw approvals allowlist add <program>",
  no_owner:
    "no owner is named who could answer in this channel (commands.ownerAllowFrom), and no connected client has the scope operator.approvals",
  no_viewer:
    "no owner reads this chat (commands.ownerAllowFrom names owners), and no connected client has the scope operator.approvals",
  no_target:
    "the config shows the question only in targets (approvals.exec, approvals.plugin, execApprovals of the channel), none of them can be reached, and no connected client has the scope operator.approvals. `openclaw doctor` names the reason",
  no_client:
    "no connected client has the scope operator.approvals. The operator can open the chat page: openclaw dashboard",
} as const;

/** A question that nobody was asked, because nobody could have answered it. */
export type Unasked = keyof typeof UNASKED_TEXTS;

export const isUnasked = (answer: string): answer is Unasked => Object.hasOwn(UNASKED_TEXTS, answer);

/** How many calls of a run were not asked about, for one reason. */
export const unaskedCount = z.looseObject({ cause: openText<Unasked>(), calls: z.number() });
type UnaskedCount = Answer<z.output<typeof unaskedCount>>;

/** `cause`: of another version too. */
export const unaskedText = ({ cause, calls }: UnaskedCount): string =>
  `${calls} call${calls === 1 ? "" : "s"} not asked about: ${isUnasked(cause) ? UNASKED_TEXTS[cause] : cause}`;
