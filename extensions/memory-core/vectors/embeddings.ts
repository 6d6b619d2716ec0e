import type { VectorSettings } from "../job.ts";

/** Vectors of length 1 in the order of the texts, and what the endpoint counted. */
export interface Embedded {
  readonly vectors: readonly Float32Array[];
  readonly tokens: number;
}

/** The end of the reason when an endpoint takes too long. */
export const LATE = "it did not answer in time";
/** Bytes of an answer. A larger one is not read. */
const MOST_BYTES = 64_000_000;

/** Asks the endpoint for the vectors of texts. Throws an error with a short reason that has nothing of the endpoint's own text. */
export async function embed(
  settings: VectorSettings,
  texts: readonly string[],
  { kind, ms }: { readonly kind: "query" | "document"; readonly ms: number },
): Promise<Embedded> {
  const inputType = kind === "query" ? settings.queryInputType : settings.documentInputType;
  const body = {
    model: settings.model,
    input: texts,
    encoding_format: "float",
    ...(settings.dimensions !== undefined && { dimensions: settings.dimensions }),
    ...(inputType !== undefined && { input_type: inputType }),
  };
  const answer = await post(settings, JSON.stringify(body), AbortSignal.timeout(ms));
  return read(answer, texts.length);
}

async function post({ url, key, headers }: VectorSettings, body: string, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await fetch(`${url}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      body,
      signal,
      // The key is for this address alone.
      redirect: "error",
    });
    if (!response.ok) throw new Refused(`it answered with the status ${response.status}`);
    return JSON.parse(await textOf(response));
  } catch (error) {
    throw new Error(`${hostOf(url)}: ${reasonOf(error)}`);
  }
}

class Refused extends Error {}

async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new Refused(`its answer has more than ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function reasonOf(error: unknown): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof SyntaxError) return "its answer is no JSON";
  if (error instanceof Error && error.name === "TimeoutError") return LATE;
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return `it cannot be reached${code}`;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "the endpoint");

function read(answer: unknown, count: number): Embedded {
  const { data, usage } = fieldsOf(answer);
  const rows = (Array.isArray(data) ? data : []).map(fieldsOf);
  const vectors = rows
    .map(({ index, embedding }, at) => ({ at: typeof index === "number" ? index : at, vector: vectorOf(embedding) }))
    .toSorted((a, b) => a.at - b.at)
    .flatMap(({ vector }) => vector ?? []);
  const sizes = new Set(vectors.map((vector) => vector.length));
  if (vectors.length !== count || sizes.size > 1) throw new Error("the endpoint gave no vector for each text");
  const tokens = Number(fieldsOf(usage)["total_tokens"] ?? 0);
  return { vectors, tokens: Number.isFinite(tokens) ? tokens : 0 };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

function vectorOf(value: unknown): Float32Array | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(Number.isFinite)) return undefined;
  const vector = Float32Array.from(value);
  const length = Math.sqrt(vector.reduce((sum, one) => sum + one * one, 0));
  return length === 0 ? vector : vector.map((one) => one / length);
}
