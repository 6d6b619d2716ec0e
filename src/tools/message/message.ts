import { defineTool, errorResult, textResult } from "../define.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { ToolContext, Tool, ToolResult } from "../../types/run/tool.ts";
import type { Risk } from "../../types/run/untrusted.ts";
import { shorten } from "../../utils/text/shorten.ts";
import { change } from "./change.ts";
import { actionsIn, CHAT_ACTIONS, isChatAction, missingAction } from "./chat-actions.ts";
import { ACTIONS, inputFor, type Action, type Input } from "./fields.ts";
import { MESSAGE_TOOL, nameOf } from "./message-result.ts";
import { isHome, mayReach, refusalFor, targetOf, type MessageToolOptions } from "./place.ts";
import { Calls, fetchedBy, send } from "./send.ts";

/** Characters of an address in a question; the call itself is shown too. */
const MOST_ADDRESS = 200;

const IN_CHAT =
  "Send a message or file into a chat at once, or act in a chat in other ways. Your answer goes to the chat by " +
  "itself: use this for files, for other chats, and for what must go out before you are done.";
const FROM_CLIENT =
  "Send a message or file into a chat of a connected channel, or act in it in other ways. Name the chat with channel and to. Your " +
  "answer goes to your person by itself, who writes from no such chat.";

/** Acts in the chat that the run answers, and in others where that is allowed. Belongs to one run. */
export function messageTool(options: MessageToolOptions): Tool {
  const { scene, acts } = options;
  const offered = offeredIn(options);
  const calls = new Calls(scene.inboxId);
  return defineTool({
    name: MESSAGE_TOOL,
    label: "Message",
    description: scene.peer ? IN_CHAT : FROM_CLIENT,
    ...inputFor(offered.length > 0 ? offered : ["send"], !scene.peer || acts.buttons(scene.peer) !== undefined),
    hasSideEffects: true,
    async riskOf(input) {
      const to = targetOf(input, options);
      const isHarmless =
        isHome(to, scene.peer) || (isChatAction(input.action) && CHAT_ACTIONS[input.action].isQuestion);
      const writes: Risk | undefined = isHarmless
        ? undefined
        : { use: "messages", what: `writes to another chat, ${nameOf(to)}` };
      const fetched = input.action === "send" ? fetchedBy(input) : undefined;
      if (fetched === undefined) return writes;
      const fetches: Risk = { use: "network", what: `fetches ${shorten(fetched, MOST_ADDRESS)}` };
      return writes ? [writes, fetches] : fetches;
    },
    async run(input, context) {
      if (!offered.includes(input.action)) return errorResult(`The action ${input.action} is not available.`);
      return run(input, options, { calls, context });
    },
  });
}

/** What the chat's platform and the settings allow. Without a chat of its own, each call is judged by the chat that it names. */
function offeredIn(options: MessageToolOptions): readonly Action[] {
  const { scene, settings } = options;
  return scene.peer ? actionsIn(scene.peer, options) : ACTIONS.filter((action) => settings.actions.includes(action));
}

/** What a call would do. */
function dryResult({ action }: Input, to: Peer, options: MessageToolOptions): ToolResult {
  if (!mayReach(to, options)) return errorResult(refusalFor(to, options.scene.peer));
  return textResult(`Nothing was done, as dryRun asks: ${action} would go to ${nameOf(to)}.`, { dryRun: true });
}

async function run(
  input: Input,
  options: MessageToolOptions,
  more: { readonly calls: Calls; readonly context: ToolContext },
): Promise<ToolResult> {
  const { action } = input;
  const to = targetOf(input, options);
  if (input.dryRun === true) return dryResult(input, to, options);
  if (isChatAction(action)) return CHAT_ACTIONS[action].run(input, to, options);
  if (!mayReach(to, options)) return errorResult(refusalFor(to, options.scene.peer));
  if (!options.acts.can(to, action)) return missingAction(action, to, options);
  return action === "send" ? send(input, to, { ...options, ...more }) : change(input, to, options);
}
