import type { ModelRef } from "../types/run/model.ts";
import { askJson } from "./ask-json.ts";

/** OpenAI-compatible servers people run on their own machine, at their default loopback ports. */
export const LOCAL_SERVERS = [
  { provider: "ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { provider: "lmstudio", baseUrl: "http://127.0.0.1:1234/v1" },
  { provider: "llamacpp", baseUrl: "http://127.0.0.1:8080/v1" },
  { provider: "vllm", baseUrl: "http://127.0.0.1:8000/v1" },
] as const;

export interface LocalModel extends ModelRef {
  readonly baseUrl: string;
}

const PROBE_MS = 300;
const NOT_FOR_CHAT = /embed|whisper|rerank|tts/i;

/** The first local server that lists a chat model within `timeoutMs`; all are asked at once. Never throws. */
export async function findLocalModel(
  servers: readonly { provider: string; baseUrl: string }[] = LOCAL_SERVERS,
  timeoutMs = PROBE_MS,
) {
  const found = await Promise.all(servers.map((server) => probe(server, timeoutMs)));
  return found.find((model) => model !== undefined);
}

async function probe(
  server: { provider: string; baseUrl: string },
  timeoutMs: number,
): Promise<LocalModel | undefined> {
  try {
    const answer = await askJson(`${server.baseUrl}/models`, { signal: AbortSignal.timeout(timeoutMs) });
    if ("status" in answer) return undefined;
    const id = modelIds(answer.body).find((name) => !NOT_FOR_CHAT.test(name));
    return id === undefined ? undefined : { ...server, id };
  } catch {
    // Usually no server listens there: that is not an error.
    return undefined;
  }
}

function modelIds(body: unknown): string[] {
  if (typeof body !== "object" || body === null || !("data" in body) || !Array.isArray(body.data)) return [];
  const rows: unknown[] = body.data;
  return rows.flatMap((row) =>
    typeof row === "object" && row !== null && "id" in row && typeof row.id === "string" ? [row.id] : [],
  );
}
