import { expect, it } from "vitest";
import { askEach } from "../peer.ts";
import { BEDROCK } from "./cases/hosts.ts";
import { MISTRAL } from "./cases/makers.ts";

it.each([
  ["bedrock-converse-stream", BEDROCK],
  ["mistral-conversations", MISTRAL],
])("a refusal through the client of %s is taken for what it is", async (api, cases) => {
  const headers = { "content-type": "application/json" };
  const replies = cases.map(({ status, body }) => ({ raw: { status, headers, body: JSON.stringify(body) } }));
  const answers = await askEach(api, replies);
  const expected = cases.map(({ kind, figures, source }) => ({ source, failure: { kind, ...figures } }));
  expect(answers).toHaveLength(cases.length);
  expect(cases.map(({ source }, at) => Object.assign({ source }, answers[at]))).toMatchObject(expected);
});
