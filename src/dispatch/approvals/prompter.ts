import type { Run } from "../../harness/run.ts";
import { retryWhileDiskFull } from "../../store/retry-while-disk-full.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Approval } from "../../types/run/tool.ts";
import type { TurnKind } from "../../types/run/turn-kind.ts";
import type { Unasked } from "../../types/run/unasked.ts";
import type { DispatchPorts } from "../ports.ts";
import { answeredText, approvalButtons, approvalText } from "./approval-text.ts";
import type { ApprovalPrompter } from "./approvals.ts";
import { whyNobody, type ReachPorts } from "./reach.ts";
import { commandFormOf } from "../chats.ts";
import { IN_CHAT } from "../settings.ts";
import type { ReplyButton } from "../../types/chat/reply.ts";
import type { OutboxRow } from "../../types/journal.ts";

/** The turn that asks. */
interface Asking {
  readonly asks: TurnKind["asks"];
  /** The chat that the question is from; unset for clients, which show it themselves. */
  readonly chat?: Peer | undefined;
}

type PrompterPorts = Pick<DispatchPorts, "chats" | "clock" | "log"> & ReachPorts;

/** Asks people whether a command may run: by the run's events, in its chat, and in the targets of the config. */
export function prompterFor(asking: Asking, run: () => Run, ports: PrompterPorts): ApprovalPrompter {
  /** The places where each open question is shown, by the question's id. */
  const shown = new Map<string, readonly Place[]>();
  // The command waits, runs or is denied whatever the disk does: only the messages about the command wait for the disk.
  const deliver = (approval: Approval, { to, isTarget }: Place, send: () => Promise<unknown>) =>
    void retryWhileDiskFull("question", send, ports).catch((error: unknown) =>
      ports.log.error("question not delivered", { approval: approval.id, channel: to.channel, isTarget, error }),
    );
  return {
    async whyUnasked(approval) {
      const found = await whereShown(approval, asking, ports);
      if (typeof found === "string") return found;
      shown.set(approval.id, found);
      return undefined;
    },
    asked(approval) {
      run().stream.emit({ type: "approval_request", approval });
      for (const place of shown.get(approval.id) ?? [])
        deliver(approval, place, () => sendQuestion(place.to, questionAt(place, approval, ports), ports));
    },
    answered(approval, decision, end) {
      const { by } = end;
      const { id, askedBy } = approval;
      run().stream.emit({
        type: "approval_end",
        id,
        decision,
        ...(askedBy && { askedBy }),
        ...(by !== undefined && { by }),
      });
      const answer = answeredText(approval, end);
      for (const place of shown.get(approval.id) ?? []) {
        const question = { ...questionAt(place, approval, ports), answer, isTarget: place.isTarget };
        deliver(approval, place, () => replaceQuestion(place.to, question, ports));
      }
      shown.delete(approval.id);
    },
  };
}

/** The chats that show the question; none where only clients do. Or the reason why the question is not asked. */
async function whereShown(
  approval: Approval,
  { asks, chat }: Asking,
  ports: PrompterPorts,
): Promise<readonly Place[] | Unasked> {
  if (asks === "nobody") return "unattended";
  const { own, targets: reached, isOnlyTargets } = placesOf(approval, chat, ports);
  const fit = await Promise.all(reached.map((place) => fitsAt(approval, place, ports)));
  const targets = reached.filter((_place, at) => fit[at]);
  const peers = targets.map(({ to }) => to);
  const nobody = whyNobody(
    { asks, chat: own?.to, principal: approval.principal, targets: peers, isOnlyTargets },
    ports,
  );
  const isShort = own === undefined || (await fitsAt(approval, own, ports));
  if (nobody) return nobody === "no_target" && reached.length > targets.length ? "unshown" : nobody;
  if (own && isShort) return [own, ...targets];
  return isShort || targets.length > 0 ? targets : "unshown";
}

const questionAt = ({ key, to }: Place, approval: Approval, ports: Pick<DispatchPorts, "chats">): ButtonQuestion => ({
  key,
  text: textAt(approval, to, ports),
  buttons: approvalButtons(approval),
});

/** One copy of a question: its reply key and its chat. */
interface Place {
  readonly key: string;
  readonly to: Peer;
  /** Whether the config names the chat, and the question is from another chat. */
  readonly isTarget: boolean;
}

/** The places where a question can be shown. */
interface Places {
  /** The chat that the question is from, unless the config says otherwise. */
  readonly own: Place | undefined;
  readonly targets: readonly Place[];
  /** Whether the config shows the question in its targets and nowhere else. */
  readonly isOnlyTargets: boolean;
}

type PlacePorts = Pick<DispatchPorts, "settings" | "chats" | "log">;

