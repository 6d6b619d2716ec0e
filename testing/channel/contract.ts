import type { TestRunner } from "../runner.ts";
import type { ChannelAdapter, SendResult } from "../../src/types/chat/channel.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import { inboundFeatures, outboundFeatures } from "./features.ts";
import { gating } from "./gating.ts";
import { streaming } from "./streaming.ts";
import { waiting } from "./waiting.ts";
import { Host } from "./host.ts";
import { mediaFeatures } from "./media.ts";
import type { AnyPlatform } from "./platform.ts";
import { closeLater, start, stopAll, text } from "./running.ts";

const key = { idempotencyKey: "reply-1" };

export interface ChannelUnderTest {
  readonly name: string;
  /** Starts a new fake of the platform, for each test. */
  open(): Promise<AnyPlatform>;
}

/** Tests what every channel adapter promises to the gateway. */
export function channelContract(runner: TestRunner, { name, open }: ChannelUnderTest): void {
  runner.describe(`${name} keeps the channel contract`, () => {
    runner.afterEach(stopAll);
    for (const suite of SUITES) suite(runner, open);
  });
}

type Open = () => Promise<AnyPlatform>;

const NEAR = "no network lies between the adapter and its platform";
const ALONE = "the platform has no groups";

function inbound({ expect, test }: TestRunner, open: Open): void {
  test("a direct message is normalised", async () => {
    const { platform, host } = await start(await open());
    const id = platform.say(platform.direct, "hello there");
    const message = await host.heard("hello there");
    expect(message).toMatchObject({ id, from: platform.direct, text: "hello there", mentionsBot: true, media: [] });
    expect(message.sender.id).not.toBe("");
    expect(Math.abs(message.receivedAt - Date.now())).toBeLessThan(10_000);
    expect(JSON.parse(JSON.stringify(message))).toEqual(message);
  });

  test("a group message says whether it names the bot", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.group) return context.skip(ALONE);
    platform.say(platform.group, "one to all");
    platform.say(platform.group, "two to the bot", { naming: true });
    platform.say(platform.group, "three as a reply", { replyingToBot: true });
    expect(await host.heard("one")).toMatchObject({ from: platform.group, mentionsBot: false });
    expect(await host.heard("two")).toMatchObject({ mentionsBot: true });
    expect(await host.heard("three")).toMatchObject({ mentionsBot: true, replyTo: { fromBot: true } });
  });

  test("a thread keeps its id both ways", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.topic) return context.skip("the platform has no threads");
    platform.say(platform.topic, "in the topic");
    const message = await host.heard("in the topic");
    expect(message.from).toEqual(platform.topic);
    expect(await link.send(message.from, text("answer"), key)).toMatchObject({ kind: "sent" });
  });

  test("messages come in their order, each with a key of its own", async () => {
    const { platform, host } = await start(await open());
    for (let number = 0; number < 120; number++) platform.say(platform.direct, `message ${number};`);
    await host.heard("message 119;");
    expect(host.received.map((message) => message.text)).toEqual(
      Array.from({ length: 120 }, (_, number) => `message ${number};`),
    );
    expect(new Set(host.received.map((message) => message.eventKey)).size).toBe(120);
  });
}

