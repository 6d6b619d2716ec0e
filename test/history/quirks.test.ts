import { describe, expect, it } from "vitest";
import { assemble } from "../../src/history/assemble.ts";
import { canThink } from "../../src/history/can-think.ts";
import { callsOf } from "../../src/history/parts.ts";
import { applyPasses } from "../../src/history/passes.ts";
import { policyFor, policyWithTools, type TranscriptPolicy } from "../../src/providers/quirks.ts";
import type {
  AssistantMessage,
  ChatMessage,
  ImageContent,
  ToolResultMessage,
  UserMessage,
} from "../../src/types/run/model.ts";
import { HEADS, png } from "../kit/pictures.ts";
import { answered, asked, called, given } from "../kit/transcript-messages.ts";
import { requestOf, WIRES } from "./wire.ts";

const policyOf = (api: string, provider: string, id: string): TranscriptPolicy =>
  policyFor({ api, provider, id, input: ["text", "image"] });
const claude = policyOf("anthropic-messages", "anthropic", "claude-sonnet-4-5");
const chat = policyOf("openai-completions", "openai", "gpt-4.1");
const responses = policyOf("openai-responses", "openai", "gpt-5");
const gemini = policyOf("google-generative-ai", "google", "gemini-2.5-pro");
const mistral = policyOf("mistral-conversations", "mistral", "mistral-large");

const user = (...content: Exclude<UserMessage["content"], string>) => asked(content);
const asks = (text: string) => user({ type: "text", text });
const answer = (by: TranscriptPolicy, ...content: AssistantMessage["content"]) =>
  answered(content, { api: by.model.api, provider: by.model.provider, model: by.model.id });
const call = (id: string) => called(id);
const result = (toolCallId: string, ...content: ToolResultMessage["content"]) => given(toolCallId, content);
const says = (text: string) => ({ type: "text" as const, text });
const idsIn = (messages: readonly ChatMessage[]) => messages.flatMap(callsOf).map((made) => made.id);

describe("a message that another session sent", () => {
  const sent = {
    ...asks("Report, please."),
    provenance: {
      kind: "inter_session" as const,
      sourceSessionKey: "agent:a:main",
      sourceChannel: "webchat",
      sourceTool: "sessions_send",
    },
  };

  it("says so in front of its text, once", () => {
    const [passed] = applyPasses([sent], claude);
    expect(passed?.content).toEqual([
      says(
        "[Inter-session message] sourceSession=agent:a:main sourceChannel=webchat sourceTool=sessions_send isUser=false\n",
      ),
      says("Report, please."),
    ]);
    expect(applyPasses([passed!], claude)[0]).toBe(passed);
  });

  it("is distinguished from one that a user sent", () => {
    const plain = { ...asks("hi"), provenance: { kind: "third-party_user" as const } };
    expect(applyPasses([plain], claude)[0]).toBe(plain);
  });
});

describe("ids of calls", () => {
  const poisoned = [
    asks("go"),
    answer(chat, call("functions.exec:0"), call("functions.exec:0")),
    result("functions.exec:0", says("first")),
    result("functions.exec:0", says("second")),
    asks("again"),
    answer(chat, call("x".repeat(80))),
    result("x".repeat(80), says("third")),
  ];

  it.each([
    ["anthropic", claude, /^[a-zA-Z0-9_-]{1,64}$/],
    ["openai", chat, /^.{1,40}$/],
    ["responses", responses, /^[a-zA-Z0-9_-]{1,64}$/],
    ["mistral", mistral, /^[a-zA-Z0-9]{9}$/],
    ["google", gemini, /./],
  ] as const)("are what %s takes, each once, with the results of each call", (_name, policy, pattern) => {
    const passed = applyPasses(poisoned, policy);
    const ids = idsIn(passed);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(pattern);
    const results = passed.flatMap((one) => (one.role === "toolResult" ? [one] : []));
    expect(results.map((one) => one.toolCallId)).toEqual(ids);
    expect(results.flatMap((one) => one.content)).toEqual([says("first"), says("second"), says("third")]);
  });

  it("that a provider gave and takes stay as they are", () => {
    const kept = [asks("go"), answer(chat, call("functions.exec:0")), result("functions.exec:0", says("x"))];
    expect(applyPasses(kept, chat)).toBe(kept);
  });
});

