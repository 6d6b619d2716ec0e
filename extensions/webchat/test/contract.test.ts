import { expect, test } from "vitest";
import { channelContract, start, text } from "../../../test/contracts/channel.ts";
import { webchatPlatform } from "./platform.ts";

channelContract("webchat", webchatPlatform);

test("what a send became can be asked, and a conversation that is not there takes none", async () => {
  const { platform, link } = await start(await webchatPlatform());
  const key = { idempotencyKey: "note-1" };
  expect(await link.find?.(platform.direct, text("hello"), key)).toMatchObject({ kind: "retry" });
  const sent = await link.send(platform.direct, text("hello"), key);
  expect(await link.find?.(platform.direct, text("hello"), key)).toEqual(sent);
  const nowhere = { ...platform.direct, chat: { kind: "direct", id: "webchat:default:nobody" } } as const;
  expect(await link.send(nowhere, text("hello"), key)).toMatchObject({ kind: "refused" });
  await link.close();
  await platform.close();
});
