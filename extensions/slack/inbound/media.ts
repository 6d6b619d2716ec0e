import { mediaTooLarge, mediaUnavailable, NotNow } from "openclaw/plugin-sdk";
import type { ChannelHost, FetchedFile, MediaItem, MediaKind } from "openclaw/plugin-sdk";
import type { Slack } from "../transport/api.ts";
import type { SlackConfig } from "../config.ts";
import type { SlackFile } from "../events.ts";
import { outcomeOf, reasonOf } from "../transport/failures.ts";

/** File modes without bytes, and the line that describes such a file. A deleted file has no line. */
const WITHOUT_BYTES = new Map([
  ["tombstone", ""],
  ["hidden_by_limit", "File, hidden by the limits of the workspace's plan"],
  ["external", "File kept elsewhere"],
]);

/** The files of a message, still on the platform. They are named by id, because their addresses may change. */
export function mediaOf(files: readonly SlackFile[]): readonly MediaItem[] {
  return files.filter((file) => !WITHOUT_BYTES.has(file.mode ?? "")).map(toMediaItem);
}

function toMediaItem(file: SlackFile): MediaItem {
  const { mimetype: mime, name, size, duration_ms: duration } = file;
  return {
    kind: kindOf(file),
    ...(mime != null && mime !== "" && { mime }),
    ...(name != null && { name }),
    ...(size != null && { bytes: size }),
    ...(duration != null && { durationSeconds: Math.round(duration / 1000) }),
    source: { at: "platform", ref: file.id },
  };
}

function kindOf({ mimetype, subtype }: SlackFile): MediaKind {
  if (subtype === "slack_audio") return "voice";
  const [family] = (mimetype ?? "").split("/");
  if (family === "image" || family === "audio" || family === "video") return family;
  return "document";
}

/** The lines that describe files that cannot be fetched. */
export const fileLines = (files: readonly SlackFile[]): readonly string[] =>
  files.flatMap((file) => {
    const words = WITHOUT_BYTES.get(file.mode ?? "");
    if (words === undefined || words === "") return [];
    const address = file.mode === "external" ? file.url_private : undefined;
    const about = [file.title ?? file.name, address].filter(Boolean).join(" ");
    return about === "" ? words : `${words}: ${about}`;
  });

export interface Downloader {
  readonly slack: Slack;
  readonly config: SlackConfig;
  readonly host: ChannelHost;
}

/** Fetches a file from Slack. Throws as `ChannelLink.download`. The token goes only to Slack and to the configured API. */
export async function download({ slack, config, host }: Downloader, media: MediaItem): Promise<FetchedFile> {
  if (media.source.at !== "platform") throw unavailable("it is not on Slack");
  const maxBytes = config.mediaMaxMb * 1_048_576;
  const { url, size = 0, mimetype } = await locateFile(slack, media.source.ref);
  if (size > maxBytes) throw mediaTooLarge("Slack", "slack", config.mediaMaxMb);
  const api = new URL(config.apiUrl).origin;
  if (!isSlackUrl(url, api)) throw unavailable("it is kept outside of Slack");
  const headers = { authorization: `Bearer ${slack.token}` };
  const fetched = await host.fetch(url, { headers, maxBytes, trusted: api === SLACK_ORIGIN ? [] : [api] });
  // Slack answers with its sign-in page when the app lacks the scope files:read.
  if (fetched.mime === "text/html" && mimetype !== "text/html") throw unavailable("the bot lacks files:read");
  return fetched;
}

async function locateFile({ calls }: Slack, id: string): Promise<{ url: string; size?: number; mimetype?: string }> {
  const { file = {} } = await calls.files.info({ file: id }).catch((error: unknown) => {
    const outcome = outcomeOf(error);
    if (outcome.kind === "refused") throw unavailable(outcome.reason);
    throw new NotNow(reasonOf(error), { afterMs: outcome.kind === "retry" ? outcome.afterMs : undefined });
  });
  const url = file.url_private_download ?? file.url_private;
  if (url === undefined) throw unavailable("Slack gives no address for it");
  return { ...file, url };
}

const SLACK_ORIGIN = "https://slack.com";

/** Whether an address belongs to Slack or to the configured API. */
export function isSlackUrl(address: string, api: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  const isSlack = url.hostname === "slack.com" || url.hostname.endsWith(".slack.com");
  return url.origin === api || (url.protocol === "https:" && isSlack);
}

const unavailable = (reason: string) =>
  mediaUnavailable(
    "Slack",
    reason,
    "Give the Slack app the scope files:read, or ask the sender to send the file again.",
  );
