import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openOpenAiGateway } from "../kit/server/openai-gateway.ts";

const folder = process.env["OPENCLAW_PEERS"];
if (folder === undefined)
  console.log("the AI SDK and LangChain are left out: `npm run peers` installs them and runs this");

const BY_AI_SDK = {
  text: "echo: hi",
  streamed: "echo: hi",
  told: "It is rainy.",
  steps: 2,
  object: { city: "Oslo" },
};
const BY_LANGCHAIN = {
  text: "echo: hi",
  streamed: "echo: hi",
  calls: [{ name: "weather", args: { city: "Oslo" } }],
  objects: [{ city: "Oslo" }, { city: "Oslo" }],
};

test.skipIf(folder === undefined)("the AI SDK and LangChain read texts, streams, calls and objects", async () => {
  const { url, key } = await openOpenAiGateway();
  const script = join(import.meta.dirname, "openai-sdks.mjs");
  const { NODE_OPTIONS: _conditions, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, [script, folder ?? "", url, key], { env });
  expect(JSON.parse(stdout)).toEqual({
    "ai with responses": BY_AI_SDK,
    "ai with chat completions": BY_AI_SDK,
    "ai with a compatible provider": BY_AI_SDK,
    "langchain with chat completions": BY_LANGCHAIN,
    "langchain with responses": BY_LANGCHAIN,
  });
});
