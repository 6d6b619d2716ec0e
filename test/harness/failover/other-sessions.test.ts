import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunRequest } from "../../../src/harness/request.ts";
import type { RunEvent } from "../../../src/types/run/events.ts";
import type { FailureKind } from "../../../src/types/run/run.ts";
import { agentId, sessionKey } from "../../../src/types/ids.ts";
import type { Session } from "../../../src/types/session.ts";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { png } from "../../kit/pictures.ts";
import { eventsOf, openRunFixture, type RunFixture, userTurn } from "../../kit/run.ts";
import { runFacts } from "../../kit/run-facts.ts";
import { answered, asked } from "../../kit/transcript-messages.ts";
import { APIS, errorOf, REFS, wire, type WireApi, type Wired } from "../wire/wires.ts";

let fixture: RunFixture;
let wired: Wired;
let runs = 0;
const open: Session[] = [];
beforeEach(async () => {
  fixture = await openRunFixture();
  wired = wire(fixture.model);
});
afterEach(async () => {
  for (const session of open.splice(0)) session.release();
  await fixture.close();
});

const KEY = agentId("main");
const image = { type: "image" as const, mimeType: "image/png", data: png(60, 60).toString("base64") };
/** The fixture's clock runs a hundred times as fast. */
const PATIENT = { timeoutMs: 10_000_000 };

/** A conversation of some 24,000 tokens, which is a quarter of the window. */
async function talk(name: string, turns = 8): Promise<Session> {
  const session = await fixture.sessions.acquire(sessionKey(`telegram:default:chat-${name}`));
  open.push(session);
  for (let at = 0; at < turns; at += 1) {
    await session.append({ type: "message", message: asked(`fact-${at}. ${"word ".repeat(2200)}`) });
    await session.append({ type: "message", message: answered(`noted ${at}`) });
  }
  return session;
}

async function say(session: Session, api: WireApi, text: string, more: Partial<RunRequest> = {}) {
  runs += 1;
  const facts = runFacts(`run-${runs}`, { sessionKey: session.key, sessionId: session.id, agentId: KEY });
  const turn = { ...userTurn(text, `turn-${runs}`), ...more.turn };
  const run = fixture.start({
    conversation: session,
    facts,
    candidates: [REFS[api]],
    models: wired.models,
    ...PATIENT,
    ...more,
    turn,
  });
  const events = await eventsOf(run.stream);
  await run.settle();
  const late: unknown[] = [];
  await run.compactWhenFull((event) => late.push(event));
  return { events, late };
}

const resultOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "run_end" ? event.result : []));
const windowsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "attempt_start" ? event.window : []));
const remediesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "retry" ? event.remedy : []));
const noticesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "notice" ? event.text : []));
const hasCompaction = (events: readonly RunEvent[]) => events.some(({ type }) => type === "compaction");
const entriesOf = async (session: Session) => JSON.stringify(await session.window(1_000_000));
const bodyOf = (call: ModelCall | undefined) => JSON.stringify(call?.body);
const isSummary = (call: ModelCall) => bodyOf(call).includes("You write the memory");
/** A request of B: it alone has these words. */
const isOfB = (call: ModelCall) => bodyOf(call).includes("words of B");

const html = "<html><head><title>413 Request Entity Too Large</title></head><body>nginx</body></html>";
const says =
  (status: number, message: string, type = "invalid_request_error") =>
  (api: WireApi) =>
    errorOf(api, status, { message, type });

interface Refusal {
  readonly name: string;
  readonly reply: (api: WireApi) => ModelReply;
  readonly kind: FailureKind;
  readonly withImage?: boolean;
}

const REFUSALS: readonly Refusal[] = [
  {
    name: "an overflow that names the window",
    reply: says(
      400,
      "This model's maximum context length is 100000 tokens. However, your messages resulted in 109955 tokens",
    ),
    kind: "context_overflow",
  },
  {
    name: "an overflow that names a smaller window, into which the other conversation fits",
    reply: says(
      400,
      "This model's maximum context length is 60000 tokens. However, your messages resulted in 61000 tokens",
    ),
    kind: "context_overflow",
  },
  {
    name: "an overflow without a figure",
    reply: says(400, "Input is too long for requested model."),
    kind: "context_overflow",
  },
  {
    name: "an overflow of a request with an image",
    reply: says(400, "Input is too long for requested model."),
    kind: "context_overflow",
    withImage: true,
  },
  {
    name: "a proxy's limit of bytes",
    reply: () => ({ raw: { status: 413, headers: { "content-type": "text/html" }, body: html } }),
    kind: "request_size",
  },
  {
    name: "a proxy's limit of bytes for an image",
    reply: () => ({ raw: { status: 413, headers: { "content-type": "text/html" }, body: html } }),
    kind: "request_size",
    withImage: true,
  },
  {
    name: "a provider's limit of bytes",
    reply: says(413, "Request exceeds the maximum size", "request_too_large"),
    kind: "request_size",
  },
  {
    name: "an image that is too large",
    reply: says(400, "messages.0.content.1.image: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"),
    kind: "image_size",
    withImage: true,
  },
  {
    name: "a limit of the answer without a figure",
    reply: says(400, "Invalid 'max_tokens': integer above maximum value."),
    kind: "output_limit",
  },
  { name: "a wrong form", reply: says(400, "Unknown parameter: 'tools[0].extra'."), kind: "format" },
  {
    name: "a form that quotes what a person wrote about keys and limits",
    reply: says(
      400,
      "Invalid value: 'my api key is invalid and unauthorized, a rate limit, billing, it timed out and is overloaded'.",
    ),
    kind: "format",
  },
  {
    name: "roles that do not alternate",
    reply: says(400, "messages: roles must alternate between user and assistant"),
    kind: "role_ordering",
  },
];

