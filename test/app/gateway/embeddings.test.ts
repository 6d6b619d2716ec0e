import { expect, test } from "vitest";
import { startEndpoint, withVectors } from "../../../extensions/memory-core/test/memory-kit.ts";
import { embedFor } from "../../../src/app/gateway/embeddings.ts";
import { agentId } from "../../../src/types/ids.ts";
import type { CallCost, PlannedCall, Reservation } from "../../../src/types/run/model-meter.ts";
import type { AgentSettings } from "../../../src/types/settings.ts";
import { settingsFor } from "../../kit/settings.ts";

const MAIN = agentId("main");
const settled: CallCost[] = [];
const planned: PlannedCall[] = [];
const allowed: Reservation = { kind: "allowed", settle: (cost) => void settled.push(cost) };

function liveWith(memorySearch: AgentSettings["memorySearch"], reservation: Reservation = allowed) {
  const agent = { ...settingsFor("/"), id: MAIN, ...(memorySearch && { memorySearch }) };
  return {
    agents: [agent],
    paths: { stateDir: "/nowhere" },
    reserve: async (call: PlannedCall) => (planned.push(call), reservation),
  };
}
const request = { agentId: MAIN, texts: ["the dentist", "a boat"] };

test("texts become vectors by the provider of the agent's memory, and their tokens are counted", async () => {
  const { url, asked } = await startEndpoint();
  const outcome = await embedFor({ ...request, model: "other", dimensions: 8 }, liveWith(withVectors(url)));
  expect(outcome).toMatchObject({ kind: "done", model: "other", tokens: 2 });
  if (outcome.kind !== "done") return;
  expect(outcome.vectors.map((vector) => Math.hypot(...vector))).toEqual([expect.closeTo(1), expect.closeTo(1)]);
  expect(asked[0]?.body).toMatchObject({ model: "other", dimensions: 8, input: request.texts });
  expect(planned.at(-1)).toMatchObject({ cause: "api", agentId: "main", model: { provider: "here", id: "other" } });
  expect(settled.at(-1)).toMatchObject({ outcome: "answered", usage: { input: 2 } });
});

test("without a provider, and over a budget, nobody is asked", async () => {
  const { url, asked } = await startEndpoint();
  expect(await embedFor(request, liveWith(undefined))).toMatchObject({ kind: "none" });
  const refused: Reservation = { kind: "refused", reason: "The budget is used." };
  expect(await embedFor(request, liveWith(withVectors(url), refused))).toEqual({
    kind: "refused",
    why: "The budget is used.",
  });
  expect(asked).toEqual([]);
});

test("an endpoint that wants to be asked later is an outcome, and the reservation is settled", async () => {
  const { url, state } = await startEndpoint();
  state.status = 429;
  state.retryAfter = "3";
  expect(await embedFor(request, liveWith(withVectors(url)))).toMatchObject({ kind: "failed", retryAfterMs: 3000 });
  expect(settled.at(-1)).toMatchObject({ outcome: "failed" });
});
