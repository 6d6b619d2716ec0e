import type { AssistantMessage } from "../../types/run/model.ts";
import { emptyUsage } from "../../types/run/usage.ts";
import { isFields } from "../../utils/fields.ts";
import type { RunDeps, RunRequest } from "../request.ts";
import { boundHooks } from "./hooks.ts";
import type { Progress } from "./resume.ts";

/** The answer that a plugin gives instead of the models. Asked while nothing was answered yet, so also again after a restart. */
export async function claimedAnswer(
  progress: Progress,
  request: RunRequest,
  deps: Pick<RunDeps, "clock" | "hooks">,
): Promise<AssistantMessage | undefined> {
  const hooks = boundHooks(request, deps);
  if (hooks?.runner.has("before_agent_reply") !== true || isBegun(progress)) return undefined;
  const event = { cleanedBody: request.turn.text };
  return hooks.runner.first({ name: "before_agent_reply", event, context: hooks.context }, (answer, owner) => {
    if (!isFields(answer) || answer["handled"] !== true) return undefined;
    return answerBy(owner, textIn(answer["reply"]), deps.clock.now());
  });
}

const isBegun = (progress: Progress): boolean =>
  progress.kind !== "fresh" && (progress.said.length > 0 || (progress.kind === "underway" && progress.carried !== ""));

/** `{text, mediaUrl, mediaUrls}`; a file becomes the directive by which models send files. */
function textIn(reply: unknown): string {
  if (!isFields(reply)) return "";
  const { text, mediaUrl, mediaUrls } = reply;
  const files = [mediaUrl, ...(Array.isArray(mediaUrls) ? mediaUrls : [])].filter((file) => typeof file === "string");
  return [typeof text === "string" ? text : "", ...files.map((file) => `[[media: ${file}]]`)]
    .filter((line) => line !== "")
    .join("\n");
}

const answerBy = (owner: string, text: string, timestamp: number): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "openclaw",
  provider: "openclaw",
  model: `plugin:${owner}`,
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp,
});
