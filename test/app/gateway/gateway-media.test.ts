import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PNG } from "../../contracts/media.ts";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { message } from "../../dispatch/stage.ts";
import { until } from "../../outbox/stage.ts";
import { startChannelStage, type ChannelStage } from "../channel-stage.ts";

let model: FakeModel;
let stage: ChannelStage;
beforeEach(async () => {
  model = await startFakeModel();
  model.answer(() => ({ text: "seen" }));
  stage = await startChannelStage({ dmPolicy: "open", allowFrom: ["*"] }, model.url);
  stage.telegram.file("dot", PNG);
});
afterEach(async () => {
  await stage.close();
  await model.close();
});

/** Puts a photo into the journal, as an earlier boot leaves one that it could not answer any more. */
function leavePhoto(): void {
  const photo = { kind: "image", name: "dot.png", source: { at: "platform", ref: "dot" } } as const;
  const left = message("what is on it?", "1001", { id: "999", media: [photo] });
  const db = new DatabaseSync(join(stage.dir, "state", "journal.sqlite"));
  db.prepare("INSERT INTO inbox (message, state, accepted_at) VALUES (?, 'accepted', ?)").run(
    JSON.stringify(left),
    Date.now(),
  );
  db.close();
}

/** What the model is told after the next start. */
async function toldAfterStart(): Promise<string> {
  leavePhoto();
  await stage.restart();
  await until(() => model.calls.length === 1, "a model call");
  return model.calls[0]?.said ?? "";
}

test("a photo of an earlier boot is fetched as soon as its account is connected", async () => {
  expect(await toldAfterStart()).toMatch(/^\[media attached: [^\n]+\.png \(image\/png\)\]\n/);
});

test("a photo whose account waits for a person is not waited for", async () => {
  const dead = stage.config().replace(stage.telegram.token, "1:never-given-out");
  writeFileSync(join(stage.dir, "openclaw.json"), dead);
  expect(await toldAfterStart()).toMatch(
    /^\[media not available: dot\.png \(image\): telegram\/default is not connected\]\n/,
  );
});
