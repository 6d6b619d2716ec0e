import { describe, expect, it } from "vitest";
import type { RunRequest } from "../../../src/harness/request.ts";
import { BuiltInTurn } from "../../../src/history/engines/turn/built-in-turn.ts";
import { runId } from "../../../src/types/ids.ts";
import { png } from "../../kit/pictures.ts";
import { textResult } from "../../../src/tools/define.ts";
import { makeTool } from "../../kit/tools.ts";
import { userTurn } from "../../kit/run.ts";
import { CASES } from "./wire-cases.ts";
import { FAILURES, remediesOf, resultOf, shownIn, useScenes } from "./wire-scene.ts";
import { APIS, errorOf, nextTo, REFS, type WireApi } from "./wires.ts";

const scenes = useScenes();
const { scene, expectSound, expectWaits } = scenes;

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("every failure ends in one visible outcome, and the next turn is answered", () => {
  it.each(FAILURES)("$api: $name, with no other model", async ({ api, reply, ends, isDead }) => {
    const [kind, remedies, pauses] = ends;
    const isSilent = ends[0] === "timeout";
    const { ask, sent, faults, sendings } = scene(api, { isDead, isSilent });
    scenes.fixture.model.answer(reply);
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toMatchObject([{ kind: "failed", failure: { kind } }]);
    expect(remediesOf(events)).toEqual(remedies);
    expectWaits(pauses);
    expect(sent.length).toBeLessThanOrEqual(12);
    expect(sendings()).toBe(0);

    scenes.fixture.model.answer(() => ({ text: "here again" }));
    const next = await scene(api).ask("and now", "turn-2");
    expect(resultOf(next)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(next)).toBe("here again");
    expect(faults()).toEqual([]);
    await expectSound(["please", "and now"], 0);
  });
});

describe("an answer that is cut off, for whatever reason", () => {
  it.each(FAILURES.filter(({ name }) => name.endsWith(" in mid-text") && !name.startsWith("a refusal")))(
    "$api: $name, is continued",
    async ({ api, reply, ends }) => {
      const { ask, sent, faults } = scene(api, { isSilent: ends[0] === "timeout" });
      scenes.fixture.model.answer((_, number) => (number === 1 ? reply() : { text: "; five six" }));
      const events = await ask("count", "turn-1", { candidates: [REFS[api], REFS[nextTo(api)]] });
      expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
      const whole = "one two three four; five six";
      expect(shownIn(events)).toBe(whole);
      expect(events.flatMap((event) => (event.type === "text_delta" ? [event.delta] : [])).join("")).toBe(whole);
      expect(events.find((event) => event.type === "retry")).toMatchObject({ because: ends[0], continues: true });
      expect(JSON.stringify(sent.at(-1)?.request)).toContain("one two three four");
      expect(faults()).toEqual([]);
      await expectSound(["count"], 0);
    },
  );
});