/** The chats of a question. Logs each target of the config that cannot be reached. */
function placesOf(approval: Approval, chat: Peer | undefined, ports: PlacePorts): Places {
  const route = ports.settings().approvalRoute?.(approval, chat) ?? IN_CHAT;
  const fields = { approval: approval.id };
  for (const why of route.unusable) ports.log.warn("approval target not usable", { ...fields, why });
  const own = route.isInChat && chat ? { key: keyOf(approval), to: chat, isTarget: false } : undefined;
  const seen = new Set(own && [nameOf(own.to)]);
  const targets = route.targets.flatMap((to, at): Place[] => {
    if (seen.has(nameOf(to))) return [];
    seen.add(nameOf(to));
    if (ports.chats.link(to) || ports.chats.isConnecting(to))
      return [{ key: `${keyOf(approval)}:to:${at}`, to, isTarget: true }];
    ports.log.warn("approval target not connected", { ...fields, channel: to.channel, account: to.account });
    return [];
  });
  return { own, targets, isOnlyTargets: !route.isInChat };
}

const keyOf = ({ id }: Approval): string => `approval:${id}`;

const nameOf = ({ channel, account, chat, thread }: Peer): string =>
  JSON.stringify([channel, account, chat.kind, chat.id, thread]);

/** The question as a chat's people read it. */
const textAt = (approval: Approval, to: Peer, ports: Pick<DispatchPorts, "chats">): string =>
  approvalText(approval, commandFormOf(ports, to));

/** Whether a chat shows the question in one message: a part of several might be overlooked. */
const fitsAt = (approval: Approval, { to }: Place, ports: Pick<DispatchPorts, "chats">): Promise<boolean> =>
  ports.chats.outbox.isOneMessage(textAt(approval, to, ports), to);

/** How often, and after how many milliseconds each, the end of a question checks whether its message has been sent. */
const QUESTION_CHECKS = 20;
const QUESTION_CHECK_MS = 500;

/** A question with buttons that answers no message. */
interface ButtonQuestion {
  readonly key: string;
  readonly text: string;
  readonly buttons: readonly ReplyButton[];
}

/** Sends a question. A second call with the same key sends nothing. Resolves with the question's rows. */
const sendQuestion = (
  to: Peer,
  { key, text, buttons }: ButtonQuestion,
  { chats: { outbox } }: Pick<DispatchPorts, "chats">,
): Promise<readonly OutboxRow[]> =>
  outbox.deliver({
    replyKey: key,
    to,
    blocks: [{ kind: "notice", markdown: text, because: "approval" }],
    buttons,
  });

interface AnsweredQuestion extends ButtonQuestion {
  readonly answer: string;
  /** Whether the chat is a target of the config, whose readers do not see the command's result there. */
  readonly isTarget: boolean;
}

type EndPorts = Pick<DispatchPorts, "chats" | "clock">;

/**
 * Replaces a question and its buttons with its answer. Where a platform cannot edit, the question stays, and a target
 * gets the answer as a further message. A question that is not sent in time is given up.
 */
async function replaceQuestion(
  to: Peer,
  { answer, isTarget, ...question }: AnsweredQuestion,
  ports: EndPorts,
): Promise<void> {
  if (!isTarget && !mayEdit(to, ports)) return;
  const row = await sentRow(to, question, ports);
  if (!row) return;
  const edited = mayEdit(to, ports) ? row.messageId : undefined;
  if (edited === undefined && !isTarget) return;
  await ports.chats.outbox.deliver({
    replyKey: `${question.key}:end`,
    to: row.to,
    blocks: [{ kind: "notice", markdown: answer, because: "approval" }],
    ...(edited !== undefined && { editOf: edited }),
  });
}

/**
 * Whether the platform may be able to edit. A platform that is not connected may be: the outbox keeps the change until
 * there is a connection, and sends a message if the platform cannot edit.
 */
function mayEdit(to: Peer, { chats: { link } }: Pick<EndPorts, "chats">): boolean {
  const found = link(to);
  return found === undefined || found.edit !== undefined;
}

/**
 * The row of a question's message, once the message is sent. Undefined when the message was not sent in time: then it
 * is not sent later either.
 */
async function sentRow(to: Peer, question: ButtonQuestion, ports: EndPorts): Promise<OutboxRow | undefined> {
  let waiting: OutboxRow | undefined;
  for (let check = 0; check < QUESTION_CHECKS; check += 1) {
    const [row] = await sendQuestion(to, question, ports);
    if (row === undefined || row.state === "failed") return undefined;
    if (row.state === "sent") return row;
    waiting = row;
    await new Promise<void>((resolve) => ports.clock.after(QUESTION_CHECK_MS, resolve));
  }
  if (waiting) await ports.chats.outbox.drop(waiting.id);
  return undefined;
}
