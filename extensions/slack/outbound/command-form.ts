import type { CommandForm, Peer } from "openclaw/plugin-sdk";
import type { SlackConfig } from "../config.ts";

/**
 * Slack's apps take a message that begins with a slash for a slash command and do not send it; the app's own slash command
 * does not work in threads (docs.slack.dev/interactivity/implementing-slash-commands).
 */
export function commandForm({ slashCommand }: SlackConfig, to: Peer, self: string | undefined): CommandForm {
  if (slashCommand.enabled && to.thread === undefined) return { prefix: `/${slashCommand.name} ` };
  if (to.chat.kind === "group") return { prefix: `@${self ?? "me"} /` };
  return { prefix: "/", note: "Slack keeps a message that begins with a slash to itself: begin it with a blank." };
}
