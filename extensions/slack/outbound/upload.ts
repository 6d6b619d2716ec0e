import type { MediaItem, OutboundFiles, Peer, SendOptions, SendResult } from "openclaw/plugin-sdk";
import { answeredOutcome, fileNameOf, wait } from "openclaw/plugin-sdk";
import { outcomeOf } from "../transport/failures.ts";
import type { AccountContext } from "./account-context.ts";
import { threadFor, slackText } from "./send.ts";

/** Milliseconds before each request for the message of a file: Slack shows the file a moment after it accepts it. */
const SHARE_DELAYS_MS = [0, 150, 400, 1000];
/** Slack may still show a file within this time after it accepted it. */
const SHARE_WITHIN_MS = 60_000;

/** Sends files in Slack's three steps. One last step covers all files, and people see nothing before it. Never rejects. */
export async function sendFiles(
  account: AccountContext,
  to: Peer,
  part: OutboundFiles,
  options: SendOptions,
): Promise<SendResult> {
  const uploaded = await uploadAll(account, [part.media, ...(part.more ?? [])]);
  if ("kind" in uploaded) return uploaded;
  const [first, ...others] = uploaded;
  const thread = threadFor(to, options.replyTo);
  try {
    const channel = await account.channelIds.of(to);
    await account.uploads.add({ key: options.idempotencyKey, file: first.id, at: Date.now() });
    await account.slack.calls.files.completeUploadExternal({
      files: [first, ...others],
      channel_id: channel,
      ...(part.caption && { initial_comment: slackText(part.caption) }),
      ...(thread !== undefined && { thread_ts: thread }),
    });
    if (thread !== undefined) account.threads()?.join(channel, thread);
    return { kind: "sent", messageId: (await tryFindMessage(account, channel, first.id)) ?? first.id };
  } catch (error) {
    return outcomeOf(error);
  }
}

interface Uploaded {
  readonly id: string;
  readonly title: string;
}

async function uploadAll(
  account: AccountContext,
  [media, ...more]: readonly [MediaItem, ...MediaItem[]],
): Promise<readonly [Uploaded, ...Uploaded[]] | SendResult> {
  const first = await uploadOne(account, media);
  if ("kind" in first) return first;
  const others: Uploaded[] = [];
  for (const item of more) {
    const other = await uploadOne(account, item);
    if ("kind" in other) return other;
    others.push(other);
  }
  return [first, ...others];
}

async function uploadOne(account: AccountContext, item: MediaItem): Promise<Uploaded | SendResult> {
  const bytes = await readBytes(account, item);
  if (!("length" in bytes)) return bytes;
  const id = await upload(account, bytes, item);
  return typeof id === "string" ? { id, title: fileNameOf(item) } : id;
}

async function readBytes({ host }: AccountContext, media: MediaItem): Promise<Uint8Array | SendResult> {
  try {
    return await host.openMedia(media);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "refused", reason: `${media.name ?? "the file"} cannot be read: ${reason}` };
  }
}

/** Uploads the bytes and returns the id of the file. Any failure may be retried, because people have seen nothing yet. */
async function upload(account: AccountContext, bytes: Uint8Array, media: MediaItem): Promise<string | SendResult> {
  const { calls } = account.slack;
  try {
    const place = await calls.files.getUploadURLExternal({ filename: fileNameOf(media), length: bytes.length });
    if (place.upload_url === undefined || place.file_id === undefined) throw new Error("Slack names no upload address");
    const answer = await fetch(place.upload_url, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: new Uint8Array(bytes),
      redirect: "error",
      signal: AbortSignal.timeout(account.config.timeoutSeconds * 1000),
    });
    await answer.arrayBuffer();
    if (answer.ok) return place.file_id;
    const { status, headers } = answer;
    const retryAfter = headers.get("retry-after");
    return asRetry(answeredOutcome({ status, reason: `Slack answers ${status} to the upload`, retryAfter }));
  } catch (error) {
    return asRetry(outcomeOf(error));
  }
}

const asRetry = (result: SendResult): SendResult =>
  result.kind === "unknown" ? { kind: "retry", reason: result.reason } : result;

/** The message that shows a file; undefined when Slack shows none. Throws the errors of the Web API client. */
async function findMessage(account: AccountContext, channel: string, file: string): Promise<string | undefined> {
  for (const ms of SHARE_DELAYS_MS) {
    await wait(ms, account.host.signal);
    const ts = await messageOf(account, channel, file);
    if (ts !== undefined) return ts;
  }
  return undefined;
}

async function messageOf({ slack }: AccountContext, channel: string, file: string): Promise<string | undefined> {
  const { shares } = (await slack.calls.files.info({ file })).file ?? {};
  return shares?.public?.[channel]?.[0]?.ts ?? shares?.private?.[channel]?.[0]?.ts;
}

async function tryFindMessage(account: AccountContext, channel: string, file: string): Promise<string | undefined> {
  try {
    return await findMessage(account, channel, file);
  } catch (error) {
    // The file is sent. Only its message cannot be changed later.
    account.host.log.info("the message of a file was not found", { reason: outcomeOf(error) });
    return undefined;
  }
}

/**
 * Result of sending a file that was noted before Slack was asked to show it. Throws the errors of the Web API client.
 */
export async function findFile(account: AccountContext, to: Peer, key: string): Promise<SendResult> {
  const record = (await account.uploads.all()).findLast((upload) => upload.key === key);
  if (!record) return { kind: "retry", reason: "Slack was not asked to show the file" };
  const ts = await findMessage(account, await account.channelIds.of(to), record.file);
  if (ts !== undefined) return { kind: "sent", messageId: ts };
  const kind = Date.now() - record.at < SHARE_WITHIN_MS ? "unknown" : "retry";
  return { kind, reason: "Slack does not show the file" };
}
