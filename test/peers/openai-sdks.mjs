// Asks a gateway with Vercel's AI SDK and with LangChain, and prints what they read as JSON, by the name of the way.
//   node openai-sdks.mjs <folder of the packages> <base URL> <key>
// A process of its own: these packages choose their files by other conditions than the tests do.
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";

const [, , folder, baseURL, apiKey] = process.argv;
const require = createRequire(join(folder, "package.json"));
const { generateObject, generateText, jsonSchema, stepCountIs, streamText, tool } = require("ai");
const { createOpenAI } = require("@ai-sdk/openai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { ChatOpenAI } = require("@langchain/openai");

const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const openai = createOpenAI({ baseURL, apiKey });
const compatible = createOpenAICompatible({ name: "ours", baseURL, apiKey, supportsStructuredOutputs: true });

async function withAiSdk(model) {
  const { text } = await generateText({ model, prompt: "hi", maxRetries: 0 });
  const streamed = await streamText({ model, prompt: "hi", maxRetries: 0 }).text;
  const weather = tool({
    description: "Tells the weather.",
    inputSchema: jsonSchema(schema),
    execute: async () => "rainy",
  });
  const asked = { model, prompt: "weather?", tools: { weather }, stopWhen: stepCountIs(3), maxRetries: 0 };
  const { text: told, steps } = await generateText(asked);
  const { object } = await generateObject({ model, prompt: "a city", schema: jsonSchema(schema), maxRetries: 0 });
  return { text, streamed, told, steps: steps.length, object };
}

async function withLangChain(more) {
  const chat = new ChatOpenAI({ model: "openclaw", apiKey, configuration: { baseURL }, maxRetries: 0, ...more });
  const { text } = await chat.invoke("hi");
  let streamed = "";
  for await (const piece of await chat.stream("hi")) streamed += piece.text;
  const weather = { type: "function", function: { name: "weather", description: "Tells it.", parameters: schema } };
  const { tool_calls: calls } = await chat.bindTools([weather]).invoke("weather?");
  const objects = [];
  for (const method of ["jsonSchema", "functionCalling"])
    objects.push(await chat.withStructuredOutput(schema, { name: "extract", method }).invoke("weather as a city"));
  return { text, streamed, calls: calls.map(({ name, args }) => ({ name, args })), objects };
}

const read = {
  "ai with responses": await withAiSdk(openai("openclaw")),
  "ai with chat completions": await withAiSdk(openai.chat("openclaw")),
  "ai with a compatible provider": await withAiSdk(compatible("openclaw")),
  "langchain with chat completions": await withLangChain({}),
  "langchain with responses": await withLangChain({ useResponsesApi: true }),
};
process.stdout.write(JSON.stringify(read));
