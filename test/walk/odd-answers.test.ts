import { readFileSync, writeFileSync } from "node:fs";
import { describe } from "vitest";
import type { ModelCall, ModelReply } from "../fakes/model.ts";
import { completionsVoice, messagesVoice } from "../fakes/model-voices.ts";
import { fileOf, sessionsOf, transcriptOf } from "../kit/gateway/state-files.ts";
import type { Home } from "../kit/gateway/process.ts";
import { test, type World } from "../kit/gateway/world.ts";

const streamed = (body: string): ModelReply => ({
  raw: { status: 200, headers: { "content-type": "text/event-stream" }, body },
});

/** An Anthropic server that gives no id with a call, and an OpenAI server whose call has the arguments `null`. */
const ODD = {
  "anthropic-messages": () => {
    const voice = messagesVoice("fake-1");
    const call = voice.begin() + voice.call("ls") + voice.args("{}") + voice.finish("tool");
    return call.replace(/"id":"toolu_[^"]*",/, "");
  },
  "openai-completions": () => {
    const voice = completionsVoice("fake-1");
    return voice.begin() + voice.call("ls") + voice.args("null") + voice.finish("tool") + voice.done;
  },
} as const;

const configFor = (world: World, api: keyof typeof ODD) => ({
  models: {
    providers: {
      fake: {
        baseUrl: world.model.urlFor(api),
        apiKey: "x",
        api,
        models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }],
      },
    },
  },
});

const LONG = "word ".repeat(3000);
const WRONG = /went wrong/;

/** Resolves when the chat has an answer with these words; a killed gateway may repeat an earlier one first. */
async function say(world: World, text: string, answer: string | RegExp): Promise<void> {
  world.telegram.say(text, { from: { id: 1001, first_name: "Ada" } });
  await world.told(answer, 1001);
}

/** The model makes its odd call when it is asked to look, and answers with a number. */
function script(world: World, api: keyof typeof ODD): void {
  let answers = 0;
  let looked = 0;
  const isSummary = ({ body }: ModelCall) => JSON.stringify(body).includes("You write the memory");
  world.model.answer((call) => {
    if (isSummary(call)) return { text: "the summary" };
    if (call.said.includes("look") && looked < 1) {
      looked += 1;
      return streamed(ODD[api]());
    }
    answers += 1;
    return { text: `answer ${answers}` };
  });
}

/** As an earlier version wrote the same call and its result. */
function asWrittenBefore(home: Home, api: keyof typeof ODD): void {
  const [, row] = Object.entries(sessionsOf(home)).find(([key]) => key.endsWith(":1001")) ?? [];
  if (!row) throw new Error("there is no conversation");
  const file = fileOf(home, row);
  const changed = (part: { type?: string; id?: string }) => {
    const { id: _id, ...rest } = part;
    if (part.type !== "toolCall") return part;
    return api === "anthropic-messages" ? rest : { ...part, arguments: null };
  };
  const lines = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const entry = JSON.parse(line);
      const { message } = entry;
      if (message?.role === "assistant")
        return JSON.stringify({ ...entry, message: { ...message, content: message.content.map(changed) } });
      if (message?.role !== "toolResult" || api !== "anthropic-messages") return line;
      const { toolCallId: _id, ...result } = message;
      return JSON.stringify({ ...entry, message: result });
    });
  writeFileSync(file, `${lines.join("\n")}\n`);
}

describe.concurrent("one odd call of a tool does not end a conversation", () => {
  for (const api of ["anthropic-messages", "openai-completions"] as const) {
    test(`${api}: not live, not after a kill, not for /compact, not in a file of an earlier version`, async ({
      world,
      expect,
    }) => {
      script(world, api);
      const { home, gateway } = await world.start(configFor(world, api));
      await say(world, `look ${LONG}`, "answer 1");
      const parts = transcriptOf(home, ":1001").flatMap(
        (entry) => JSON.stringify(entry).match(/"toolCallId":"[^"]+"/) ?? [],
      );
      expect(parts).toHaveLength(1);
      await say(world, `and now ${LONG}`, "answer 2");
      await gateway.kill("SIGKILL");
      asWrittenBefore(home, api);
      const doctor = await home.run(["doctor"]);
      expect(doctor.stdout).toMatch(/is in order, but values of a wrong type are in lines? \d/);
      const again = await home.start();
      await say(world, `next ${LONG}`, "answer 3");
      await say(world, "/compact", /compact|summar|went wrong/i);
      expect(transcriptOf(home, ":1001").filter(({ type }) => type === "compaction")).toHaveLength(1);
      await say(world, "and then", "answer 4");
      expect(world.telegram.shown(1001).join("\n")).not.toMatch(WRONG);
      await again.kill("SIGKILL");
    });
  }
});
