import { stat } from "node:fs/promises";
import { unlessMissing } from "../../../utils/missing.ts";
import { codeSpan } from "../../../utils/text/code-span.ts";
import { isForClient } from "../../chats.ts";
import { type CommandAnswer, type CommandContext, shownKey } from "../kit/command.ts";
import { MOST_BYTES, mostFileBytes, fileSizeText, storeFile } from "./chat-file.ts";
import { FORMATS, formatOf, type ExportFormat } from "./export-formats.ts";

/** Characters of a label in the name of a file: in UTF-8 they may have four bytes each. */
const MOST_IN_NAME = 40;

/** Sends the whole conversation as a file. */
export async function exportConversation(context: CommandContext): Promise<CommandAnswer> {
  const { args, key, commands, isOwner } = context;
  const format = formatOf(args.trim().toLowerCase());
  if (!format) return { text: `Use one of: ${FORMATS.join(", ")}.` };
  if (format.forOwners && !isOwner) return { text: "Only an owner may export the transcript as it is kept." };
  const answer = await commands.exports.make(key, () => exportAs(format, context));
  return answer ?? { text: "An export of this conversation is being made already." };
}

async function exportAs(format: ExportFormat, context: CommandContext): Promise<CommandAnswer> {
  const { message, key, ports } = context;
  const path = ports.storage.sessions.fileOf(key);
  const size = path === undefined ? undefined : (await unlessMissing(stat(path)))?.size;
  if (path === undefined || size === undefined) return { text: "This conversation has nothing to export yet." };
  const most = mostFileBytes(context);
  if (most === 0) return { text: `This chat takes no files. ${byCommand(context)}` };
  if (size > MOST_BYTES) return { text: tooLarge(size, MOST_BYTES, context) };
  const { bytes, leftOut } = await format.bytesOf({ path, key, ports });
  if (bytes.length > most) return { text: tooLarge(bytes.length, most, context) };
  const name = fileName(context, format);
  const file = await storeFile(bytes, { name, mime: format.mime }, context);
  const where = isForClient(message)
    ? ` It is on the gateway's machine: ${codeSpan(ports.storage.media.path(file.source.id))}`
    : "";
  const without = leftOut === 0 ? "" : ` Lines that cannot be read are left out: ${leftOut}.`;
  return { text: `The conversation ${titleOf(context)}, with ${fileSizeText(bytes.length)}.${without}${where}`, file };
}

const tooLarge = (size: number, most: number, context: CommandContext): string =>
  `The conversation is too large to be sent here: ${fileSizeText(size)}, and at most ${fileSizeText(most)} are possible. ${byCommand(context)}`;

const byCommand = ({ key, ports }: CommandContext): string =>
  `On the gateway's machine, ${codeSpan(`openclaw sessions export ${shownKey(key, ports)} --format markdown --output <file>`)} writes it.`;

function titleOf({ key, ports }: CommandContext): string {
  return codeSpan(ports.storage.sessions.peek(key)?.label ?? shownKey(key, ports));
}

/** The name of the file, `conversation-<label or key>-<day>.md`, without characters that file names cannot have. */
function fileName({ key, ports }: CommandContext, { ending }: ExportFormat): string {
  const label = ports.storage.sessions.peek(key)?.label ?? shownKey(key, ports);
  const words = label.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const name = Array.from(words.join("-")).slice(0, MOST_IN_NAME).join("");
  const day = new Date(ports.clock.now()).toISOString().slice(0, 10);
  return `${["conversation", name, day].filter((part) => part !== "").join("-")}.${ending}`;
}
