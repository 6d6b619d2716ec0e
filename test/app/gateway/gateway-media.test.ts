import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PNG } from "../../kit/pictures.ts";
import { startFakeModel, type FakeModel } from "../../fakes/model.ts";
import { nextMessage } from "../../kit/inbound.ts";
import { until } from "../../kit/until.ts";
import { startGatewayFixture, type GatewayFixture } from "../../kit/gateway/in-process.ts";

let model: FakeModel;
let fixture: GatewayFixture;
beforeEach(async () => {
  model = await startFakeModel();
  model.answer(() => ({ text: "seen" }));
  fixture = await startGatewayFixture({ dmPolicy: "open", allowFrom: ["*"] }, model.url);
  fixture.telegram.file("dot", PNG);
});
afterEach(async () => {
  await fixture.close();
  await model.close();
});

/** Puts a photo into the journal, as an earlier boot leaves one that it could not answer any more. */
function leavePhoto(): void {
  const photo = { kind: "image", name: "dot.png", source: { at: "platform", ref: "dot" } } as const;
  const left = nextMessage("what is on it?", "1001", { id: "999", media: [photo] });
  const db = new DatabaseSync(join(fixture.dir, "state", "journal.sqlite"));
  db.prepare("INSERT INTO inbox (message, state, accepted_at) VALUES (?, 'accepted', ?)").run(
    JSON.stringify(left),
    Date.now(),
  );
  db.close();
}

/** What the model is told after the next start. */
async function toldAfterStart(): Promise<string> {
  leavePhoto();
  await fixture.restart();
  await until(() => model.calls.length === 1, "a model call");
  return model.calls[0]?.said ?? "";
}

test("a photo of an earlier boot is fetched as soon as its account is connected", async () => {
  expect(await toldAfterStart()).toMatch(/^\[media attached: [^\n]+\.png \(image\/png\)\]\n/);
});

test("a photo whose account waits for a person is not waited for", async () => {
  const dead = fixture.config().replace(fixture.telegram.token, "1:never-given-out");
  writeFileSync(join(fixture.dir, "openclaw.json"), dead);
  expect(await toldAfterStart()).toMatch(
    /^\[media not available: dot\.png \(image\): telegram\/default is not connected\]\n/,
  );
});
