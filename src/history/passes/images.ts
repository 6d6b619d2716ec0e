import type { ChatMessage, ImageContent, TextContent } from "../../types/run/model.ts";
import { isCutOff, type Measure, MEASURED, measure, MOST_SIDE } from "../measure-image.ts";
import { mapSame } from "../parts.ts";
import type { ImageLimits, TranscriptPolicy } from "../../providers/quirks.ts";

/** Replaces images that the model cannot see, that are broken or too large, and the oldest ones beyond the limit by a text. */
export function limitImages(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (!messages.some(hasImages)) return messages;
  const { whyNoImages = "this model cannot see it" } = policy;
  if (!policy.images) return mapImages(messages, () => words(whyNoImages));
  const last = policy.earlierImages === false ? lastTurn(messages) : 0;
  const asked = [...mapImages(messages.slice(0, last), () => words("left out")), ...messages.slice(last)];
  const sound = mapImages(last === 0 ? messages : asked, (image) => checked(image, policy.imageLimits));
  const sizes = sound.flatMap(imagesOf).map((image) => image.data.length);
  const past = countPast(sizes, policy.imageLimits, sound.slice(lastTurn(sound)).flatMap(imagesOf).length);
  let index = 0;
  return past === 0 ? sound : mapImages(sound, (image) => (index++ < past ? words("left out to save space") : image));
}

const words = (reason: string): TextContent => ({ type: "text", text: `[image: ${reason}]` });

type Seen = TextContent | ImageContent;

function mapImages(messages: readonly ChatMessage[], change: (image: ImageContent) => Seen): readonly ChatMessage[] {
  return mapSame(messages, (message) => {
    if (message.role === "assistant" || typeof message.content === "string") return message;
    const content = mapSame<Seen>(message.content, (part) => (part.type === "image" ? change(part) : part));
    return content === message.content ? message : { ...message, content: [...content] };
  });
}

export function imagesOf(message: ChatMessage): ImageContent[] {
  if (message.role === "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "image");
}

export const hasImages = (message: ChatMessage): boolean =>
  message.role !== "assistant" &&
  typeof message.content !== "string" &&
  message.content.some((part) => part.type === "image");

const lastTurn = (messages: readonly ChatMessage[]): number =>
  Math.max(
    0,
    messages.findLastIndex((message) => message.role === "user"),
  );

/**
 * Number of the oldest images that are left out: in steps of a third of the allowed number, so that the beginning of
 * the request, which the provider caches, changes only once per step. Images of the last turn are left out only when
 * they exceed the limits.
 */
function countPast(sizes: readonly number[], { count, total }: ImageLimits, ofLastTurn: number): number {
  let charsLeft = total;
  const fit = sizes.toReversed().findIndex((size) => (charsLeft -= size) < 0);
  const stay = Math.min(count, fit === -1 ? sizes.length : fit);
  const needed = sizes.length - stay;
  if (needed === 0) return 0;
  const step = Math.max(1, Math.floor(count / 3));
  return Math.max(needed, Math.min(Math.ceil(needed / step) * step, sizes.length - ofLastTurn));
}

const sound = new WeakMap<ImageContent, ImageContent | undefined>();

function checked(image: ImageContent, limits: ImageLimits): Seen {
  if (!sound.has(image)) sound.set(image, soundImage(image));
  const found = sound.get(image);
  if (!found) return words("its data is broken");
  const { width = 0, height = 0 } = sizeOf(found) ?? {};
  if (found.data.length > limits.each || Math.max(width, height) > (limits.side ?? MOST_SIDE))
    return words("too large for this model");
  const { mimeType } = found;
  return (limits.types ?? MEASURED).includes(mimeType) ? found : words(`this model cannot see ${mimeType}`);
}

/** Base64 characters that usually contain the size of an image: a JPEG may begin with a preview. */
const HEAD = 400_000;

const measured = new WeakMap<ImageContent, Measure | undefined>();

function sizeOf(image: ImageContent): Measure | undefined {
  if (!measured.has(image)) measured.set(image, read(image.data.slice(0, HEAD)) ?? read(image.data));
  return measured.get(image);
}

const read = (base64: string): Measure | undefined => measure(Buffer.from(base64, "base64"));

/**
 * Removes data that is no image, because providers refuse it. A wrong MIME type is corrected from the bytes. A type
 * that cannot be measured, such as HEIC, is trusted.
 */
function soundImage(image: ImageContent): ImageContent | undefined {
  const { data } = image;
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return undefined;
  const size = sizeOf(image);
  if (size === undefined) return MEASURED.includes(image.mimeType) ? undefined : image;
  if (isCutOff(Buffer.from(data, "base64"), size)) return undefined;
  const { mimeType } = size;
  return mimeType === image.mimeType ? image : { ...image, mimeType };
}

/**
 * Moves the images of tool results into a user turn after the results, for models that see images only in user turns.
 */
export function moveResultImages(messages: readonly ChatMessage[], policy: TranscriptPolicy): readonly ChatMessage[] {
  if (policy.toolResultImages || !messages.some((one) => one.role === "toolResult" && hasImages(one))) return messages;
  let waiting: ImageContent[] = [];
  return messages.flatMap((message, index) => {
    if (message.role !== "toolResult") return [message];
    waiting.push(...imagesOf(message));
    if (messages[index + 1]?.role === "toolResult" || waiting.length === 0) return [withoutImages(message)];
    const turn = imageTurn(waiting, message.timestamp);
    waiting = [];
    return [withoutImages(message), turn];
  });
}

const MOVED = "Images of the tool results:";

const imageTurn = (images: readonly ImageContent[], timestamp: number): ChatMessage => ({
  role: "user",
  content: [{ type: "text", text: MOVED }, ...images],
  timestamp,
});

/** Whether the gateway made this turn to show images of tool results. */
export function isImageTurn(message: ChatMessage): boolean {
  if (message.role !== "user" || typeof message.content === "string") return false;
  const [first] = message.content;
  return first?.type === "text" && first.text === MOVED;
}

function withoutImages<M extends Extract<ChatMessage, { role: "toolResult" }>>(message: M): M {
  if (!hasImages(message)) return message;
  const texts = message.content.filter((part) => part.type === "text");
  return { ...message, content: texts.length > 0 ? texts : [words("shown below")] };
}
