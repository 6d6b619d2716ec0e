import type { ChatFacts, Poll, ReadQuery, SeenMessage } from "../../types/chat/actions.ts";
import type { ChatActions, Looked, SendResult } from "../../types/chat/channel.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { ToolResult } from "../../types/run/tool.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { wrapUntrusted } from "../../utils/text/untrusted.ts";
import { errorResult } from "../define.ts";
import { failureResult, changeResult, isHome, mayReach, refusalFor, type MessageToolOptions } from "./change.ts";
import type { MessageAction, Input } from "./fields.ts";
import { ACTIONS, givenText } from "./fields.ts";
import { targetName } from "./message-result.ts";

/** Action that a method of the chat's link carries out. */
interface ChatAction {
  readonly method: keyof ChatActions;
  /** True for an action that changes nothing, and whose answer has texts of other people. */
  readonly isQuestion: boolean;
  run(input: Input, to: Peer, options: MessageToolOptions): Promise<ToolResult>;
}

type ChatActionName = Exclude<MessageAction, "send" | "react" | "edit" | "delete">;

type Failed = Exclude<SendResult, { readonly kind: "sent" }>;

/** Number of messages of a `read` without a limit. */
const READ_LIMIT = 20;
/** Most characters of an answer, so that its closing marker is inside the default limit of a tool's result. */
const MOST_CHARS = 15_000;

const MISSING: Failed = { kind: "refused", reason: "the platform has no such thing" };

/** Actions of platforms besides sending and changing messages. */
export const CHAT_ACTIONS: Readonly<Record<ChatActionName, ChatAction>> = {
  poll: change("poll", "everybody", async (input, to, { poll }) => {
    const asked = pollOf(input);
    if (typeof asked === "string") return errorResult(asked);
    const result = (await poll?.(to, asked)) ?? MISSING;
    return changeResult(
      result,
      `Sent the poll to ${targetName(to)}${result.kind === "sent" ? `, message id ${result.messageId}` : ""}.`,
    );
  }),
  pin: change("pin", "owners", (input, to, actions) => pin(input, to, actions, true)),
  unpin: change("pin", "owners", (input, to, actions) => pin(input, to, actions, false)),
  "thread-create": change("createThread", "everybody", async ({ name, messageId }, to, { createThread }) => {
    const called = givenText(name);
    if (called === undefined) return errorResult("Give the name of the thread.");
    const result = (await createThread?.(to, { name: called, messageId: givenText(messageId) })) ?? MISSING;
    const thread = result.kind === "sent" ? result.messageId : "";
    return changeResult(result, `Made the thread "${called}". Write into it with threadId ${thread}.`, {
      threadId: thread,
    });
  }),
  "thread-rename": change("renameThread", "owners", async ({ name }, to, { renameThread }) => {
    const called = givenText(name);
    if (called === undefined || to.thread === undefined) return errorResult("Give threadId and the new name.");
    return changeResult((await renameThread?.(to, called)) ?? MISSING, `Renamed the thread to "${called}".`);
  }),
  sticker: change("sticker", "everybody", async ({ stickerId }, to, { sticker }) => {
    const wanted = givenText(stickerId);
    if (wanted === undefined) return errorResult("Give stickerId.");
    return changeResult((await sticker?.(to, wanted)) ?? MISSING, `Sent the sticker to ${targetName(to)}.`);
  }),
  read: question("read", async (input, to, { read }) => told(await read?.(to, queryOf(input)), messageLines)),
  search: question("search", async ({ query, userId, limit = READ_LIMIT }, to, { search }) => {
    const text = givenText(query);
    if (text === undefined) return "Say what to search for: give query.";
    return told(await search?.(to, { text, limit, userId: givenText(userId) }), messageLines);
  }),
  "list-pins": question("pins", async (_input, to, { pins }) => told(await pins?.(to), messageLines)),
  reactions: question("reactions", async ({ messageId }, to, { reactions }) => {
    const wanted = givenText(messageId);
    if (wanted === undefined) return "Say which message: give messageId.";
    return told(await reactions?.(to, wanted), (found) => found.map(({ emoji, count }) => `${emoji} ${count}`));
  }),
  "thread-list": question("threads", async (_input, to, { threads }) =>
    told(await threads?.(to), (found) => found.map(({ id, name }) => `${id} ${name}`)),
  ),
  "member-info": question("member", async ({ userId }, to, { member }) => {
    const wanted = givenText(userId);
    return wanted === undefined ? "Say who: give userId." : told(await member?.(to, wanted), factLines);
  }),
  "channel-info": question("chat", async (_input, to, { chat }) => told(await chat?.(to), factLines)),
  "emoji-list": question("emojis", async (_input, to, { emojis }) => told(await emojis?.(to), (names) => names)),
};

export const isChatAction = (action: MessageAction): action is ChatActionName => Object.hasOwn(CHAT_ACTIONS, action);

