import type { ModelRef } from "../types/run/model.ts";
import { askJson } from "./ask-json.ts";

/** OpenAI-compatible servers people run on their own machine, at their default loopback ports. */
export const LOCAL_SERVERS = [
  { provider: "ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { provider: "lmstudio", baseUrl: "http://127.0.0.1:1234/v1" },
  { provider: "llamacpp", baseUrl: "http://127.0.0.1:8080/v1" },
  { provider: "vllm", baseUrl: "http://127.0.0.1:8000/v1" },
] as const;

interface LocalServer {
  readonly provider: string;
  readonly baseUrl: string;
}

export interface LocalModel extends ModelRef {
  readonly baseUrl: string;
}

const PROBE_MS = 300;
const NOT_FOR_CHAT = /embed|whisper|rerank|tts/i;

/** The first local server that lists a chat model within `timeoutMs`; all are asked at once. Never throws. */
export async function findLocalModel(
  servers: readonly LocalServer[] = LOCAL_SERVERS,
  timeoutMs = PROBE_MS,
): Promise<LocalModel | undefined> {
  const [found] = await findLocalServers(servers, timeoutMs);
  const id = found?.models[0];
  return found === undefined || id === undefined ? undefined : { provider: found.provider, baseUrl: found.baseUrl, id };
}

/** The local servers that list a chat model within `timeoutMs`, each with these models. Never throws. */
export async function findLocalServers(
  servers: readonly LocalServer[] = LOCAL_SERVERS,
  timeoutMs = PROBE_MS,
): Promise<readonly (LocalServer & { readonly models: readonly string[] })[]> {
  const found = await Promise.all(
    servers.map(async ({ provider, baseUrl }) => ({ provider, baseUrl, models: await modelsAt(baseUrl, timeoutMs) })),
  );
  return found.filter(({ models }) => models.length > 0);
}

/** Whether a model with this id answers in chats, as far as its name says. */
export const isForChat = (id: string): boolean => !NOT_FOR_CHAT.test(id);

async function modelsAt(baseUrl: string, timeoutMs: number): Promise<readonly string[]> {
  try {
    const answer = await askJson(`${baseUrl}/models`, { signal: AbortSignal.timeout(timeoutMs) });
    return "status" in answer ? [] : modelIds(answer.body).filter(isForChat);
  } catch {
    // Usually no server listens there: that is not an error.
    return [];
  }
}

function modelIds(body: unknown): string[] {
  if (typeof body !== "object" || body === null || !("data" in body) || !Array.isArray(body.data)) return [];
  const rows: unknown[] = body.data;
  return rows.flatMap((row) =>
    typeof row === "object" && row !== null && "id" in row && typeof row.id === "string" ? [row.id] : [],
  );
}