describe("thinking", () => {
  const thought = { type: "thinking" as const, thinking: "Hmm.", thinkingSignature: "c2ln" };

  it("is sent back to the model that wrote it, and to no other, not even as text", () => {
    const messages = [asks("?"), answer(claude, thought, says("Yes.")), asks("!")];
    expect(applyPasses(messages, claude)).toBe(messages);
    for (const policy of [chat, responses, gemini, mistral])
      expect(JSON.stringify(applyPasses(messages, policy))).not.toContain("Hmm.");
    expect(JSON.stringify(applyPasses(messages, { ...claude, ownThinking: "drop" }))).not.toContain("Hmm.");
  });

  it("is not asked for between another model's call and its result", () => {
    const foreign = applyPasses([asks("?"), answer(chat, call("a")), result("a", says("x"))], claude);
    expect(canThink(foreign, claude)).toBe(false);
    expect(canThink([...foreign, answer(claude, says("Yes.")), asks("!")], claude)).toBe(true);
    expect(canThink([asks("?"), answer(claude, thought, call("a")), result("a", says("x"))], claude)).toBe(true);
    expect(canThink(foreign, gemini)).toBe(true);
  });

  it("goes back to the Responses API as whole items or not at all", () => {
    const item = (more: object) => JSON.stringify({ type: "reasoning", id: "rs_1", summary: [], ...more });
    const made = (signature: string) => [
      asks("?"),
      answer(responses, { ...thought, thinkingSignature: signature }, call("call_1|fc_1")),
      result("call_1|fc_1", says("x")),
    ];
    const whole = made(item({ encrypted_content: "YWJj" }));
    expect(applyPasses(whole, responses)).toBe(whole);
    const [, bare, output] = applyPasses(made(item({})), responses);
    expect(bare?.content).toEqual([call("call_1")]);
    expect(output).toMatchObject({ toolCallId: "call_1" });
  });
});

describe("what tools were given and gave", () => {
  it("has an object of arguments and no details", () => {
    const given = (value: unknown) => ({ ...call("a"), arguments: value as Record<string, unknown> });
    const argumentsOf = (value: unknown) =>
      callsOf(applyPasses([asks("?"), answer(chat, given(value))], chat)[1]!).map((made) => made.arguments);
    expect(argumentsOf('{"path":"a"}')).toEqual([{ path: "a" }]);
    for (const broken of ['{"path":', "", null, [1], 7]) expect(argumentsOf(broken)).toEqual([{}]);
    expect(argumentsOf({ path: "half \ud83d" })).toEqual([{ path: "half \ufffd" }]);
    const told = applyPasses(
      [asks("?"), answer(chat, call("a")), { ...result("a", says("x")), details: { exit: 0 } }],
      chat,
    );
    expect(told[2]).not.toHaveProperty("details");
  });
});