describe.each(APIS)("after another chat was refused by %s", (api) => {
  it.each(REFUSALS)(
    "for $name, the next request is the same, and nothing is compacted",
    async ({ reply, kind, withImage }) => {
      const [before, after, b] = [await talk("1"), await talk("2"), await talk("3", 1)];
      fixture.model.answer((call) => (isOfB(call) ? reply(api) : { text: isSummary(call) ? "SUMMARY" : "ok" }));
      await say(before, api, "after");
      const expected = fixture.model.calls.at(-1);

      const turn = { ...userTurn(`words of B ${"many ".repeat(400)}`, "b"), images: withImage === true ? [image] : [] };
      const refused = await say(b, api, "", { turn });
      expect(resultOf(refused.events)).toMatchObject([{ kind: "failed", failure: { kind } }]);

      const was = await entriesOf(after);
      const calls = fixture.model.calls.length;
      const { events, late } = await say(after, api, "after");
      expect(fixture.model.calls.length - calls).toBe(1);
      expect(bodyOf(fixture.model.calls.at(-1)).replaceAll(after.id, "")).toBe(
        bodyOf(expected).replaceAll(before.id, ""),
      );
      expect(windowsOf(events)).toEqual([100_000]);
      expect(hasCompaction(events) || late.length > 0).toBe(false);
      expect(noticesOf(events)).toEqual([]);
      expect((await entriesOf(after)).startsWith(was.slice(0, 20_000))).toBe(true);
    },
  );

  it("for more tokens than it names, what does not fit is cut from the next request, and nothing is compacted", async () => {
    const [a, b] = [await talk("1"), await talk("3", 1)];
    const named = says(
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens",
    );
    let refusals = 0;
    fixture.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      if (!isOfB(call) && bodyOf(call).length < 4 * 8192) return { text: "ok" };
      refusals += 1;
      return named(api);
    });
    await say(b, api, `words of B ${"many ".repeat(400)}`);
    const before = refusals;
    const { events, late } = await say(a, api, "after");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(refusals).toBe(before);
    expect(hasCompaction(events) || late.length > 0).toBe(false);
    expect(windowsOf(events)).toEqual([100_000]);
    expect(noticesOf(events).join()).toContain("earlier turns left out");
    expect((await a.window(1_000_000)).messages).toHaveLength(18);
  });
});

describe.each(APIS)("a server of %s whose window is smaller than the config says", (api) => {
  it("is obeyed by the conversation that it refused, which is compacted, and refuses no further turn", async () => {
    const session = await talk("1", 3);
    let refusals = 0;
    fixture.model.answer((call) => {
      if (isSummary(call)) return { text: "SUMMARY" };
      const tokens = Math.ceil(bodyOf(call).length / 4);
      if (tokens <= 8192) return { text: "ok" };
      refusals += 1;
      return errorOf(api, 400, {
        message: `This model's maximum context length is 8192 tokens. However, your messages resulted in ${tokens} tokens`,
        type: "invalid_request_error",
      });
    });
    for (let at = 0; at < 12; at += 1) {
      const { events } = await say(session, api, `turn ${at} ${"word ".repeat(900)}`);
      expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    }
    expect(refusals).toBe(1);
  });
});

describe.each(APIS)("a limit in bytes before %s", (api) => {
  const MOST = 60_000;
  const limited = (call: ModelCall): ModelReply =>
    bodyOf(call).length > MOST
      ? { raw: { status: 413, headers: { "content-type": "text/html" }, body: html } }
      : { text: isSummary(call) ? "SUMMARY" : "ok" };

  it("costs the image and not the text, and the model and the person are told", async () => {
    const session = await talk("1", 1);
    fixture.model.answer((call) =>
      bodyOf(call).includes(image.data) ? limited({ ...call, body: { x: "y".repeat(MOST) } }) : { text: "ok" },
    );
    const { events } = await say(session, api, "", { turn: { ...userTurn("look at it", "look"), images: [image] } });
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(hasCompaction(events)).toBe(false);
    expect(bodyOf(fixture.model.calls.at(-1))).toContain(
      "[image: left out, because the request was too large with it]",
    );
    expect(bodyOf(fixture.model.calls.at(-1))).toContain("look at it");
    expect(noticesOf(events).at(-1)).toMatch(
      /^🖼️ Answered without the image: the model's provider, or a proxy before it, refuses a request of so many bytes \(it had \d+\.\d kB\)\.$/,
    );
  });

  it("costs older turns in what is sent, and none in the conversation", async () => {
    const session = await talk("1");
    fixture.model.answer(limited);
    const { events, late } = await say(session, api, "after");
    expect(resultOf(events)).toEqual([{ kind: "replied", stop: "stop" }]);
    expect(remediesOf(events)).toContain("shrink_window");
    expect(hasCompaction(events) || late.length > 0).toBe(false);
    expect((await session.window(1_000_000)).messages).toHaveLength(18);
    expect(windowsOf(events)).not.toContain(1000);
  });

  it("ends a run that nothing makes smaller with the size of its request", async () => {
    const session = await talk("1", 0);
    fixture.model.answer(limited);
    const { events } = await say(session, api, "x".repeat(MOST));
    expect(resultOf(events)).toMatchObject([{ kind: "failed", failure: { kind: "request_size", isAlone: true } }]);
    const [result] = resultOf(events);
    const bytes = result?.kind === "failed" ? result.failure.requestBytes : undefined;
    expect(bytes).toBeGreaterThanOrEqual(MOST);
    expect(bytes).toBeLessThan(MOST + 5000);
    expect(fixture.model.calls).toHaveLength(1);
  });
});