/** Actions that the platform and the config offer in a chat. */
export function actionsIn(to: Peer, { acts, settings }: MessageToolOptions): readonly MessageAction[] {
  const extra = acts.actions(to);
  return ACTIONS.filter((action) => settings.actions.includes(action)).filter((action) =>
    isChatAction(action) ? extra[CHAT_ACTIONS[action].method] !== undefined : acts.can(to, action),
  );
}

/** The answer to a call of an action that a chat does not have. */
export function missingAction(action: MessageAction, to: Peer, options: MessageToolOptions): ToolResult {
  const there = actionsIn(to, options).join(", ") || "none";
  return errorResult(`The config or the platform has no action ${action} for ${targetName(to)}. There are: ${there}.`);
}

/** An action that changes something in a chat. `of`: the people in whose turns it is allowed. */
function change(
  method: keyof ChatActions,
  of: "everybody" | "owners",
  act: (input: Input, to: Peer, actions: ChatActions) => Promise<ToolResult>,
): ChatAction {
  return {
    method,
    isQuestion: false,
    async run(input, to, options) {
      const { scene, acts } = options;
      if (!mayReach(to, options)) return errorResult(refusalFor(to, scene.peer));
      if (of === "owners" && !scene.isOwner) return errorResult(`Only an owner's turn may ${input.action} here.`);
      if (acts.actions(to)[method] === undefined) return missingAction(input.action, to, options);
      return act(input, to, acts.actions(to));
    },
  };
}

/** The lines of an answer, a text about a call that cannot be made, or the failure of the platform. */
type Told = readonly string[] | string | Failed;

/** An action that asks the platform. Chats other than the run's own are read for owners only. */
function question(
  method: keyof ChatActions,
  ask: (input: Input, to: Peer, actions: ChatActions) => Promise<Told>,
): ChatAction {
  return {
    method,
    isQuestion: true,
    async run(input, to, options) {
      const { scene, acts } = options;
      if (!isHome(to, scene.peer) && !scene.isOwner)
        return errorResult(`Only an owner's turn may look into another chat (${targetName(to)}).`);
      if (acts.actions(to)[method] === undefined) return missingAction(input.action, to, options);
      const found = await ask(input, to, acts.actions(to));
      if (typeof found === "string") return errorResult(found);
      return "kind" in found ? failureResult(found) : untrustedResult(found, to);
    },
  };
}

/** The platform's answer as untrusted content, because people of the platform wrote it. */
function untrustedResult(lines: readonly string[], to: Peer): ToolResult {
  const text = lines.length === 0 ? "[nothing was found]" : shorten(lines.join("\n"), MOST_CHARS);
  return {
    content: [{ type: "text", text: wrapUntrusted(text, { label: "Channel", from: targetName(to) }) }],
    details: { externalContent: { untrusted: true, source: "channel_metadata", provider: to.channel, wrapped: true } },
  };
}

function told<T>(looked: Looked<T> | undefined, lines: (value: T) => readonly string[]): Told {
  if (!looked) return MISSING;
  return looked.kind === "found" ? lines(looked.value) : looked;
}

const messageLines = (messages: readonly SeenMessage[]): readonly string[] =>
  messages.map(({ id, sender, at, text, files = [] }) => {
    const time = at === undefined ? "" : ` ${new Date(at).toISOString()}`;
    return [`[${id}${time}] ${sender}: ${text}`, ...files.map((name) => `  file: ${name}`)].join("\n");
  });

const factLines = (facts: ChatFacts): readonly string[] =>
  Object.entries(facts).map(([name, value]) => `${name}: ${String(value)}`);

const queryOf = ({ limit = READ_LIMIT, before, after, around }: Input): ReadQuery => ({
  limit,
  before: givenText(before),
  after: givenText(after),
  around: givenText(around),
});

/** The poll of a call; a text for the model when the call has no valid one. */
function pollOf({
  pollQuestion,
  pollOption = [],
  pollMulti = false,
  pollDurationHours: hours,
  message,
}: Input): Poll | string {
  const asked = givenText(pollQuestion) ?? givenText(message);
  const options = pollOption.map((option) => option.trim()).filter((option) => option !== "");
  if (asked === undefined) return "Give the question as pollQuestion.";
  if (options.length < 2 || new Set(options).size < options.length)
    return "Give two or more different answers as pollOption.";
  return { question: asked, options, isMulti: pollMulti, hours };
}

async function pin({ messageId }: Input, to: Peer, actions: ChatActions, isPinned: boolean): Promise<ToolResult> {
  const wanted = givenText(messageId);
  if (wanted === undefined) return errorResult("Say which message: give messageId.");
  const result = (await actions.pin?.(to, wanted, isPinned)) ?? MISSING;
  return changeResult(result, `${isPinned ? "Pinned" : "Unpinned"} message ${wanted}.`);
}
