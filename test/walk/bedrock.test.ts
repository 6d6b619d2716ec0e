import { startFakeBedrock } from "../fakes/bedrock.ts";
import { test } from "../kit/gateway/world.ts";

test("a model of Amazon Bedrock answers: the build contains its client", async ({ world, expect, onTestFinished }) => {
  const bedrock = await startFakeBedrock("good day from Bedrock");
  onTestFinished(() => bedrock.close());
  const models = [{ id: "some.model-v1:0", contextWindow: 100_000, maxTokens: 4096 }];
  const provider = { baseUrl: bedrock.url, api: "bedrock-converse-stream", models };
  const config = {
    models: { providers: { "amazon-bedrock": provider } },
    agents: { defaults: { model: { primary: "amazon-bedrock/some.model-v1:0" } } },
  };
  await world.start(config, { env: { AWS_BEARER_TOKEN_BEDROCK: "bedrock-key", AWS_REGION: "eu-central-1" } });
  world.telegram.say("hello");
  await world.told("good day from Bedrock");
  expect(bedrock.calls).toEqual([
    { path: "/model/some.model-v1%3A0/converse-stream", authorization: "Bearer bedrock-key" },
  ]);
});
