import { backoff, NotNow, wait } from "openclaw/plugin-sdk";
import type { MediaItem } from "openclaw/plugin-sdk";
import { download } from "./download.ts";
import { longTextOf, originOf } from "./media.ts";
import { personOf } from "../people.ts";
import type { Account } from "../account.ts";
import type { DataMessage, Envelope } from "./schema.ts";

/**
 * Replaces the beginning of a long text, which is all that older versions of signal-cli pass on, by the whole text. Keeps the
 * beginning when the whole cannot be fetched. Never rejects.
 */
export async function withWholeText(
  envelope: Envelope,
  account: Pick<Account, "daemon" | "config" | "host">,
): Promise<Envelope> {
  const { dataMessage, editMessage } = envelope;
  const data = editMessage?.dataMessage ?? dataMessage;
  const message = data && (await fetchText(data, envelope, account));
  if (message === undefined || message === null) return envelope;
  if (editMessage) {
    return { ...envelope, editMessage: { ...editMessage, dataMessage: { ...editMessage.dataMessage, message } } };
  }
  return dataMessage ? { ...envelope, dataMessage: { ...dataMessage, message } } : envelope;
}

async function fetchText(
  data: DataMessage,
  envelope: Envelope,
  account: Pick<Account, "daemon" | "config" | "host">,
): Promise<string | undefined> {
  const author = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  const item = longTextOf(data, originOf(author, data));
  if (!item) return undefined;
  try {
    const text = new TextDecoder().decode(await bytesOf(item, account));
    // Newer versions have the whole text in the message itself.
    return text.length > (data.message ?? "").length ? text : undefined;
  } catch (error) {
    account.host.log.warn("a long message is cut: the rest cannot be fetched", { reason: String(error) });
    return undefined;
  }
}

/** Few attempts, because later messages wait. */
const MOST_TRIES = 4;

async function bytesOf(
  item: MediaItem,
  { daemon, config, host }: Pick<Account, "daemon" | "config" | "host">,
): Promise<Uint8Array> {
  for (let failures = 0; ; failures += 1) {
    try {
      return (await download(daemon, config, item)).bytes;
    } catch (error) {
      if (!(error instanceof NotNow) || failures + 1 === MOST_TRIES || host.signal.aborted) throw error;
      await wait(backoff(failures, { longestMs: 2000 }), host.signal);
    }
  }
}
