import { LLMock } from "@copilotkit/aimock";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canThink } from "../../src/history/can-think.ts";
import { applyPasses } from "../../src/history/passes.ts";
import { policyFor } from "../../src/providers/quirks.ts";
import { ending, frozen, transcript } from "../history/transcripts.ts";
import { requestOf, WIRES } from "../history/wire.ts";

let mock: LLMock;
beforeAll(async () => {
  mock = new LLMock({ port: 0 });
  mock.on({ predicate: () => true }, { content: "taken" });
  await mock.start();
});
afterAll(() => mock.stop());

const PATHS: Readonly<Record<string, string>> = {
  "anthropic-messages": "/v1/messages",
  "openai-completions": "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  "google-generative-ai": "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
};

/** A third party's words about a request; undefined when it took it. */
async function refusal(path: string, body: unknown): Promise<string | undefined> {
  const headers = { "content-type": "application/json", "x-api-key": "key", authorization: "Bearer key" };
  const answer = await fetch(`${mock.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await answer.text();
  return answer.ok ? undefined : `${answer.status} ${text.slice(0, 200)}`;
}

const conversation = fc.tuple(transcript, ending).map(([before, last]) => frozen([...before, ...last]));

describe.each(WIRES.filter(({ model }) => PATHS[model.api] !== undefined))("a request of $model.id", ({ model }) => {
  it("is one that a third party can read, whatever the transcript went through", async () => {
    const policy = policyFor(model);
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(conversation, async (messages) => {
        const passed = applyPasses(messages, policy);
        const request = await requestOf(model, passed, { reasoning: canThink(passed, policy) ? "low" : undefined });
        expect(await refusal(PATHS[model.api] ?? "", request)).toBeUndefined();
        taken += 1;
      }),
      { numRuns: 60 },
    );
    expect(taken).toBe(60);
  });
});
