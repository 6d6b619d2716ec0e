import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { ChannelTestHost, openTestPlugin } from "../../src/api/testing.ts";
import type { ChannelLink, SendResult } from "../../src/types/chat/channel.ts";
import { DEFAULT_ACCOUNT, channelId } from "../../src/types/ids.ts";
import { writePlugin } from "../kit/gateway/plugins.ts";
import { folder } from "../kit/plugins/sources.ts";
import { until } from "../kit/until.ts";

/** A channel of the field: what it throws is in `channelThrows`, and `channelEnds` ends its monitor with an error. */
const CODE = `
const channel = {
  id: "post",
  meta: { label: "Post" },
  config: { listAccountIds: () => ["default"], resolveAccount: () => ({}) },
  outbound: {
    sendText: async () => {
      if (globalThis.channelThrows) throw globalThis.channelThrows;
      return { messageId: "1" };
    },
  },
  gateway: {
    startAccount: async ({ channelRuntime, abortSignal, setStatus }) => {
      if (globalThis.channelRefuses) throw globalThis.channelRefuses;
      setStatus({ running: true });
      globalThis.channelSays = (ctx, options) => {
        const { dispatcher } = channelRuntime.reply.createReplyDispatcherWithTyping(options);
        return channelRuntime.reply.dispatchReplyFromConfig({ ctx: { To: "1", From: "1", Provider: "post", Body: "hi", ...ctx }, dispatcher });
      };
      await new Promise((resolve, reject) => {
        globalThis.channelEnds = reject;
        abortSignal.addEventListener("abort", resolve);
      });
    },
  },
};
export default (api) => api.registerChannel({ plugin: channel });`;

const hook = globalThis as unknown as {
  channelThrows?: unknown;
  channelRefuses?: unknown;
  channelEnds(error: unknown): void;
  channelSays(context: object, options: object): Promise<unknown>;
};
afterEach(() => {
  hook.channelThrows = hook.channelRefuses = undefined;
});

async function connect(): Promise<{ link: ChannelLink; host: ChannelTestHost }> {
  const plugin = await openTestPlugin({ root: writePlugin(folder(), { id: "post", code: CODE }) });
  onTestFinished(async () => void (await plugin.close()));
  const host = new ChannelTestHost();
  const adapter = await plugin.channel("post");
  const link = await adapter.connect({}, host);
  onTestFinished(() => link.close());
  return { link, host };
}

const to = { channel: channelId("post"), account: DEFAULT_ACCOUNT, chat: { kind: "direct" as const, id: "1" } };
const answered = (fields: object, message = "the platform says no"): Error => Object.assign(new Error(message), fields);

describe("what a channel of a plugin throws", () => {
  const limited = { kind: "retry", rateLimited: true };
  const login = { kind: "retry", fix: expect.stringContaining("channels.post") };
  test.each<[string, unknown, object]>([
    ["a status and seconds", answered({ status: 429, retryAfter: 3 }), { ...limited, afterMs: 3000 }],
    ["milliseconds without a status", answered({ retryAfterMs: 250 }), { ...limited, afterMs: 250 }],
    [
      "the headers of an answer inside",
      answered({ response: { status: 429, headers: { "retry-after": "7" } } }),
      { ...limited, afterMs: 7000 },
    ],
    [
      "headers of fetch",
      answered({ cause: { statusCode: 503, headers: new Headers({ "Retry-After": "2" }) } }),
      { kind: "retry", afterMs: 2000 },
    ],
    [
      "Telegram's parameters",
      answered({ error_code: 429, parameters: { retry_after: 5 } }),
      { ...limited, afterMs: 5000 },
    ],
    ["a refused token", answered({ status: 401 }), login],
    ["the words of a refused token", answered({}, "An API error occurred: invalid_auth"), login],
    ["a chat that may not be written to", answered({ status: 403 }), { kind: "refused" }],
    ["anything else", answered({}, "the token bucket is empty"), { kind: "unknown" }],
  ])("is understood: %s", async (_what, thrown, outcome) => {
    const { link } = await connect();
    hook.channelThrows = thrown;
    const sent: SendResult = await link.send(
      to,
      { kind: "text", body: "hello", format: "markdown", plain: "hello" },
      { idempotencyKey: "k" },
    );
    expect(sent).toMatchObject(outcome);
  });

  test("stops the account when its login is refused, at its start and later", async () => {
    hook.channelRefuses = answered({ status: 401 }, "401 Unauthorized");
    await expect(connect()).rejects.toMatchObject({
      code: "CHANNEL_AUTH",
      message: expect.stringContaining("Post refuses the account"),
      fix: expect.stringContaining("channels login --channel post"),
    });
    hook.channelRefuses = undefined;
    const { host } = await connect();
    hook.channelEnds(answered({}, "token_revoked: the token has been revoked"));
    await until(() => host.reports.some(({ kind }) => kind === "dead"));
  });

  test("is a connection failure otherwise", async () => {
    hook.channelRefuses = answered({ code: "ECONNRESET" });
    await expect(connect()).rejects.not.toHaveProperty("code", "CHANNEL_AUTH");
  });
});

test("a channel has a typing indicator from the first message that brings one", async () => {
  const { link } = await connect();
  expect(link.typing).toBeUndefined();
  await hook.channelSays({ MessageSid: "1" }, { deliver: async () => undefined });
  expect(link.typing).toBeUndefined();
  const calls: string[] = [];
  const noting = (name: string) => () => void calls.push(name);
  const callbacks = Object.fromEntries(["onReplyStart", "onIdle", "onCleanup"].map((name) => [name, noting(name)]));
  await hook.channelSays({ MessageSid: "2" }, { deliver: async () => undefined, ...callbacks });
  await link.typing?.(to);
  await link.endTyping?.(to);
  expect(calls).toEqual(["onReplyStart", "onIdle", "onCleanup"]);
});

test("a typing indicator that throws at its end changes nothing about the message that was sent", async () => {
  const { link } = await connect();
  const onIdle = () => {
    throw new Error("bug");
  };
  await hook.channelSays(
    { MessageSid: "1" },
    { deliver: async () => undefined, onReplyStart: () => undefined, onIdle },
  );
  const part = { kind: "text", body: "hi", format: "markdown", plain: "hi" } as const;
  expect(await link.send(to, part, { idempotencyKey: "k" })).toEqual({ kind: "sent", messageId: "1" });
  await link.endTyping?.(to);
});
