import { errorText } from "../../utils/text/error-text.ts";
import { retryAfterIn } from "../waits.ts";
import type { FailureFacts } from "../failure.ts";
import { readRefusal } from "../failure/body.ts";
import type { ImageRequest } from "./api.ts";
import { readJsonBytes } from "../../utils/net/json-body.ts";

/** Bytes of an answer: four large images, encoded. */
const MOST_BYTES = 96 * 1024 * 1024;
/** Bytes of a refusal. */
const MOST_REFUSAL = 64 * 1024;

interface SendOptions {
  /** Headers of the config. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly signal: AbortSignal;
  now(): number;
}

/** The body of an answer, or why there is none. `wasSent`: the server may have done the work all the same. */
export type ImageResponse =
  | { readonly body: unknown }
  | { readonly failed: string; readonly facts: FailureFacts; readonly wasSent: boolean };

/** Sends a request with a key, which no redirect carries elsewhere. Never rejects. */
export async function sendImageRequest(
  { url, headers, body }: ImageRequest,
  options: SendOptions,
): Promise<ImageResponse> {
  const { signal } = options;
  try {
    const answer = await fetch(url, {
      method: "POST",
      redirect: "error",
      signal,
      headers: { ...headers, ...options.headers },
      body,
    });
    if (!answer.ok) return await refused(answer, options);
    const bytes = await readJsonBytes(answer.body, MOST_BYTES);
    return { body: JSON.parse(new TextDecoder().decode(bytes)) };
  } catch (error) {
    if (signal.aborted) return notRead("It was stopped.");
    if (error instanceof RangeError) return notRead(`The answer has more than ${MOST_BYTES} bytes.`);
    if (error instanceof SyntaxError) return notRead("The answer is no JSON: is the provider's baseUrl right?");
    return { failed: reasonOf(error), facts: { kind: "network" }, wasSent: !isUnsent(error) };
  }
}

const notRead = (failed: string): ImageResponse => ({ failed, facts: {}, wasSent: true });

async function refused(answer: Response, { now }: SendOptions): Promise<ImageResponse> {
  const bytes = await readJsonBytes(answer.body, MOST_REFUSAL).catch(() => undefined);
  const refusal = readRefusal(bytes ? new TextDecoder().decode(bytes) : "");
  const wait = retryAfterIn(new Map(answer.headers), now());
  return {
    failed: `${answer.status} ${refusal?.message ?? "without a reason"}`,
    facts: {
      status: answer.status,
      ...(refusal && { refusal }),
      ...(wait !== undefined && { retryAfterMs: wait }),
    },
    wasSent: true,
  };
}

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
};

/** Whether a request failed without a connection, so that nothing was sent. */
const isUnsent = (error: unknown): boolean =>
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(codeOf(error));

const reasonOf = (error: unknown): string => {
  const code = codeOf(error);
  return code === "" ? errorText(error) : `The provider could not be reached, or broke the connection (${code}).`;
};
