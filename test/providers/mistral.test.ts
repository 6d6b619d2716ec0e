import { expect, it } from "vitest";
import { askEach } from "./peer.ts";

/** Mistral sends a call in one piece: https://docs.mistral.ai/capabilities/function_calling */
const chunk = (delta: object, finish_reason: string | null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const CALL = { id: "abcdefghi", index: 0, function: { name: "write", arguments: '{"path":"a.txt","content":"ab' } };
const TORN = `${chunk({ role: "assistant", content: "", tool_calls: [CALL] }, "tool_calls")}data: [DONE]\n\n`;

it("a call of mistral-conversations ends as it should", async () => {
  const [whole, cut, unreasoned, torn, late] = await askEach("mistral-conversations", [
    { text: "All is well." },
    { text: "This is not", ending: "eof" },
    { text: "All said.", ending: "unreasoned" },
    { raw: { status: 200, headers: { "content-type": "text/event-stream" }, body: TORN } },
    { status: 429, message: "slow down", retryAfter: 3 },
  ]);
  expect(whole).toMatchObject({ stopReason: "stop", content: [{ text: "All is well." }] });
  expect(cut).toMatchObject({ stopReason: "error", failure: { kind: "cut_off" }, content: [{ text: "This is not" }] });
  expect(unreasoned).toMatchObject({ stopReason: "stop", content: [{ text: "All said." }] });
  expect(torn).toMatchObject({ stopReason: "toolUse", torn: 1 });
  expect(late).toMatchObject({ failure: { kind: "rate_limit", retryAfterMs: 3000 }, facts: { status: 429 } });
});
