import type { DrawAsk, DrawStyle } from "../../types/media/drawing.ts";

/** Where and as whom a service is asked. */
export interface ImageService {
  /** URL without a slash at its end. */
  readonly baseUrl: string;
  /** The service's own name of the model. */
  readonly model: string;
  /** Empty without one. */
  readonly key: string;
}

/** A request for images, without the headers of the config. */
export interface ImageRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | FormData;
}

/** An image of an answer: its bytes, or where they are. */
export type MadeImage = { readonly bytes: Uint8Array } | { readonly url: string };

/** Tokens as a service counted them, and the service's own price where it names one. */
export interface ImageUsage {
  readonly input: number;
  readonly output: number;
  readonly usd?: number;
}

export interface ImageAnswer {
  readonly images: readonly MadeImage[];
  /** Unset where the service counts no tokens. */
  readonly usage?: ImageUsage;
  /** Text of the service instead of an image, or its reason for making none. */
  readonly text?: string;
}

/** How the services of one kind are asked for images. */
export interface ImageApi {
  /** Images that one request can ask for. */
  readonly atOnce: number;
  /** Whether the service changes images that it is shown. */
  readonly takesImages: boolean;
  /** The settings that the service's requests have; others are left out. */
  readonly has: readonly (keyof DrawStyle)[];
  request(ask: DrawAsk, service: ImageService): ImageRequest;
  /** Reads the body of an answer that is no refusal. Never throws. */
  read(body: unknown): ImageAnswer;
}

/** The text as bytes; undefined for anything that is no Base64. */
export function fromBase64(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  const bytes = Buffer.from(text, "base64");
  return bytes.byteLength > 0 ? bytes : undefined;
}

/** The image of a `data:` address, or the address itself. */
export function imageAt(url: unknown): MadeImage | undefined {
  if (typeof url !== "string" || url === "") return undefined;
  const data = /^data:[^,]{0,200};base64,/i.exec(url)?.[0];
  if (data === undefined) return /^https?:/i.test(url) ? { url } : undefined;
  const bytes = fromBase64(url.slice(data.length));
  return bytes && { bytes };
}

export const dataUrlOf = ({ bytes, mime }: { readonly bytes: Uint8Array; readonly mime: string }): string =>
  `data:${mime};base64,${Buffer.from(bytes).toString("base64")}`;

/** A count of tokens as services write it; 0 for anything else. */
export const tokenCountIn = (value: unknown): number =>
  typeof value === "number" && value > 0 ? Math.round(value) : 0;

/** The ratio of a size such as `1536x1024`, as `3:2`. */
export function ratioOf(size: string | undefined): string | undefined {
  const [, wide, high] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "") ?? [];
  const [width, height] = [Number(wide), Number(high)];
  if (!(width > 0 && height > 0)) return undefined;
  const shared = commonDivisor(width, height);
  return `${width / shared}:${height / shared}`;
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));
