import { expect, test } from "vitest";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Hooks } from "../../src/plugins/hooks.ts";
import { sessionKey } from "../../src/types/ids.ts";
import { isFields } from "../../src/utils/fields.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";
import { until } from "../kit/until.ts";

type Handler = (event: Record<string, unknown>, context: Record<string, unknown>) => unknown;

/** Hooks of one name, each of a plugin of its own. */
function hooksOf(name: "before_tool_call" | "message_sending" | "before_message_write", ...handlers: Handler[]) {
  const clock = manualClock();
  const log = recordLog();
  const contributors = handlers.map((handler, at) => ({
    id: `p${at}`,
    register: (registry: { addHook(...given: unknown[]): void }) => registry.addHook(name, handler),
  }));
  return { hooks: new Hooks(new Contributions(contributors), clock, log), log, clock };
}

/** What a plugin gives whose getters break. */
const trap = {
  get content() {
    throw new Error("a broken getter");
  },
};

const sending = {
  name: "message_sending" as const,
  event: { to: "1", content: "hello", metadata: { channel: "telegram", accountId: "default" } },
  context: {},
};

test("an answer that throws while it is read counts as that of a hook that failed", async () => {
  const { hooks, log } = hooksOf(
    "message_sending",
    () => trap,
    () => ({ content: "changed" }),
  );
  const seen: unknown[] = [];
  const read = (answer: unknown) => (isFields(answer) ? answer["content"] : undefined);
  await hooks.chain(sending, (event, answer) => {
    seen.push(read(answer));
    return event;
  });
  expect(seen).toEqual(["changed"]);
  expect(await hooks.ask(sending, read)).toEqual(["changed"]);
  expect(await hooks.first(sending, read)).toBe("changed");
  expect(log.lines.filter((line) => line.includes("a broken getter"))).toHaveLength(3);
});

test("a hook that fails after its time is logged as late, and with its error", async () => {
  const work = Promise.withResolvers<never>();
  const { hooks, log, clock } = hooksOf("message_sending", () => work.promise);
  const asked = hooks.ask(sending, (answer) => answer);
  await until(() => clock.waits.length > 0);
  clock.pass(60_000);
  expect(await asked).toEqual([]);
  work.reject(new Error("too late"));
  await until(() => log.lines.length > 1);
  expect(log.lines).toEqual(["warn hook is late", "error hook failed: too late"]);
});

test("a gate is closed by an answer that throws while it is read", async () => {
  const { hooks } = hooksOf("before_tool_call", () => trap);
  const event = { toolName: "ls", toolCallId: "1", params: {} };
  const verdict = await hooks.gate(
    { name: "before_tool_call", event, context: {} },
    { accepts: (answer) => (isFields(answer) ? String(answer["content"]) : undefined), refused: (reason) => reason },
  );
  expect(verdict).toBe("the plugin p0 failed: a broken getter");
});

test("what a hook changes in its event and context reaches neither the gateway nor the next plugin", async () => {
  const seen: unknown[] = [];
  const spoil: Handler = (event, context) => {
    const { message } = event;
    if (isFields(message) && Array.isArray(message["content"])) message["content"].length = 0;
    event["message"] = undefined;
    delete context["sessionKey"];
  };
  const { hooks } = hooksOf("before_message_write", spoil, (event, context) => void seen.push({ ...event, context }));
  const message = { role: "user" as const, content: [{ type: "text" as const, text: "hello" }], timestamp: 1 };
  const context = { sessionKey: sessionKey("main") };
  const event = { message, sessionKey: sessionKey("main"), agentId: "main" };
  hooks.chainNow({ name: "before_message_write", event, context }, (before) => before);
  expect(message.content).toHaveLength(1);
  expect(seen).toEqual([{ ...event, context }]);
});
