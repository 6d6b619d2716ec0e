import type { CommandForm, Peer } from "openclaw/plugin-sdk";
import type { SlackConfig } from "../config.ts";

/**
 * Slack's apps treat a message that begins with a slash as a slash command and do not send it; the app's own slash command
 * does not work in threads (docs.slack.dev/interactivity/implementing-slash-commands).
 */
export function commandForm({ slashCommand }: SlackConfig, to: Peer, self: string | undefined): CommandForm {
  if (slashCommand.enabled && to.thread === undefined) return { prefix: `/${slashCommand.name} ` };
  if (to.chat.kind === "group") return { prefix: `@${self ?? "me"} /` };
  return { prefix: "/", note: "Slack does not send a message that begins with a slash: begin it with a space." };
}
