import { readJsonBytes } from "../utils/net/json-body.ts";

/** No list of models and no state of a server is longer. */
const MOST_BYTES = 16 * 1024 ** 2;

/**
 * The answer of a server as JSON, or its status where it does not give one. A redirect is not followed: it would carry the key elsewhere.
 * Rejects as `fetch` does, with a `RangeError` for a longer answer, and with a `SyntaxError` for one that is no JSON.
 */
export async function askJson(
  url: string,
  request: Omit<RequestInit, "redirect">,
): Promise<{ readonly body: unknown } | { readonly status: number }> {
  const answer = await fetch(url, { ...request, redirect: "manual" });
  if (!answer.ok) {
    await answer.body?.cancel();
    return { status: answer.status };
  }
  const body: unknown = JSON.parse(new TextDecoder().decode(await readJsonBytes(answer.body, MOST_BYTES)));
  return { body };
}