describe("images", () => {
  const image = (data: string, mimeType = "image/png"): ImageContent => ({ type: "image", data, mimeType });
  const shown = (messages: readonly ChatMessage[]) =>
    messages.flatMap((one) =>
      one.role !== "assistant" && typeof one.content !== "string"
        ? one.content.filter((part) => part.type === "image")
        : [],
    );
  const picture = (side: number) => image(png(side, side).toString("base64"));
  const photos = (count: number) =>
    Array.from({ length: count }, (_, at) => [
      user(says(`${at}`), picture(at + 1)),
      answer(claude, says("Nice.")),
    ]).flat();
  const limited = { ...claude, imageLimits: { count: 6, each: 1000, total: 10_000 } };

  it("go oldest first past the limit, in steps, so that the beginning of a request seldom changes", () => {
    const left = [6, 7, 8, 9, 10].map((count) => shown(applyPasses(photos(count), limited)).length);
    expect(left).toEqual([6, 5, 6, 5, 6]);
    expect(shown(applyPasses(photos(7), limited))[0]).toEqual(picture(3));
  });

  it("that are too large, broken or of a type that the model cannot see become words", () => {
    const head = png(4, 4).subarray(0, 20);
    const texts = ["<html>404</html>", "", "\u00ff\u00d8\u00ff\u00e0", head].map((bytes) => Buffer.from(bytes));
    const broken = [image("no base64!"), ...texts.map((bytes) => image(bytes.toString("base64")))];
    const large = Buffer.concat([png(4, 4), Buffer.alloc(900)]).toString("base64");
    const bad = [image(large), ...broken, image(HEADS.gif.toString("base64"))];
    const passed = applyPasses([user(says("look"), ...bad)], {
      ...limited,
      imageLimits: { ...limited.imageLimits, types: ["image/png"] },
    });
    expect(shown(passed)).toEqual([]);
    const words = [
      "too large for this model",
      ...broken.map(() => "its data is broken"),
      "this model cannot see image/gif",
    ];
    expect(passed[0]?.content).toEqual([says("look"), ...words.map((one) => says(`[image: ${one}]`))]);
  });

  it("have the type that their bytes have", () => {
    const jpeg = image(HEADS.jpeg.toString("base64"));
    expect(shown(applyPasses([user(jpeg)], claude))).toEqual([{ ...jpeg, mimeType: "image/jpeg" }]);
  });

  it("of a type that cannot be measured are shown to the models that take it", () => {
    const heic = image(Buffer.from("\0\0\0\u0018ftypheic\0\0\0\0mif1heic", "latin1").toString("base64"), "image/heic");
    const bmp = image(Buffer.from("BM\0\0\0\0").toString("base64"), "image/bmp");
    expect(shown(applyPasses([user(heic)], gemini))).toEqual([heic]);
    const unlisted = { ...claude, imageLimits: { count: 9, each: 5_000_000, total: 9_000_000 } };
    for (const [photo, policy] of [
      [heic, claude],
      [heic, unlisted],
      [bmp, gemini],
    ] as const)
      expect(applyPasses([user(photo)], policy)[0]?.content).toEqual([
        says(`[image: this model cannot see ${photo.mimeType}]`),
      ]);
    const misnamed = image(heic.data, "image/png");
    expect(applyPasses([user(misnamed)], gemini)[0]?.content).toEqual([says("[image: its data is broken]")]);
  });

  it("give their size also after a long preview", () => {
    const preview = Buffer.concat(
      Array.from({ length: 6 }, () => Buffer.concat([Buffer.from([0xff, 0xe2, 0xff, 0xff]), Buffer.alloc(65_533)])),
    );
    const late = image(
      Buffer.concat([Buffer.from([0xff, 0xd8]), preview, HEADS.jpeg.subarray(2)]).toString("base64"),
      "image/jpeg",
    );
    expect(shown(applyPasses([user(late)], claude))).toEqual([late]);
  });

  it("of earlier turns alone can be left out", () => {
    const talk = [user(picture(1)), answer(claude, says("Nice.")), user(picture(2))];
    expect(shown(applyPasses(talk, { ...claude, earlierImages: false }))).toEqual([picture(2)]);
  });

  it("of tool results come after the results where a result may have none", () => {
    const messages = [asks("?"), answer(gemini, call("a"), call("b")), result("a", picture(4)), result("b", says("x"))];
    expect(applyPasses(messages, gemini).map((one) => one.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "toolResult",
      "user",
    ]);
  });
});