function acknowledging({ expect, test }: TestRunner, open: Open): void {
  test("a batch that could not be stored is offered again and not acknowledged before", async () => {
    const platform = await open();
    const host = new Host();
    host.refuse = 1;
    await start(platform, host);
    platform.say(platform.direct, "keep me");
    await host.until(() => host.offered === 1);
    if (platform.unacknowledged) expect(platform.unacknowledged()).toBe(1);
    await host.heard("keep me");
    expect(host.reports).toContainEqual(
      expect.objectContaining({ kind: "trouble", reason: expect.stringMatching(/disk full/) }),
    );
    expect(host.received).toHaveLength(1);
  });

  test("what is answered before it is taken is answered in order", async () => {
    const platform = await open();
    const { link, host } = await start(platform);
    const take = host.receive.bind(host);
    // A quick command: its answer is sent while the event still waits to be durable.
    host.receive = async (messages) => {
      for (const { id, from, text: said } of messages) {
        const sent = await link.send(from, text(`answer to ${said}`), { idempotencyKey: `in:${id}` });
        expect(sent).toMatchObject({ kind: "sent" });
      }
      await take(messages);
    };
    const questions = ["one", "two", "three"];
    for (const question of questions) platform.say(platform.direct, question);
    await host.heard("three");
    expect(host.received.map((message) => message.text)).toEqual(questions);
    const answers = questions.map((question) => `answer to ${question}`);
    await expect.poll(() => platform.shown(platform.direct)).toEqual(answers);
  });

  test("an event that comes again after a restart has the same key", async (context) => {
    const platform = await open();
    const first = new Host();
    first.refuse = 1000;
    const before: InboundMessage[] = [];
    const keep = first.receive.bind(first);
    first.receive = async (messages) => {
      before.push(...messages);
      await keep(messages);
    };
    const { link } = await start(platform, first);
    platform.say(platform.direct, "again");
    await first.until(() => first.offered > 0);
    await link.close();
    const { host, link: second } = await start(platform, new Host(first));
    if (!platform.unacknowledged) {
      if (!second.missedSince) return context.skip("the platform delivers nothing again, and cannot be asked");
      host.received.push(...(await second.missedSince(Date.now() - 60_000)));
    }
    const again = await host.heard("again");
    expect(again.eventKey).toBe(before[0]?.eventKey);
  });
}

function outbound({ expect, test }: TestRunner, open: Open): void {
  test("text is sent, edited twice and removed twice", async () => {
    const { platform, link } = await start(await open());
    const sent = await link.send(platform.direct, text("first"), key);
    expect(platform.shown(platform.direct)).toEqual(["first"]);
    if (sent.kind !== "sent") throw new Error("not sent");
    if (link.edit) {
      const second = text("second");
      expect(await link.edit(platform.direct, sent.messageId, second)).toMatchObject({ kind: "sent" });
      expect(await link.edit(platform.direct, sent.messageId, second)).toMatchObject({ kind: "sent" });
      expect(platform.shown(platform.direct)).toEqual(["second"]);
    }
    if (link.remove) {
      expect(await link.remove(platform.direct, sent.messageId)).toMatchObject({ kind: "sent" });
      expect(await link.remove(platform.direct, sent.messageId)).toMatchObject({ kind: "sent" });
      expect(platform.shown(platform.direct)).toEqual([]);
    }
  });

  test("what an earlier connection sent is edited and removed", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!link.edit && !link.remove) return context.skip("the channel changes nothing that it has sent");
    const ids: string[] = [];
    for (const words of ["to be changed", "to be removed"]) {
      const sent = await link.send(platform.direct, text(words), { idempotencyKey: words });
      if (sent.kind === "sent") ids.push(sent.messageId);
    }
    await link.close();
    const { link: next } = await start(platform, new Host(host));
    const [changed = "", removed = ""] = ids;
    if (next.edit) expect(await next.edit(platform.direct, changed, text("changed"))).toMatchObject({ kind: "sent" });
    if (next.remove) expect(await next.remove(platform.direct, removed)).toMatchObject({ kind: "sent" });
    const rest = [next.edit ? "changed" : "to be changed", ...(next.remove ? [] : ["to be removed"])];
    expect(platform.shown(platform.direct)).toEqual(rest);
  });

  test("a text of exactly the limit is taken whole", async () => {
    const { platform, link } = await start(await open());
    const full = "x".repeat(platform.adapter.limits.text);
    expect(await link.send(platform.direct, text(full), key)).toMatchObject({ kind: "sent" });
    expect(platform.shown(platform.direct)).toEqual([full]);
  });

  test("typing never fails, also where showing it does", async () => {
    const { platform, host, link } = await start(await open());
    const where = platform.typedIn ?? platform.direct;
    platform.failTyping?.();
    await link.typing?.(where);
    if (platform.failTyping) expect(host.lines.join("\n")).toContain("typing was not shown");
    await platform.close();
    await expect(Promise.resolve(link.typing?.(where))).resolves.toBeUndefined();
  });
}

