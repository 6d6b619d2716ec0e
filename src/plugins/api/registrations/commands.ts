import type { AskedContribution } from "../../../types/contribution.ts";
import { type Fields, isFields } from "../../../utils/fields.ts";
import { methodIn, nameIn, objectOf, textIn } from "../foreign.ts";
import { cutLong, isTooLong } from "../../longest-text.ts";
import { completeFor } from "../llm.ts";
import type { PluginScope } from "../scope.ts";

/**
 * `api.registerCommand({name, description, acceptsArgs, requireAuth, nativeNames, handler})`. The handler gives `{text}`.
 * With `requireAuth: false` everybody may use it whom the chat admits.
 */
export function registerCommand(scope: PluginScope, given: unknown): void {
  const command = objectOf(given, "registerCommand");
  const name = withoutSlash(nameIn(command, "name", "registerCommand"));
  const handler = methodIn(command, "handler", `the command "${name}"`);
  scope.addPart(`the command "${name}"`, () => addCommand(scope, { name, command, handler }));
}

interface Added {
  readonly name: string;
  readonly command: Fields;
  readonly handler: ReturnType<typeof methodIn>;
}

function addCommand(scope: PluginScope, { name, command, handler }: Added): void {
  if (!/^[a-z][\w-]*$/.test(name)) throw new TypeError("a command's name has letters, digits, - and _ only");
  scope.registry.addCommand({
    name,
    aliases: nativeNamesOf(command["nativeNames"]).filter((alias) => alias !== name),
    help: textIn(command, "description") ?? `a command of ${scope.id}`,
    who: command["requireAuth"] === false ? "anyone" : "conversation",
    ...(command["acceptsArgs"] === false && { choices: [] }),
    run: async (asked) => {
      const requester = { sessionKey: asked.session, isOwner: asked.isOwner };
      const call = () => handler(contextOf(scope, name, asked));
      const answer: unknown = await scope.callFor(requester, `command /${name}`, call);
      return checkedText(scope, name, answerText(answer));
    },
  });
}

/** An answer without a text sends nothing: the plugin may have sent something itself. */
function checkedText(scope: PluginScope, command: string, text: string): string {
  if (text.trim() === "") scope.log.info("a command of a plugin gave no text, so nothing is sent", { command });
  if (isTooLong(text)) scope.log.warn("the text of a plugin's command is cut", { command, chars: text.length });
  return text.trim() === "" ? "" : cutLong(text);
}

/** Plugins write the name of a command as `weather` or as `/weather`. */
const withoutSlash = (name: string): string => name.toLowerCase().replace(/^\//, "");

/** Names by platform; each is one more name of the command here. */
function nativeNamesOf(value: unknown): readonly string[] {
  if (!isFields(value)) return [];
  const names = Object.values(value).filter((name): name is string => typeof name === "string");
  return [...new Set(names.map(withoutSlash))].filter((name) => /^[a-z][\w-]*$/.test(name));
}

function contextOf(
  scope: PluginScope,
  name: string,
  { args, message, session, agentId, sessionId, isOwner }: AskedContribution,
) {
  const { from, sender } = message;
  return {
    senderId: sender.id,
    channel: from.channel,
    channelId: from.channel,
    accountId: from.account,
    from: from.chat.id,
    to: from.chat.id,
    ...(from.thread !== undefined && { messageThreadId: from.thread }),
    isAuthorizedSender: true,
    senderIsOwner: isOwner,
    args,
    commandBody: args === "" ? `/${name}` : `/${name} ${args}`,
    agentId,
    sessionKey: scope.ports.keys.wire(session),
    ...(sessionId !== undefined && { sessionId }),
    config: scope.shownConfig(),
    runtimeContext: { llm: { complete: completeFor(scope, { agentId, sessionKey: session }) } },
  };
}

function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  if (isFields(answer)) return textIn(answer, "text") ?? "";
  return "";
}
