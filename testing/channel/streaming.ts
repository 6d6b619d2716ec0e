import type { TestRunner } from "../runner.ts";
import type { ChannelLink, NativeStream } from "../../src/types/chat/channel.ts";
import type { AnyPlatform } from "./platform.ts";
import { start, text } from "./running.ts";

/** Tests of adapters that show answers in the platform's own way while they are written. */
export function streaming({ expect, test }: TestRunner, open: () => Promise<AnyPlatform>): void {
  const begin = async (skip: (why: string) => void) => {
    const { platform, link } = await start(await open());
    const { stream: shown } = platform;
    if (!shown) skip("the platform only has sends and edits");
    return { platform, link, shown: shown! };
  };
  const streamOn = (link: ChannelLink, shown: NonNullable<AnyPlatform["stream"]>): NativeStream | undefined =>
    link.stream?.(shown.where, { key: "preview:1", recipient: { id: "U1001", teamId: "T1" } });
  const show = (stream: NativeStream | undefined, words: string) => stream?.show(text(words), words);

  test("a streamed answer becomes one final message", async (context) => {
    const { platform, link, shown } = await begin(context.skip);
    const stream = streamOn(link, shown);
    const first = await show(stream, "one two");
    expect(first).toMatchObject({ kind: "sent" });
    expect(shown.shown()).toBe("one two");
    expect(await show(stream, "one two three")).toEqual(first);
    expect(shown.shown()).toBe("one two three");
    if (stream?.isMessage && first?.kind === "sent") {
      await link.edit?.(shown.where, first.messageId, text("one two three four"));
      expect(await link.edit?.(shown.where, first.messageId, text("one two three four"))).toEqual(first);
    } else await link.send(shown.where, text("one two three four"), { idempotencyKey: "final" });
    expect(platform.shown(shown.where)).toEqual(["one two three four"]);
    expect(shown.shown()).toBeUndefined();
  });

  test("an answer that says something else is not refused for it at its end", async (context) => {
    const { platform, link, shown } = await begin(context.skip);
    const stream = streamOn(link, shown);
    const first = await show(stream, "one two");
    const other = await show(stream, "three");
    expect(other?.kind).toBe(stream?.isMessage ? "refused" : "sent");
    if (!stream?.isMessage || first?.kind !== "sent") return;
    expect(await link.edit?.(shown.where, first.messageId, text("three"))).toEqual(first);
    expect(platform.shown(shown.where)).toEqual(["three"]);
    expect(shown.shown()).toBeUndefined();
  });

  test("a stream that an earlier start left open can be edited or removed", async (context) => {
    const { platform, link, shown } = await begin(context.skip);
    const stream = streamOn(link, shown);
    if (!stream?.isMessage) return context.skip("nothing is left");
    const first = await show(stream, "one two");
    const second = await show(streamOn(link, shown), "to be removed");
    if (first?.kind !== "sent" || second?.kind !== "sent") throw new Error("not shown");
    await link.close();
    const { link: next } = await start(platform);
    expect(await next.edit?.(shown.where, first.messageId, text("all of it"))).toEqual(first);
    expect(await next.remove?.(shown.where, second.messageId)).toEqual(second);
    expect(platform.shown(shown.where)).toEqual(["all of it"]);
    expect(shown.shown()).toBeUndefined();
  });

  test("a platform that does not want it so is not asked again", async (context) => {
    const { platform, link, shown } = await begin(context.skip);
    shown.refuse();
    expect(await show(streamOn(link, shown), "one two")).toMatchObject({ kind: "refused" });
    expect(streamOn(link, shown)).toBeUndefined();
    expect(platform.shown(shown.where)).toEqual([]);
    expect(shown.shown()).toBeUndefined();
  });
}