describe("a model that corrects itself", () => {
  it.each(APIS)("%s: thinks less until it is allowed", async (api) => {
    const { ask, sent, faults } = scene(api);
    const refuse = CASES.find(({ name }) => name === "400 for thinking")?.reply(api);
    // GPT-5 cannot do without any thinking: there is one lower level.
    const levels = api === "openai-responses" ? 1 : 2;
    scenes.fixture.model.answer((_, number) => (number <= levels && refuse ? refuse : { text: "without a thought" }));
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(events)).toEqual(Array.from({ length: levels }, () => "lower_thinking"));
    expect(new Set(sent.map(({ request }) => JSON.stringify(request))).size).toBe(levels + 1);
    expect(faults()).toEqual([]);
  });

  it.each(APIS)("%s: is asked once more when it says nothing", async (api) => {
    const { ask } = scene(api);
    scenes.fixture.model.answer((_, number) => ({ text: number === 1 ? "" : "here I am" }));
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(events)).toBe("here I am");
    await expectSound(["please"], 0);
  });

  it.each([
    { text: "<think>What could they mean?</think>" },
    { text: "<think>They could</think>", reason: "length" } as const,
  ])("is asked once more, and no more, when its answer has only thoughts ($text)", async (thought) => {
    const { ask } = scene("openai-completions");
    scenes.fixture.model.answer(() => thought);
    const [result] = resultOf(await ask("please", "turn-1"));
    expect(result).toMatchObject({ kind: "failed", failure: { kind: "unknown" } });
    expect(scenes.fixture.model.calls).toHaveLength(2);
  });

  it("may add nothing to an answer that was cut off", async () => {
    const { ask } = scene("anthropic-messages");
    scenes.fixture.model.answer((_, number) => (number === 1 ? { text: "All is well.", ending: "eof" } : { text: "" }));
    const events = await ask("please", "turn-1");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(events)).toBe("All is well.");
    expect(scenes.fixture.model.calls).toHaveLength(2);
    const again = await ask("please", "turn-1");
    expect(shownIn(again)).toBe("All is well.");
    expect(scenes.fixture.model.calls).toHaveLength(2);
  });

  it.each(APIS)("%s: may say nothing after a tool that did something", async (api) => {
    const { ask, sendings } = scene(api);
    scenes.fixture.model.answer((_, number) => (number === 1 ? { text: "", tool: "send", args: {} } : { text: "" }));
    const events = await ask("tell them", "turn-1");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(sendings()).toBe(1);
    expect(scenes.fixture.model.calls).toHaveLength(2);
  });

  it("may not after one that only read, and is asked a limited number of times", async () => {
    const { ask } = scene("google-generative-ai");
    const look = makeTool("look", async () => textResult("a view"));
    scenes.fixture.model.answer((_, number) =>
      number % 2 === 1 ? { text: "", tool: "look", args: {} } : { text: "" },
    );
    const [result] = resultOf(await ask("what is there?", "turn-1", { tools: [look] }));
    expect(result).toMatchObject({ kind: "failed" });
    expect(scenes.fixture.model.calls.length).toBeLessThanOrEqual(46);
  });

  it("need not say anything when nobody asked", async () => {
    const { ask } = scene("openai-completions");
    scenes.fixture.model.answer(() => ({ text: "" }));
    const facts = {
      runId: runId("run-beat"),
      sessionKey: scenes.fixture.session.key,
      sessionId: scenes.fixture.session.id,
      agentId: scenes.fixture.session.agentId,
      trigger: "heartbeat" as const,
    };
    expect(resultOf(await ask("beat", "turn-1", { facts }))).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(scenes.fixture.model.calls).toHaveLength(1);
  });
});

describe("a model whose fallback can do what it cannot", () => {
  const asked = async (api: WireApi, refusal: string, more: Parameters<ReturnType<typeof scene>["ask"]>[2]) => {
    const { ask, faults } = scene(api);
    const refuse = CASES.find(({ name }) => name === refusal)?.reply(api) ?? "hang";
    scenes.fixture.model.answer((call) => (call.model === REFS[api].id ? refuse : { text: "from the spare" }));
    const events = await ask("please", "turn-2", { candidates: [REFS[api], REFS[nextTo(api)]], ...more });
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(events)).toBe("from the spare");
    expect(faults()).toEqual([]);
    return remediesOf(events);
  };

  it.each(APIS)("%s: is replaced where it refuses every thinking level, also none", async (api) => {
    const remedies = await asked(api, "400 for thinking", { thinking: "off" });
    expect(remedies).toEqual(["fallback_model"]);
  });

  it.each(APIS)("%s: is replaced where the conversation is too long for it", async (api) => {
    for (const id of ["turn-0", "turn-1"]) await scene(api).ask(`said in ${id}`, id);
    const remedies = await asked(api, "400 for too long a conversation", {});
    expect(remedies.slice(-2)).toEqual(["shrink_window", "fallback_model"]);
  });
});

describe("a conversation that is too long, and does not become shorter", () => {
  const LONG = "many-words-".repeat(100);
  const tooLong = (api: WireApi) =>
    CASES.find(({ name }) => name === "400 for too long a conversation")?.reply(api) ?? "hang";
  const talk = async (api: WireApi) => {
    const { ask, sent, faults } = scene(api);
    for (const id of ["turn-1", "turn-2", "turn-3"]) await ask(`${id}: ${LONG}`, id);
    scenes.fixture.model.answer((call) => {
      if (JSON.stringify(sent.at(-1)?.request).includes("You write the memory")) return { text: LONG.repeat(20) };
      return call.model === REFS[api].id ? tooLong(api) : { text: "from the spare" };
    });
    return { ask, faults };
  };

  it.each(APIS)("%s: the run says that the compaction failed, and why", async (api) => {
    const { ask, faults } = await talk(api);
    const leaf = scenes.fixture.session.leafId;
    // As the gateway's own engine stands between the run and its compaction.
    const openEngine: RunRequest["openEngine"] = async (host) => new BuiltInTurn("legacy", (job) => host.compact(job));
    const events = await ask("please", "turn-4", { openEngine });
    const [result] = resultOf(events);
    expect(result).toMatchObject({ kind: "failed", failure: { kind: "compaction_failure" } });
    expect(events.filter((event) => event.type === "notice" && event.because !== "window")).toEqual([]);
    expect(JSON.stringify(result)).toMatch(/(maximum|window|exceeds).*its summary would not have been shorter/);
    const steps = events.flatMap((event) => (event.type === "retry" ? [[event.because, event.remedy]] : []));
    expect(steps[0]).toEqual(["context_overflow", "compact"]);
    expect(steps.slice(1).length).toBeGreaterThan(0);
    for (const step of steps.slice(1)) expect(step).toEqual(["compaction_failure", "shrink_window"]);
    const written = (await scenes.fixture.session.after(leaf ?? "")) ?? [];
    expect(written.filter((entry) => entry.type === "compaction")).toEqual([]);

    scenes.fixture.model.answer(() => ({ text: "here again" }));
    expect(shownIn(await ask("and now", "turn-5"))).toBe("here again");
    expect(faults()).toEqual([]);
    await expectSound(["please", "and now"], 0);
  });

  it.each(APIS)("%s: another model may take it", async (api) => {
    const { ask, faults } = await talk(api);
    const events = await ask("please", "turn-4", { candidates: [REFS[api], REFS[nextTo(api)]] });
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(shownIn(events)).toBe("from the spare");
    expect(remediesOf(events).at(-1)).toBe("fallback_model");
    expect(faults()).toEqual([]);
  });
});

