import { expect, test } from "vitest";
import type { ChannelLink, Growth } from "../../src/types/chat/channel.ts";
import type { AnyPlatform } from "./platform.ts";
import { start, text } from "./running.ts";

/** What an adapter promises that shows answers in the platform's own way while they are written. */
export function growing(open: () => Promise<AnyPlatform>): void {
  const begin = async (skip: (why: string) => void) => {
    const { platform, link } = await start(await open());
    const { growth: sight } = platform;
    if (!sight) skip("the platform has nothing but sends and edits");
    return { platform, link, sight: sight! };
  };
  const grow = (link: ChannelLink, sight: NonNullable<AnyPlatform["growth"]>): Growth | undefined =>
    link.grow?.(sight.where, { key: "preview:1", recipient: { id: "U1001", teamId: "T1" } });
  const show = (growth: Growth | undefined, words: string) => growth?.show(text(words), words);

  test("an answer grows, and its final is the one message that stays", async (context) => {
    const { platform, link, sight } = await begin(context.skip);
    const growth = grow(link, sight);
    const first = await show(growth, "one two");
    expect(first).toMatchObject({ kind: "sent" });
    expect(sight.shown()).toBe("one two");
    expect(await show(growth, "one two three")).toEqual(first);
    expect(sight.shown()).toBe("one two three");
    if (growth?.isMessage && first?.kind === "sent") {
      await link.edit?.(sight.where, first.messageId, text("one two three four"));
      expect(await link.edit?.(sight.where, first.messageId, text("one two three four"))).toEqual(first);
    } else await link.send(sight.where, text("one two three four"), { idempotencyKey: "final" });
    expect(platform.shown(sight.where)).toEqual(["one two three four"]);
    expect(sight.shown()).toBeUndefined();
  });

  test("an answer that says something else is not refused for it at its end", async (context) => {
    const { platform, link, sight } = await begin(context.skip);
    const growth = grow(link, sight);
    const first = await show(growth, "one two");
    const other = await show(growth, "three");
    expect(other?.kind).toBe(growth?.isMessage ? "refused" : "sent");
    if (!growth?.isMessage || first?.kind !== "sent") return;
    expect(await link.edit?.(sight.where, first.messageId, text("three"))).toEqual(first);
    expect(platform.shown(sight.where)).toEqual(["three"]);
    expect(sight.shown()).toBeUndefined();
  });

  test("what an earlier start left growing is edited or removed all the same", async (context) => {
    const { platform, link, sight } = await begin(context.skip);
    const growth = grow(link, sight);
    if (!growth?.isMessage) return context.skip("nothing is left");
    const first = await show(growth, "one two");
    const second = await show(grow(link, sight), "to be removed");
    if (first?.kind !== "sent" || second?.kind !== "sent") throw new Error("not shown");
    await link.close();
    const { link: next } = await start(platform);
    expect(await next.edit?.(sight.where, first.messageId, text("all of it"))).toEqual(first);
    expect(await next.remove?.(sight.where, second.messageId)).toEqual(second);
    expect(platform.shown(sight.where)).toEqual(["all of it"]);
    expect(sight.shown()).toBeUndefined();
  });

  test("a platform that does not want it so is not asked again", async (context) => {
    const { platform, link, sight } = await begin(context.skip);
    sight.refuse();
    expect(await show(grow(link, sight), "one two")).toMatchObject({ kind: "refused" });
    expect(grow(link, sight)).toBeUndefined();
    expect(platform.shown(sight.where)).toEqual([]);
    expect(sight.shown()).toBeUndefined();
  });
}