function failing({ expect, test }: TestRunner, open: Open): void {
  const outcomes: Record<string, SendResult> = {
    limited: { kind: "retry", reason: expect.any(String), rateLimited: true, afterMs: 1000 },
    broken: { kind: "retry", reason: expect.any(String) },
    dropped: { kind: "unknown", reason: expect.any(String) },
    lost: { kind: "unknown", reason: expect.any(String) },
    forbidden: { kind: "refused", reason: expect.any(String) },
  };
  test.for(Object.keys(outcomes))("a send that is %s says what became of it", async (how, context) => {
    const { platform, link } = await start(await open());
    if (!platform.failSends) return context.skip(NEAR);
    // The names of `outcomes` are what `failSends` takes.
    platform.failSends(how as Parameters<NonNullable<AnyPlatform["failSends"]>>[0]);
    const saysNoWait = how === "limited" && platform.saysWait === false;
    const expected = saysNoWait ? expect.objectContaining({ kind: "retry", rateLimited: true }) : outcomes[how];
    expect(await link.send(platform.direct, text("hi"), key)).toEqual(expected);
    expect(platform.shown(platform.direct)).toHaveLength(how === "lost" ? 1 : 0);
    expect(await link.send(platform.direct, text("hi again"), key)).toMatchObject({ kind: "sent" });
  });

  test("a send to a platform that is gone may be retried", async (context) => {
    const platform = await open();
    closeLater(platform);
    if (!platform.failSends) return context.skip(NEAR);
    const { link } = await start(platform);
    await platform.close();
    expect(await link.send(platform.direct, text("hi"), key)).toMatchObject({ kind: "retry" });
  });

  test("no report to operators contains a secret", async (context) => {
    const { platform, host, link } = await start(await open());
    if (!platform.failReceive || !platform.failSends) return context.skip(NEAR);
    platform.failReceive(1);
    platform.failSends("dropped");
    await link.send(platform.direct, text("hi"), key);
    await host.until(() => host.reports.some((report) => report.kind === "trouble"));
    const reported = JSON.stringify([host.reports, host.lines]);
    for (const value of Object.values(platform.config)) {
      if (typeof value === "string" && value.startsWith("http") === false) expect(reported).not.toContain(value);
    }
  });
}

function living({ expect, test }: TestRunner, open: Open): void {
  test("reports life, trouble with the time of the next try, and life again", async (context) => {
    const { platform, host } = await start(await open());
    if (!platform.failReceive) return context.skip(NEAR);
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    host.reports.length = 0;
    platform.failReceive(2);
    platform.say(platform.direct, "wake");
    await host.until(() => host.reports.filter((report) => report.kind === "trouble").length === 2);
    const waits = host.reports.flatMap((report) => (report.kind === "trouble" ? [report.retryInMs ?? 0] : []));
    expect(waits[1]).toBeGreaterThanOrEqual(waits[0]!);
    host.reports.length = 0;
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    await host.heard("wake");
  });

  test("wrong credentials are reported at once", async (context) => {
    const platform = await open();
    closeLater(platform);
    if (!platform.wrongConfig) return context.skip("the platform has no credentials");
    const host = new Host();
    // As in `start`: the adapter itself checks the config.
    const adapter = platform.adapter as ChannelAdapter;
    const config = adapter.config.parse(platform.wrongConfig);
    await expect(adapter.connect(config, host)).rejects.toMatchObject({ code: "CHANNEL_AUTH" });
  });

  test("closes at once and receives nothing afterwards", async () => {
    const { platform, host, link } = await start(await open());
    platform.say(platform.direct, "before");
    await host.heard("before");
    const began = performance.now();
    await link.close();
    // A poll or a socket that is waited for lasts half a minute.
    expect(performance.now() - began).toBeLessThan(15_000);
    platform.say(platform.direct, "after");
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.received.map((message) => message.text)).toEqual(["before"]);
    if (platform.unacknowledged) expect(platform.unacknowledged()).toBeGreaterThanOrEqual(1);
  });

  test("stops when the gateway aborts it", async () => {
    const { host, link } = await start(await open());
    await host.until(() => host.reports.some((report) => report.kind === "alive"));
    host.stop();
    await link.close();
  });
}

const SUITES = [
  inbound,
  acknowledging,
  outbound,
  failing,
  living,
  inboundFeatures,
  outboundFeatures,
  gating,
  streaming,
  waiting,
  mediaFeatures,
];
