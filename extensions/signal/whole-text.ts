import { download } from "./download.ts";
import { longTextOf, originOf } from "./media.ts";
import { personOf } from "./people.ts";
import type { Room } from "./room.ts";
import type { DataMessage, Envelope } from "./schema.ts";

/**
 * Puts the whole of a long text in the place of its beginning, which is all that older versions of signal-cli show. Where
 * it cannot be had the beginning stays. Never rejects.
 */
export async function withWholeText(
  envelope: Envelope,
  room: Pick<Room, "daemon" | "config" | "host">,
): Promise<Envelope> {
  const { dataMessage, editMessage } = envelope;
  const data = editMessage?.dataMessage ?? dataMessage;
  const message = data && (await fetchText(data, envelope, room));
  if (message === undefined || message === null) return envelope;
  if (editMessage) {
    return { ...envelope, editMessage: { ...editMessage, dataMessage: { ...editMessage.dataMessage, message } } };
  }
  return dataMessage ? { ...envelope, dataMessage: { ...dataMessage, message } } : envelope;
}

async function fetchText(
  data: DataMessage,
  envelope: Envelope,
  { daemon, config, host }: Pick<Room, "daemon" | "config" | "host">,
): Promise<string | undefined> {
  const author = personOf(envelope.sourceUuid, envelope.sourceNumber, envelope.source);
  const item = longTextOf(data, originOf(author, data));
  if (!item) return undefined;
  try {
    const { bytes } = await download(daemon, config, item);
    const text = new TextDecoder().decode(bytes);
    // Newer versions give the whole in the message itself.
    return text.length > (data.message ?? "").length ? text : undefined;
  } catch (error) {
    host.log.warn("a long message is cut: its rest cannot be fetched", { reason: String(error) });
    return undefined;
  }
}