describe("an image that a provider refuses", () => {
  const TOO_BIG = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes";
  const image = { type: "image" as const, mimeType: "image/png", data: PIXEL };

  it.each(APIS)("%s: is left out although it is the user's own, and the model and the person are told", async (api) => {
    const { ask, sent, faults } = scene(api);
    const refuse = errorOf(api, 400, { message: TOO_BIG, type: "invalid_request_error" });
    scenes.fixture.model.answer((_, number) => (hasImage(sent[number - 1]) ? refuse : { text: "fine" }));
    const first = await ask("look", "turn-1", { turn: { ...userTurn("look"), images: [image] } });
    expect(resultOf(first)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(JSON.stringify(sent.at(-1)?.request)).toContain("[image: left out, because it is too large for this model]");
    expect(first).toContainEqual(
      expect.objectContaining({
        type: "notice",
        because: "image",
        text: "🖼️ Answered without the image: it is too large for the model (at most 5.0 MB).",
      }),
    );
    const next = await ask("and now", "turn-2");
    expect(resultOf(next)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(next)).toEqual(["drop_images"]);
    expect(JSON.stringify(sent.at(-1)?.request)).toContain("look");
    expect(faults()).toEqual([]);
    await expectSound(["and now"], 0);
  });

  it.each(APIS)("%s: is shown to the fallback model", async (api) => {
    const { ask, sent, faults } = scene(api);
    const refuse = errorOf(api, 400, { message: TOO_BIG, type: "invalid_request_error" });
    scenes.fixture.model.answer((call) => (call.model === REFS[api].id ? refuse : { text: "I see" }));
    const candidates = [REFS[api], REFS[nextTo(api)]];
    const events = await ask("look", "turn-1", { candidates, turn: { ...userTurn("look"), images: [image] } });
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(events)).toEqual(["drop_images", "fallback_model"]);
    expect(events.filter((event) => event.type === "notice" && event.because === "image")).toEqual([]);
    expect(hasImage(sent.at(-1))).toBe(true);
    expect(faults()).toEqual([]);
  });

  const BROKEN = "You uploaded an unsupported image. Please make sure your image is valid.";
  const good = { ...image, data: png(4, 4).toString("base64") };

  it.each(APIS)("%s: ends neither this turn nor a later one when it is broken", async (api) => {
    const { ask, sent, faults } = scene(api);
    const refuse = errorOf(api, 400, { message: BROKEN, type: "invalid_request_error" });
    scenes.fixture.model.answer(() => (hasImage(sent.at(-1)) ? refuse : { text: "fine" }));
    const look = (text: string, id: string, shown: typeof image) =>
      ask(text, id, { turn: { ...userTurn(text, id), images: [shown] } });
    const first = await look("look", "turn-1", image);
    expect(remediesOf(first)).toEqual(["drop_images", "drop_images"]);
    const second = await look("and this", "turn-2", good);
    expect(remediesOf(second)).toEqual(["drop_images"]);
    expect(JSON.stringify(sent.at(-1)?.request)).toContain(good.data);
    const third = await ask("and now", "turn-3");
    expect(remediesOf(third)).toEqual(["drop_images"]);
    for (const events of [first, second, third]) expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(faults()).toEqual([]);
  });

  const hasImage = (one: { request: object } | undefined): boolean => JSON.stringify(one?.request).includes(PIXEL);
});
