import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { speechCheck } from "../../src/providers/speech/check.ts";
import { type SpeechConfig, speechConfig } from "../../src/providers/speech/config.ts";
import { Services } from "../../src/providers/speech/speaker.ts";
import { spokenText } from "../../src/providers/speech/spoken.ts";
import { agentId } from "../../src/types/ids.ts";
import type { CallCost, ModelMeter, PlannedCall } from "../../src/types/run/model-meter.ts";
import { errorText } from "../../src/utils/text/error-text.ts";
import { recordLog, type RecordedLog } from "../kit/log.ts";
import { PATIENCE } from "../kit/until.ts";

interface Asked {
  readonly path: string;
  readonly headers: Record<string, unknown>;
  readonly body: Record<string, unknown>;
}

let server: Server;
let url: string;
let asked: Asked[];
let answer: (asked: Asked) => { status?: number; type?: string; body?: string } | "hang";
let log: RecordedLog;

beforeEach(async () => {
  asked = [];
  log = recordLog();
  answer = () => ({ body: "sound" });
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text) as Asked["body"] };
      asked.push(one);
      const said = answer(one);
      if (said === "hang") return;
      response.writeHead(said.status ?? 200, { "content-type": said.type ?? "audio/ogg" });
      response.end(said.body ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function speakerOf(given: object, env: Record<string, string> = {}, keys: Record<string, string> = {}): Services {
  const config: SpeechConfig = speechConfig.parse(given);
  return new Services({ log, env, config: () => config, keyOf: (provider) => keys[provider] });
}

/** A speaker whose requests are reserved like this. */
function meteredSpeaker(given: object, reserve: ModelMeter["reserve"]): Services {
  const config: SpeechConfig = speechConfig.parse(given);
  return new Services({ log, env: {}, config: () => config, keyOf: () => undefined, reserve });
}

/** Twice: what a finalizer lets go of is collected the second time. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  for (const _time of [1, 2]) runInNewContext("gc()");
}

const SECRET = "sk-of-the-speech-service";

describe("a speech service", () => {
  it("is asked within the budgets, and counts by its characters and its price", async () => {
    const held: PlannedCall[] = [];
    const costs: CallCost[] = [];
    const reserve: ModelMeter["reserve"] = async (call) => {
      held.push(call);
      return { kind: "allowed", settle: (cost) => void costs.push(cost) };
    };
    const openai = { baseUrl: `${url}/v1`, model: "m", costPerMillionChars: 500_000 };
    await meteredSpeaker({ providers: { openai } }, reserve).speak({
      text: "Hello there",
      origin: { cause: "message", plugin: "me" },
    });
    expect(held[0]).toMatchObject({ plugin: "me", model: { provider: "openai", id: "m" }, most: { inputTokens: 11 } });
    expect(costs[0]).toMatchObject({ outcome: "answered", usage: { input: 11, cost: { total: 5.5 } } });
    const refusing = meteredSpeaker({ providers: { openai } }, async () => ({ kind: "refused", reason: "$1 of $1" }));
    await expect(refusing.speak({ text: "Hello" })).rejects.toThrow("openai: the budget does not allow it");
    expect(asked).toHaveLength(1);
  });

  it("that speaks OpenAI's API is asked for Opus, with its model, voice and key", async () => {
    const providers = { openai: { baseUrl: `${url}/v1/`, apiKey: SECRET, model: "m", voice: "nova" } };
    const speech = await speakerOf({ providers }).speak({ text: "Hello there" });
    expect(asked[0]).toMatchObject({
      path: "/v1/audio/speech",
      headers: { authorization: `Bearer ${SECRET}` },
      body: { model: "m", voice: "nova", input: "Hello there", response_format: "opus" },
    });
    expect(speech).toMatchObject({ mime: "audio/ogg", name: "speech.ogg", provider: "openai" });
    expect(Buffer.from(speech.bytes).toString()).toBe("sound");
  });

  it("ElevenLabs is asked for MP3 of a voice, with its key header", async () => {
    answer = () => ({ type: "audio/mpeg", body: "mp3" });
    const providers = { elevenlabs: { baseUrl: url, voice: "v/1" } };
    const speech = await speakerOf({ providers }, { ELEVENLABS_API_KEY: SECRET }).speak({ text: "Hi" });
    expect(asked[0]).toMatchObject({
      path: "/v1/text-to-speech/v%2F1?output_format=mp3_44100_128",
      headers: { "xi-api-key": SECRET },
      body: { text: "Hi", model_id: "eleven_multilingual_v2" },
    });
    expect(speech).toMatchObject({ mime: "audio/mpeg", name: "speech.mp3" });
  });

  it("is known by what it answers, where that is another format", async () => {
    answer = () => ({ type: "audio/wav; rate=16000", body: "RIFF" });
    const speech = await speakerOf({ providers: { local: { baseUrl: url } } }).speak({ text: "Hi" });
    expect(speech).toMatchObject({ mime: "audio/wav", name: "speech.wav", provider: "local" });
    expect(asked[0]?.headers["authorization"]).toBeUndefined();
  });

  it("has its key from its own section, the model provider of its name, or its variable", async () => {
    const keyed = async (own: object, env: Record<string, string>, keys: Record<string, string>) => {
      await speakerOf({ providers: { openai: { baseUrl: url, ...own } } }, env, keys).speak({ text: "Hi" });
      return asked.at(-1)?.headers["authorization"];
    };
    const [env, keys] = [{ OPENAI_API_KEY: "of-env" }, { openai: "of-models" }];
    expect(await keyed({ apiKey: "own" }, env, keys)).toBe("Bearer own");
    expect(await keyed({}, env, keys)).toBe("Bearer of-models");
    expect(await keyed({}, env, {})).toBe("Bearer of-env");
  });

  it("without a key or an address is not asked", async () => {
    const speaker = speakerOf({ providers: { openai: {}, elevenlabs: {}, mine: {} } });
    expect(speaker.services).toEqual([]);
    await expect(speaker.speak({ text: "Hi" })).rejects.toThrow("no service");
  });

  it("that fails is followed by the next one, and no error has a secret", async () => {
    const providers = {
      first: { baseUrl: `${url}/first`, apiKey: SECRET },
      second: { baseUrl: `${url}/second`, apiKey: SECRET },
    };
    answer = ({ path }) => (path.startsWith("/first") ? { status: 500, body: `bad key ${SECRET}` } : { body: "ok" });
    expect(await speakerOf({ providers }).speak({ text: "Hi" })).toMatchObject({ provider: "second" });
    expect(await speakerOf({ providers, provider: "second" }).speak({ text: "Hi" })).toMatchObject({
      provider: "second",
    });
    expect(asked.map(({ path }) => path.split("/")[1])).toEqual(["first", "second", "second"]);
    answer = () => ({ status: 401, body: SECRET });
    const error = await speakerOf({ providers }).speak({ text: "Hi" }).catch(errorText);
    expect(error).toMatch(/first: the service answered 401; second: the service answered 401/);
    expect(JSON.stringify([error, log.lines])).not.toContain(SECRET);
  });

  it("that hangs is given up in its time whatever memory is collected meanwhile", async () => {
    answer = () => "hang";
    const providers = { slow: { baseUrl: url } };
    const speaking = speakerOf({ providers }).speak({ text: "Hi", timeoutMs: 500 });
    await vi.waitUntil(() => asked.length > 0, PATIENCE);
    collectGarbage();
    await expect(speaking).rejects.toThrow("slow: it took too long");
  });

  it("that hangs or answers nothing is given up in its time", async () => {
    answer = () => "hang";
    const providers = { slow: { baseUrl: url } };
    await expect(speakerOf({ providers }).speak({ text: "Hi", timeoutMs: 50 })).rejects.toThrow(
      "slow: it took too long",
    );
    answer = () => ({ body: "" });
    await expect(speakerOf({ providers }).speak({ text: "Hi" })).rejects.toThrow("with nothing");
    answer = () => "hang";
    const stop = new AbortController();
    const stopped = speakerOf({ providers }).speak({ text: "Hi", signal: stop.signal });
    stop.abort();
    await expect(stopped).rejects.toThrow("stopped");
  });

  it("gets a text up to its limit, cut at a word", async () => {
    await speakerOf({ providers: { local: { baseUrl: url } }, maxTextLength: 12 }).speak({
      text: "one two three four",
    });
    expect(asked[0]?.body["input"]).toBe("one two");
  });

  it("can be a program, which gets the text as its input and never as an argument", async () => {
    const script =
      'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>require("fs").writeFileSync(process.argv[1],t+process.argv.length))';
    const command = [process.execPath, "-e", script, "{{OutputPath}}.wav"];
    const speech = await speakerOf({ providers: { here: { command } } }).speak({ text: "$(touch /tmp/x); hi" });
    expect(Buffer.from(speech.bytes).toString()).toBe("$(touch /tmp/x); hi2");
    expect(speech).toMatchObject({ mime: "audio/wav", provider: "here" });
    const failing = { here: { command: [process.execPath, "-e", "process.exit(3)"] } };
    await expect(speakerOf({ providers: failing }).speak({ text: "hi" })).rejects.toThrow("ended with 3");
    const missing = { here: { command: ["/no/such/program"] } };
    await expect(speakerOf({ providers: missing }).speak({ text: "hi" })).rejects.toThrow("ENOENT");
  });

  it("is not asked when speech is switched off", () => {
    const speaker = speakerOf({ enabled: false, auto: "always", providers: { local: { baseUrl: url } } });
    expect(speaker.services).toEqual([]);
    expect(speaker.levelOf(agentId("main"))).toBe("off");
  });
});

describe("the check of speech", () => {
  const check = async (given: object, more: { env?: Record<string, string>; key?: boolean } = {}) => {
    const config = speechConfig.parse(given);
    const found = await speechCheck({ config, env: more.env ?? {}, hasKey: () => more.key === true }).run(
      new AbortController().signal,
    );
    return found.map(({ status, message }) => `${status}: ${message}`);
  };

  it("names the services, and what keeps one from being asked", async () => {
    expect(await check({})).toEqual(["skip: No service is set up."]);
    expect(await check({ enabled: false })).toEqual(["skip: The config switches it off."]);
    expect(await check({ auto: "always" })).toEqual(["warn: Nothing can speak."]);
    expect(await check({ providers: { openai: {} }, provider: "piper" })).toEqual([
      expect.stringContaining("warn: The service openai is not asked: it has no key"),
      expect.stringContaining('names "piper"'),
      "warn: Nothing can speak.",
    ]);
    for (const more of [{ key: true }, { env: { OPENAI_API_KEY: "x" } }])
      expect(await check({ providers: { openai: {} } }, more)).toEqual(["ok: Texts are spoken by openai."]);
    expect(await check({ providers: { piper: { command: ["piper"] } } })).toEqual(["ok: Texts are spoken by piper."]);
  });
});

describe("the spoken form of an answer", () => {
  it.each([
    ["# Title\n\nSome **bold** and _soft_ words", "Title\n\nSome bold and soft words"],
    ["See [the docs](https://example.org/x) now", "See the docs now"],
    ["Look: https://example.org/a?b=c !", "Look: !"],
    ["Run `ls` first\n```sh\nrm -rf /\n```\ndone", "Run ls first\n\ndone"],
    ["- one\n- two\n1. three", "one\ntwo\nthree"],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "a b\n\n1 2"],
    ["fine 🎉", "fine"],
    ["```\nonly code\n```", ""],
  ])("of %j is %j", (markdown, spoken) => {
    expect(spokenText(markdown)).toBe(spoken);
  });
});
