import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startFakeModel, type FakeModel } from "../fakes/model.ts";
import { startGatewayFixture, type GatewayFixture } from "../kit/gateway/in-process.ts";
import { until } from "../kit/until.ts";

const OWNER = 1001;
const GUEST = 1002;

let fixture: GatewayFixture;
let model: FakeModel;

beforeEach(async () => {
  model = await startFakeModel();
  model.answer(() => ({ text: "hello" }));
  fixture = await startGatewayFixture({ dmPolicy: "open", allowFrom: ["*"], streaming: { mode: "off" } }, model.url);
  const file = join(fixture.dir, "openclaw.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...config, commands: { ownerAllowFrom: [OWNER] } }));
  await fixture.restart();
});
afterEach(async () => {
  await fixture.close();
  await model.close();
});

/** What the person is told of the context of their own chat. */
async function contextFor(id: number, form: string): Promise<string> {
  const shown = () => fixture.telegram.shown(id);
  const from = { from: { id, is_bot: false, first_name: "P" }, chat: { id, type: "private", first_name: "P" } };
  fixture.telegram.say("hi", from);
  await until(() => shown().includes("hello"), "the answer");
  const before = shown().length;
  fixture.telegram.say(`/context ${form}`, from);
  await until(() => shown().length > before, "the report");
  return shown().slice(before).join("\n");
}

it.each([
  ["list", /Files: \d+, [\d,]+ characters/],
  ["detail", /file 1\b/],
])("/context %s names the files of the workspace for owners, and counts them for others", async (form, counted) => {
  expect(await contextFor(OWNER, form)).toContain("AGENTS.md");
  const forGuest = await contextFor(GUEST, form);
  expect(forGuest).toMatch(counted);
  expect(forGuest).not.toMatch(/\w\.md|channel-stage/);
});
