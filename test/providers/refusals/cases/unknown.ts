import { chat, vllm, type RefusalCase } from "../shapes.ts";

/** The shapes are real, the words are not. What no row knows, and what must not be taken for something that it is not. */
export const UNKNOWN: readonly Omit<RefusalCase, "kind">[] = [
  {
    ...chat,
    provider: "FastAPI",
    status: 400,
    body: { detail: "The tea is cold today" },
    source: "https://github.com/minoism/freecc/issues/2",
  },
  {
    ...chat,
    provider: "vLLM",
    status: 400,
    body: vllm("The tea is cold today"),
    source: "https://github.com/langchain4j/langchain4j/issues/3475",
  },
  {
    ...chat,
    provider: "Mistral behind OpenAI's API",
    status: 400,
    body: { object: "error", message: "The tea is cold today" },
    source: "https://github.com/raycast/extensions/issues/31107",
  },
  { ...chat, provider: "a proxy", status: 400, body: "The tea is cold today", source: "" },
  { ...chat, provider: "a list", status: 400, body: [{ error: { message: "The tea is cold today" } }], source: "" },
];
