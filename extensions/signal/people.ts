/** Somebody on Signal: an id, a phone number where it is shown, or both. */
export interface Person {
  readonly uuid?: string | undefined;
  readonly number?: string | undefined;
}

/** A person as signal-cli spreads them over fields; older versions give only the one without a kind. */
export function personOf(uuid?: string | null, number?: string | null, either?: string | null): Person {
  const rest = either ?? undefined;
  const isNumber = rest?.startsWith("+") === true;
  return { uuid: uuid ?? (isNumber ? undefined : rest), number: number ?? (isNumber ? rest : undefined) };
}

/** What signal-cli takes as a recipient or author. The id lasts; a number may be hidden or change. */
export const addressOf = ({ uuid, number }: Person): string | undefined => uuid ?? number;

/** As the gateway knows them: `uuid:…`, or the number where there is nothing else. */
export const idOf = ({ uuid, number }: Person): string => (uuid === undefined ? (number ?? "") : `uuid:${uuid}`);

/** The recipient that a chat id names. */
export const recipientOf = (chatId: string): string => chatId.replace(/^uuid:/, "");

export const isSame = (one: Person, other: Person): boolean =>
  (one.uuid !== undefined && one.uuid === other.uuid) || (one.number !== undefined && one.number === other.number);

/**
 * Signal knows a message by its author and the author's timestamp. Ours are the timestamp alone, those of others name the
 * author behind a colon.
 */
export interface MessageRef {
  readonly timestamp: number;
  /** Absent for our own. */
  readonly author?: string;
}

export const refText = ({ timestamp, author }: MessageRef): string =>
  author === undefined ? String(timestamp) : `${timestamp}:${author}`;

/** Undefined when it is no id of a message. */
export function readRef(text: string): MessageRef | undefined {
  const [, timestamp, author] = /^(\d{1,16})(?::(.+))?$/.exec(text) ?? [];
  if (timestamp === undefined) return undefined;
  return { timestamp: Number(timestamp), ...(author !== undefined && { author }) };
}
