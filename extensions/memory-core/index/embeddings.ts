import type { VectorSettings } from "../job.ts";

/** Tokens of a request, which are an estimate where the endpoint did not count them. */
export interface Counted {
  readonly tokens: number;
  readonly isEstimate?: true;
}

export const NOTHING: Counted = { tokens: 0 };

/** Vectors of length 1 in the order of the texts, and their cost. */
interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly counted: Counted;
}

/** No vectors came. */
export class EmbedError extends Error {
  /** Tokens that the request may have cost all the same. */
  readonly counted: Counted;
  /** Milliseconds after which the endpoint wants to be asked again; unset where waiting is no help. */
  readonly retryAfterMs: number | undefined;

  constructor(why: string, counted: Counted, retryAfterMs: number | undefined) {
    super(why);
    this.counted = counted;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The end of the reason when an endpoint takes too long. */
export const LATE = "it did not answer in time";
/** Bytes of an answer for each text, and in addition. A larger answer is not read: it would not fit into the thread either. */
const BYTES_OF_ONE = 500_000;
const MORE_BYTES = 1_000_000;
const BYTES_OF_TOKEN = 4;

/** Asks the endpoint for the vectors of texts. Throws an `EmbedError` with a short reason that has nothing of the endpoint's own text. */
export async function embed(
  settings: VectorSettings,
  texts: readonly string[],
  { kind, ms }: { readonly kind: "query" | "document"; readonly ms: number },
): Promise<Embedded> {
  const inputType = kind === "query" ? settings.queryInputType : settings.documentInputType;
  const input = texts.map((text) => text.toWellFormed());
  const body = {
    model: settings.model,
    input,
    encoding_format: "float",
    ...(settings.dimensions !== undefined && { dimensions: settings.dimensions }),
    ...(inputType !== undefined && { input_type: inputType }),
  };
  const estimate = { tokens: estimated(input), isEstimate: true } as const;
  try {
    const limits = { signal: AbortSignal.timeout(ms), mostBytes: texts.length * BYTES_OF_ONE + MORE_BYTES };
    const answer = await post(settings, JSON.stringify(body), limits);
    return { vectors: vectorsIn(answer, texts.length), counted: countedIn(answer) ?? estimate };
  } catch (error) {
    const retryAfterMs = error instanceof Refused ? error.retryAfterMs : undefined;
    const why = `${hostOf(settings.url)}: ${reasonOf(error)}`;
    throw new EmbedError(why, isFree(error) ? NOTHING : estimate, retryAfterMs);
  }
}

const estimated = (texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / BYTES_OF_TOKEN);

interface Limits {
  readonly signal: AbortSignal;
  readonly mostBytes: number;
}

async function post({ url, key, headers }: VectorSettings, body: string, limits: Limits): Promise<unknown> {
  const response = await fetch(`${url}/embeddings`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    body,
    signal: limits.signal,
    // The key is for this address alone.
    redirect: "error",
  });
  if (!response.ok) throw new Refused(response);
  return JSON.parse(await textOf(response, limits.mostBytes));
}

/** Milliseconds before another request where a limit of requests names none. */
const WAIT_MS = 2000;

/** The endpoint did no work. */
class Refused extends Error {
  readonly retryAfterMs: number | undefined;

  constructor({ status, headers }: Response) {
    super(`it answered with the status ${status}`);
    const asked = status === 429 || status === 503 ? waitIn(headers.get("retry-after")) : undefined;
    this.retryAfterMs = asked ?? (status === 429 ? WAIT_MS : undefined);
  }
}

/** Seconds or a date. */
function waitIn(text: string | null): number | undefined {
  if (text === null || text.trim() === "") return undefined;
  const seconds = Number(text);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** An answer of the endpoint that cannot be used. */
class Useless extends Error {}

async function textOf(response: Response, mostBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > mostBytes) throw new Useless(`its answer has more than ${mostBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function reasonOf(error: unknown): string {
  if (error instanceof Refused || error instanceof Useless) return error.message;
  if (error instanceof SyntaxError) return "its answer is no JSON";
  if (isLate(error)) return LATE;
  const code = codeOf(error);
  return `it cannot be reached${code === undefined ? "" : ` (${code})`}`;
}

const isLate = (error: unknown): boolean => error instanceof Error && error.name === "TimeoutError";

function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause ? String(cause.code) : undefined;
}

/** A connection that broke may have brought the request. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_BODY_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT"]);

/** Whether a request that failed cost nothing. */
const isFree = (error: unknown): boolean =>
  !(error instanceof Useless || error instanceof SyntaxError || isLate(error) || BROKEN.has(codeOf(error) ?? ""));

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the endpoint");

function vectorsIn(answer: unknown, count: number): readonly Float32Array[] {
  const { data } = fieldsOf(answer);
  const rows = (Array.isArray(data) ? data : []).map(fieldsOf);
  const vectors = rows
    .map(({ index, embedding }, at) => ({ at: typeof index === "number" ? index : at, vector: vectorOf(embedding) }))
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ vector }) => vector ?? []);
  const sizes = new Set(vectors.map((vector) => vector.length));
  if (vectors.length !== count || sizes.size > 1) throw new Useless("its answer has no vector for each text");
  return vectors;
}

/** Undefined where the endpoint counts nothing: it is not free for that. */
function countedIn(answer: unknown): Counted | undefined {
  const { total_tokens: total, prompt_tokens: prompt } = fieldsOf(fieldsOf(answer)["usage"]);
  const tokens = total ?? prompt;
  return typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0 ? { tokens } : undefined;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

function vectorOf(value: unknown): Float32Array | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Number.isFinite)) return undefined;
  const vector = Float32Array.from(value);
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));
  // The numbers of a 32-bit vector can be too large for its length.
  if (!Number.isFinite(length)) return undefined;
  return length === 0 ? vector : vector.map((one) => one / length);
}