describe("turns", () => {
  it("begin with a user's, and have an answer between results and a user where a provider wants it", () => {
    const steered = [answer(mistral, call("aaaaaaaaa")), result("aaaaaaaaa", says("x")), asks("Wait.")];
    expect(applyPasses(steered, mistral).map((one) => one.role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
      "user",
    ]);
  });

  it("of the assistant in a row become one, with all their words", () => {
    const passed = applyPasses(
      [asks("?"), answer(claude, says("One.")), answer(chat, says("Two.")), asks("!")],
      claude,
    );
    expect(passed.map((one) => one.role)).toEqual(["user", "assistant", "user"]);
    expect(passed[1]?.content).toEqual([says("One.\n\nTwo.")]);
  });

  it.each(WIRES.map(({ model }) => ({ id: model.id, model })))(
    "are never joined without anything between their words in what $id gets",
    async ({ model }) => {
      const policy = policyFor(model);
      const here = (...content: AssistantMessage["content"]) => answer(policy, ...content);
      const talk = [
        asks("ask-1"),
        asks("ask-2"),
        here(says("told-1")),
        here(says("told-2")),
        answer(gemini, says("told-3"), call("a"), says("told-4")),
        result("a", says("found-1")),
        asks("ask-3"),
        asks("ask-4"),
      ];
      for (const rules of [policy, { ...policy, strict: true }]) {
        const sent = JSON.stringify(await requestOf(model, applyPasses(talk, rules)));
        expect(sent).not.toMatch(/(?:ask|told|found)-\d[^"\\]{0,20}(?:ask|told|found)-\d/);
        for (const word of ["ask-1", "ask-2", "told-1", "told-2", "told-3", "told-4", "found-1", "ask-4"])
          expect(sent).toContain(word);
      }
    },
  );

  it("keep the summary in front of a limited history, as one turn with the first", () => {
    const messages = ["one", "two", "three"].flatMap((text) => [asks(text), answer(claude, says("Yes."))]);
    const rows = messages.map((message, at) => ({ entryId: String(at), message }));
    const window = { messages: rows, summary: "They met.", estimatedTokens: 1, older: true };
    const { messages: shownTurns } = assemble(window, { ...claude, earlierTurns: 1 });
    expect(shownTurns.map((one) => one.role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(JSON.stringify(shownTurns[0])).toMatch(/They met\..*two/);
  });
});

describe("a provider whose cache is paid for", () => {
  it("is Anthropic, or a provider that passes requests to it", () => {
    const openrouter = policyOf("openai-completions", "openrouter", "anthropic/claude-sonnet-4.5");
    const bedrock = policyOf("bedrock-converse-stream", "amazon-bedrock", "us.anthropic.claude-sonnet-4-v1:0");
    expect([claude, openrouter, bedrock].map(({ promptCache }) => promptCache)).toEqual([true, true, true]);
    expect([chat, responses, gemini, mistral].some(({ promptCache }) => promptCache)).toBe(false);
  });
});

describe("signatures of Gemini's calls", () => {
  const gemini3 = policyOf("google-generative-ai", "google", "gemini-3-pro-preview");
  const signed = (id: string, thoughtSignature: string) => ({ ...call(id), thoughtSignature });
  const SKIP = "skip/thought/signature/validator";
  const talk = [
    asks("go"),
    answer(gemini3, signed("a", "c2ln"), call("b")),
    result("a", says("1")),
    result("b", says("2")),
    answer(mistral, says("Let me see."), signed("c", "c2ln"), call("d")),
    result("c", says("3")),
    result("d", says("4")),
    answer(gemini3, call("e")),
    result("e", says("5")),
  ];
  const signatures = (policy: TranscriptPolicy) =>
    applyPasses(talk, policy)
      .flatMap(callsOf)
      .map((made) => ("thoughtSignature" in made ? made.thoughtSignature : undefined));

  it("are kept where they are its own, and said to be missing where they are lost", () => {
    expect(signatures(gemini3)).toEqual(["c2ln", undefined, SKIP, undefined, SKIP]);
  });

  it("mean nothing to any other model", () => {
    for (const policy of [claude, chat, responses, gemini])
      expect(signatures(policy)).toEqual(Array(5).fill(undefined));
  });

  it("are wanted from the third generation on", () => {
    const wanted = (id: string) => policyOf("google-vertex", "google-vertex", id).signedCalls;
    expect(["gemini-3-flash", "gemini-3.1-pro", "gemini-live-4", "gemini-flash-latest"].map(wanted)).not.toContain(
      false,
    );
    expect(["gemini-2.5-pro", "gemini-1.5-flash", "claude-sonnet-4", "gemma-3"].map(wanted)).not.toContain(true);
  });

  it("say in bytes what Google's marker says", () => {
    expect(Buffer.from(SKIP, "base64")).toEqual(Buffer.from("skip_thought_signature_validator", "base64url"));
  });
});

describe("a request without tools", () => {
  const talk = [asks("go"), answer(chat, says("One moment."), call("a")), result("a", says("found")), asks("and?")];

  it("describes what tools did as text where tool blocks would be refused", () => {
    const passed = applyPasses(talk, policyWithTools(claude, 0));
    expect(passed.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(passed[2]?.content).toEqual([says("[The tool read was called with {} and gave:]\n\nfound\n\nand?")]);
  });

  it("keeps them elsewhere, and where tools are offered", () => {
    expect(policyWithTools(claude, 1)).toBe(claude);
    expect(policyWithTools(gemini, 0)).toBe(gemini);
  });
});
