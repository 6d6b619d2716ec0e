import type { TestRunner } from "../runner.ts";
import type { ChannelLink } from "../../src/types/chat/channel.ts";
import type { InboundMessage } from "../../src/types/chat/message.ts";
import type { AnyPlatform } from "./platform.ts";
import { start, text } from "./running.ts";

const answering = ({ eventKey: answers }: InboundMessage, idempotencyKey: string) => ({ answers, idempotencyKey });

/** Tests of adapters whose platform shows below a command that it waits for an answer. */
export function waiting({ expect, test }: TestRunner, open: () => Promise<AnyPlatform>): void {
  const begin = async (skip: (why: string) => void) => {
    const running = await start(await open());
    const { platform, link, host } = running;
    const { menu } = platform;
    if (!menu && hasWaiting(link)) throw new Error("the link has clearPending, but the fake platform cannot show it");
    if (!menu) skip("the platform shows no command as waiting");
    const give = async (name: string, to = platform.direct) => {
      const id = menu!.give(to, name);
      return { below: () => menu!.below(id), message: await host.heard(`/${name}`) };
    };
    return { ...running, give };
  };

  test("a command that waits is filled by its own answer alone", async (context) => {
    const { platform, link, give } = await begin(context.skip);
    const { direct } = platform;
    const one = await give("one");
    const two = await give("two");
    await expect.poll(() => [one.below(), two.below()], { timeout: 20_000 }).toEqual(["…", "…"]);
    expect(await link.send(direct, text("a reminder"), { idempotencyKey: "cron" })).toMatchObject({ kind: "sent" });
    const other = { idempotencyKey: "turn", answers: "another message" };
    expect(await link.send(direct, text("another answer"), other)).toMatchObject({ kind: "sent" });
    expect([one.below(), two.below()]).toEqual(["…", "…"]);
    for (const [command, words] of [
      [two, "second"],
      [one, "first"],
    ] as const) {
      expect(await link.send(direct, text(words), answering(command.message, words))).toMatchObject({ kind: "sent" });
    }
    expect([one.below(), two.below()]).toEqual(["first", "second"]);
    await link.send(direct, text("and more"), answering(one.message, "more"));
    expect(one.below()).toBe("first");
    expect(platform.shown(direct).toSorted()).toEqual(["a reminder", "and more", "another answer", "first", "second"]);
  });

  test("what is sent to another chat fills no command, whatever it answers", async (context) => {
    const { platform, link, give } = await begin(context.skip);
    const { group } = platform;
    if (!group) return context.skip("the platform has no groups");
    const { message, below } = await give("one");
    await expect.poll(below, { timeout: 20_000 }).toBe("…");
    expect(await link.send(group, text("for the group"), answering(message, "k"))).toMatchObject({ kind: "sent" });
    expect([below(), platform.shown(group)]).toEqual(["…", ["for the group"]]);
  });

  test("a command that gets no answer waits no more, and nothing fills it later", async (context) => {
    const { platform, link, give } = await begin(context.skip);
    const { message, below } = await give("one");
    await expect.poll(below, { timeout: 20_000 }).toBe("…");
    await link.clearPending?.(message, "You may not do that here.");
    await link.clearPending?.(message);
    expect([below(), platform.shown(platform.direct)]).toEqual([undefined, []]);
    expect(await link.send(platform.direct, text("after all"), answering(message, "k"))).toMatchObject({
      kind: "sent",
    });
    expect([below(), platform.shown(platform.direct)]).toEqual([undefined, ["after all"]]);
  });
}

const hasWaiting = (link: ChannelLink): boolean => link.clearPending !== undefined;
