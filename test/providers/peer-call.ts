import { callModel, isTorn, type CallFacts } from "../../src/providers/call.ts";
import { createModels } from "../../src/providers/catalog.ts";
import { classifyFailure } from "../../src/providers/failure.ts";

/** Asks the server of the first argument as often as the second says, in the API of the third, and prints what came. */
const [, , baseUrl, times, api] = process.argv;
const models = createModels({
  providers: {
    peer: { baseUrl, api, apiKey: "0123456789", models: [{ id: "m" }] },
  },
  env: {},
  probeLocal: false,
});
const handle = await models.find({ provider: "peer", id: "m" });
if ("missing" in handle) throw new Error(handle.missing);
const messages = [{ role: "user" as const, content: "say something", timestamp: 1 }];
for (let left = Number(times); left > 0; left -= 1) {
  let facts: CallFacts = {};
  const stream = callModel(handle, { messages }, { origin: { cause: "probe" }, onFacts: (seen) => (facts = seen) });
  const { stopReason, errorMessage, content } = await stream.result();
  const failure = errorMessage === undefined ? undefined : classifyFailure(errorMessage, facts);
  const torn = content.filter((block) => block.type === "toolCall" && isTorn(block.arguments)).length;
  console.log(JSON.stringify({ stopReason, content, failure, facts, torn }));
}
