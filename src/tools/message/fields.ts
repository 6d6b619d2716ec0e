import { z } from "zod";
import { isFields } from "../../utils/fields.ts";
import { toolSchema } from "../schema.ts";
import { buttonList, presentationField, shownPresentation } from "./presentation.ts";

/** Actions of the tool, in the field's names. */
export const ACTIONS = [
  "send",
  "react",
  "edit",
  "delete",
  "poll",
  "read",
  "search",
  "reactions",
  "pin",
  "unpin",
  "list-pins",
  "thread-create",
  "thread-rename",
  "thread-list",
  "member-info",
  "channel-info",
  "emoji-list",
  "sticker",
] as const;
export type MessageAction = (typeof ACTIONS)[number];

/** Names of the same actions on some platforms and in older prompts. */
const ALIASES: Readonly<Record<string, MessageAction>> = {
  reply: "send",
  "thread-reply": "send",
  sendAttachment: "send",
  unsend: "delete",
  "topic-create": "thread-create",
  "topic-edit": "thread-rename",
};

const id = z.union([z.string(), z.number()]);
const file = z.string().optional();
const about = (text: string) => id.optional().describe(text);

/** Most characters of a file in Base64. */
const MOST_CONTENT = 20_000_000;

/** A file, by any of the names that it has in the field. */
const attachment = z.lazy(() =>
  z.object({
    media: file,
    path: file,
    filePath: file,
    url: file,
    buffer: z.string().max(MOST_CONTENT).optional(),
    filename: z.string().max(200).optional(),
    name: z.string().max(200).optional(),
  }),
);

const IN_PARTS = "A message in parts; each platform shows them as it can";

/** Arguments of the tool. Models omit unused ones, or send them empty. */
const fields = z.lazy(() =>
  z.object({
    to: about("Chat, such as telegram:123, user:U1 or channel:C1; the chat of this conversation when left out"),
    target: about("Another name of to"),
    channel: z.string().optional().describe("Platform, when it is another one and to does not name it"),
    accountId: z.string().optional().describe("Account of ours on that platform"),
    threadId: about("Thread or topic of the chat"),
    message: z.string().optional().describe("Text in Markdown: what to send, or the new text of an edit"),
    media: z
      .union([z.string(), z.array(z.string()).max(10)])
      .optional()
      .describe("File of the workspace, or web address"),
    path: file.describe("Another name of media"),
    filePath: file.describe("Another name of media"),
    filename: z.string().max(200).optional(),
    asVoice: z.boolean().optional().describe("Sends audio as a voice note"),
    forceDocument: z.boolean().optional().describe("Sends pictures unchanged"),
    silent: z.boolean().optional().describe("Without a sound"),
    replyTo: about("Id of the message that is answered"),
    messageId: about("The message meant; a reaction goes to the current one by itself"),
    emoji: z.string().optional().describe("Reaction"),
    remove: z.boolean().optional().describe("Takes the reaction away"),
    buttons: buttonList.describe("Buttons below the message"),
    presentation: presentationField.describe(IN_PARTS),
    pollQuestion: z.string().optional(),
    pollOption: z.array(z.string()).max(12).optional().describe("2 to 12 answers"),
    pollMulti: z.boolean().optional().describe("Several answers may be chosen"),
    pollDurationHours: z.number().positive().optional(),
    limit: z.int().min(1).max(100).optional().describe("How many messages; 20 when left out"),
    before: about("Reads messages before this id"),
    after: about("Reads messages after this id"),
    around: about("Reads messages around this id"),
    query: z.string().max(500).optional().describe("Words to search for"),
    name: z.string().optional().describe("Name of the thread"),
    userId: about("Whom the question is about"),
    stickerId: about("Id of the sticker"),
    // Fields of older prompts, which the model's schema does not show.
    dryRun: z.boolean().optional(),
    buffer: z.string().max(MOST_CONTENT).optional(),
    mimeType: z.string().max(100).optional(),
    attachments: z.array(attachment).max(10).optional(),
  }),
);
type Field = keyof z.output<typeof fields>;

