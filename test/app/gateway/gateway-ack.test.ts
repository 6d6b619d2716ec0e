import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeModel } from "../../fakes/model.ts";
import { until } from "../../kit/until.ts";
import { startGatewayFixture } from "../../kit/gateway/in-process.ts";

test("an ack reaction is taken off before a gateway that stops leaves its channels", async () => {
  const model = await startFakeModel();
  const gate = Promise.withResolvers<void>();
  model.answer(async () => {
    await gate.promise;
    return { text: "seen" };
  });
  const chat = { dmPolicy: "open", allowFrom: ["*"], ackReaction: "👀", ackReactionScope: "all" };
  const fixture = await startGatewayFixture(chat, model.url);
  const { telegram } = fixture;
  const config: object = JSON.parse(fixture.config());
  writeFileSync(
    join(fixture.dir, "openclaw.json"),
    JSON.stringify({ ...config, messages: { removeAckAfterReply: true } }),
  );
  await fixture.restart();
  try {
    const reactions = () =>
      telegram.sent.filter(({ method }) => method === "setMessageReaction").map(({ body }) => body["reaction"]);
    telegram.say("hello");
    await until(() => reactions().length === 1 && model.calls.length === 1, "the reaction");
    telegram.fail("setMessageReaction", "429", 1, 1);
    gate.resolve();
    await until(() => reactions().length === 2, "its removal, which is put off");
    await fixture.restart();
    expect(reactions().slice(1)).toEqual([[], []]);
  } finally {
    await fixture.close();
    await model.close();
  }
});
