import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startFakeModel, type ModelReply } from "../fakes/model.ts";

const SCRIPT = fileURLToPath(new URL("mistral-call.ts", import.meta.url));

/** In a process of its own: Mistral's package names its TypeScript under the condition that these tests run with. */
async function askEach(replies: readonly ModelReply[]): Promise<readonly unknown[]> {
  const fake = await startFakeModel();
  try {
    fake.answer((_call, number) => replies[number - 1] ?? "reset");
    const args = [SCRIPT, fake.urlFor("mistral-conversations"), String(replies.length)];
    const env = { ...process.env, NODE_OPTIONS: "" };
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } finally {
    await fake.close();
  }
}

/** Mistral sends a call in one piece: https://docs.mistral.ai/capabilities/function_calling */
const chunk = (delta: object, finish_reason: string | null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const CALL = { id: "abcdefghi", index: 0, function: { name: "write", arguments: '{"path":"a.txt","content":"ab' } };
const TORN = `${chunk({ role: "assistant", content: "", tool_calls: [CALL] }, "tool_calls")}data: [DONE]\n\n`;

it("a call of mistral-conversations ends as it should", async () => {
  const [whole, cut, unreasoned, torn, late] = await askEach([
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
