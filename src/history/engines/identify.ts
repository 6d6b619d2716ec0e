import type { ChatMessage } from "../../types/run/model.ts";
import { callsOf, textOfAnswer } from "../parts.ts";

/** The messages that an engine got, so that the messages of its answer can be recognised. */
export interface Handed {
  /** Messages in order; the present turn begins at `earlier`. */
  readonly given: readonly ChatMessage[];
  readonly earlier: number;
  /** The objects that the engine got, one for each message. */
  readonly copies?: readonly unknown[];
}

/**
 * Index of the engine's input for each message of the answer, or undefined for the engine's own message, such as a
 * summary.
 */
export type InputPlaces = readonly (number | undefined)[];

/**
 * Recognises the messages of an answer: by the object that was handed out, then by time and words, and only then by the
 * words and the order in which they were said. People say the same words more than once, so that words alone count for the
 * earliest message that they can be: an earlier message is never taken for the present turn. `raw` is the answer as the
 * engine gave it.
 */
export function placesOf(answer: readonly ChatMessage[], raw: readonly unknown[], handed: Handed): InputPlaces {
  const anchors = anchorsOf(answer, raw, handed);
  const open = new OpenPlaces(handed, new Set(anchors));
  return earliest(answer, { anchors, open, latest: latest(answer, anchors, open) });
}

function anchorsOf(
  answer: readonly ChatMessage[],
  raw: readonly unknown[],
  { given, copies = [] }: Handed,
): InputPlaces {
  const byObject = new Map(copies.map((copy, at) => [copy, at]));
  const byTime = onlyOnes(given.map(datedKeyOf));
  return answer.map((message, at) => {
    const key = datedKeyOf(message);
    const place = byObject.get(raw[at]) ?? (key === undefined ? undefined : byTime.get(key));
    return place !== undefined && given[place]?.role === message.role ? place : undefined;
  });
}

/** An engine that stores no times gives its messages none. */
const datedKeyOf = (message: ChatMessage): string | undefined =>
  message.timestamp > 0 ? `${message.timestamp} ${keyOf(message)}` : undefined;

/** The indexes of keys that occur once. */
function onlyOnes(keys: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const doubled = new Set<string>();
  for (const [at, key] of keys.entries()) {
    if (key === undefined) continue;
    if (places.has(key)) doubled.add(key);
    places.set(key, at);
  }
  for (const key of doubled) places.delete(key);
  return places;
}

/** Messages that the engine got and that no message of the answer matches. */
class OpenPlaces {
  readonly #byKey = new Map<string, number[]>();
  readonly #handed: Handed;

  constructor(handed: Handed, taken: ReadonlySet<number | undefined>) {
    this.#handed = handed;
    for (const [at, message] of handed.given.entries()) {
      if (taken.has(at)) continue;
      const key = keyOf(message);
      const there = this.#byKey.get(key);
      if (there) there.push(at);
      else this.#byKey.set(key, [at]);
    }
  }

  lastBefore(message: ChatMessage, end: number): number | undefined {
    return this.#of(message).findLast((at) => at < end && this.#canBe(message, at));
  }

  firstAfter(message: ChatMessage, begin: number): number | undefined {
    return this.#of(message).find((at) => at > begin && this.#canBe(message, at));
  }

  #of(message: ChatMessage): readonly number[] {
    return this.#byKey.get(keyOf(message)) ?? [];
  }

  /**
   * A message that the engine dates before the present turn does not belong to it. The engine's clock may count whole seconds.
   */
  #canBe({ timestamp }: ChatMessage, at: number): boolean {
    const { given, earlier } = this.#handed;
    if (at < earlier || timestamp < LEAST_MS) return true;
    return seconds(timestamp) >= seconds(given[at]?.timestamp ?? 0);
  }
}

/** Smaller numbers are no milliseconds since 1970. */
const LEAST_MS = 1e11;
const seconds = (ms: number): number => Math.floor(ms / 1000);

/** The last place of each message after which the rest of the answer still finds its own. */
function latest(answer: readonly ChatMessage[], anchors: InputPlaces, open: OpenPlaces): InputPlaces {
  let end = Number.POSITIVE_INFINITY;
  return answer
    .map((message, at) => ({ message, anchor: anchors[at] }))
    .toReversed()
    .map(({ message, anchor }) => {
      const place = anchor ?? open.lastBefore(message, end);
      end = Math.min(end, place ?? end);
      return place;
    })
    .toReversed();
}

interface Found {
  readonly anchors: InputPlaces;
  readonly open: OpenPlaces;
  readonly latest: InputPlaces;
}

/** The first place that each message can have after the message before it. */
function earliest(answer: readonly ChatMessage[], { anchors, open, latest: last }: Found): InputPlaces {
  let begin = -1;
  return answer.map((message, at) => {
    const most = last[at];
    if (most === undefined) return undefined;
    const first = anchors[at] ?? open.firstAfter(message, begin) ?? most;
    const place = Math.min(first, most);
    begin = Math.max(begin, place);
    return place;
  });
}

/** The key of a message; the same after an engine has stored the message in its own way. */
function keyOf(message: ChatMessage): string {
  if (message.role === "toolResult") return `result ${message.toolCallId}`;
  if (message.role === "user") return `user ${userTextOf(message.content)}`;
  const calls = callsOf(message).map((call) => call.id);
  return `assistant ${calls.join(" ")} ${textOfAnswer(message).trim()}`;
}

function userTextOf(content: Extract<ChatMessage, { role: "user" }>["content"]): string {
  if (typeof content === "string") return content.trim();
  return content
    .flatMap((part) => (part.type === "text" ? [part.text] : []))
    .join("\n")
    .trim();
}
