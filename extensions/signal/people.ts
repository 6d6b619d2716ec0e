/** Somebody on Signal: an id, a phone number where it is shown, or both. */
export interface Person {
  readonly uuid?: string | undefined;
  readonly number?: string | undefined;
}

/** A person from signal-cli's fields. Older versions only have `either`, an id or a number. */
export function personOf(uuid?: string | null, number?: string | null, either?: string | null): Person {
  const rest = either ?? undefined;
  const isNumber = rest?.startsWith("+") === true;
  return { uuid: uuid ?? (isNumber ? undefined : rest), number: number ?? (isNumber ? rest : undefined) };
}

/** The form in which signal-cli takes a recipient or author. The id is stable; a number may be hidden or change. */
export const addressOf = ({ uuid, number }: Person): string | undefined => uuid ?? number;

/** The id in the gateway: `uuid:…`, or the number if only that is known. */
export const idOf = ({ uuid, number }: Person): string => (uuid === undefined ? (number ?? "") : `uuid:${uuid}`);

/** The recipient for a chat id. */
export const recipientOf = (chatId: string): string => chatId.replace(/^uuid:/, "");

export const isSame = (one: Person, other: Person): boolean =>
  (one.uuid !== undefined && one.uuid === other.uuid) || (one.number !== undefined && one.number === other.number);

/**
 * Signal identifies a message by its author and the author's timestamp. The id of our messages is the timestamp; the id of others is
 * the timestamp, a colon and the author.
 */
export interface MessageRef {
  readonly timestamp: number;
  /** Absent for our own messages. */
  readonly author?: string;
}

export const refText = ({ timestamp, author }: MessageRef): string =>
  author === undefined ? String(timestamp) : `${timestamp}:${author}`;

/** Undefined when the text is not the id of a message. */
export function readRef(text: string): MessageRef | undefined {
  const [, timestamp, author] = /^(\d{1,16})(?::(.+))?$/.exec(text) ?? [];
  if (timestamp === undefined) return undefined;
  return { timestamp: Number(timestamp), ...(author !== undefined && { author }) };
}