const PLACE: readonly Field[] = ["to", "target", "channel", "accountId", "threadId"];

/** Fields of each action, besides those that name a chat. */
const USES: Readonly<Record<MessageAction, readonly Field[]>> = {
  send: [
    "message",
    "media",
    "path",
    "filePath",
    "filename",
    "asVoice",
    "forceDocument",
    "silent",
    "replyTo",
    "buttons",
    "presentation",
  ],
  react: ["messageId", "emoji", "remove"],
  edit: ["messageId", "message"],
  delete: ["messageId"],
  poll: ["pollQuestion", "pollOption", "pollMulti", "pollDurationHours"],
  read: ["limit", "before", "after", "around"],
  search: ["query", "userId", "limit"],
  reactions: ["messageId"],
  pin: ["messageId"],
  unpin: ["messageId"],
  "list-pins": [],
  "thread-create": ["name", "messageId"],
  "thread-rename": ["name"],
  "thread-list": [],
  "member-info": ["userId"],
  "channel-info": [],
  "emoji-list": [],
  sticker: ["stickerId"],
};

const makeInput = (actions: readonly MessageAction[]) =>
  z.object({ action: z.enum(actions).default("send").describe("What to do"), ...fields.unwrap().shape });
export type Input = z.output<ReturnType<typeof makeInput>>;

const inputs = new Map<string, ReturnType<typeof schemasFor>>();

/**
 * The input of the tool, and its schema for the model: the fields of the offered actions. The schema of a chat without
 * buttons has no buttons; a model that sends buttons all the same learns why they are refused. Returns the same objects
 * each time, so that a JSON Schema is made once.
 */
export function inputFor(actions: readonly MessageAction[], hasButtons: boolean) {
  const name = [hasButtons, ...actions].join();
  const made = inputs.get(name) ?? schemasFor(actions, hasButtons);
  inputs.set(name, made);
  return made;
}

function schemasFor(actions: readonly MessageAction[], hasButtons: boolean) {
  const input = makeInput(actions);
  const used = new Set<string>(["action", ...PLACE, ...actions.flatMap((action) => USES[action])]);
  if (!hasButtons) used.delete("buttons");
  const shape = { ...input.shape, presentation: shownPresentation.describe(IN_PARTS) };
  const shown = z.object(Object.fromEntries(Object.entries(shape).filter(([name]) => used.has(name))));
  return { input, jsonSchema: toolSchema({ input: shown }), prepare: (args: unknown) => prepared(args, actions) };
}

/** Argument names that models use for the text; the first one with a text counts. */
const TEXTS = ["message", "caption", "text", "content", "body"];

/**
 * The arguments with the action and the text under the schema's names. Throws an error with a text for the model when
 * no call can do what they ask for.
 */
function prepared(args: unknown, actions: readonly MessageAction[]): unknown {
  if (!isFields(args)) return args;
  const { action: named, targets, ...rest } = args;
  const message = TEXTS.map((name) => args[name]).find((text) => text !== undefined && text !== "");
  const action = typeof named === "string" && Object.hasOwn(ALIASES, named) ? ALIASES[named] : named;
  if (typeof action === "string" && !actions.some((one) => one === action))
    throw new Error(`There is no action "${action.slice(0, 40)}" here. There are: ${actions.join(", ")}.`);
  const [target, ...more] = Array.isArray(targets) ? targets : [targets];
  if (more.length > 0) throw new Error("A call writes to one chat: call the tool once for each of targets.");
  return {
    ...(target !== undefined && { target }),
    ...rest,
    ...(named !== undefined && { action }),
    ...(message !== undefined && { message }),
  };
}

/** A value that a model gave; undefined for an empty one. */
export function givenText(value: string | number | undefined): string | undefined {
  const text = value === undefined ? "" : String(value).trim();
  return text === "" ? undefined : text;
}
