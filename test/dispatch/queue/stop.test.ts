import { registerOAuthProvider, unregisterOAuthProvider } from "@mariozechner/pi-ai/oauth";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { Credentials } from "../../../src/providers/auth/credentials.ts";
import { createModels } from "../../../src/providers/catalog.ts";
import { Secret } from "../../../src/types/secret.ts";
import { type ManualClock, manualClock } from "../../kit/clock.ts";
import { untilIdle } from "../../kit/idle.ts";
import { MODEL } from "../../kit/models.ts";
import { until } from "../../kit/until.ts";
import { peer } from "../../kit/inbound.ts";
import { type Boot, type DispatchFixture, openDispatchFixture } from "../../kit/dispatch.ts";

let fixture: DispatchFixture;
let boot: Boot;
beforeEach(async () => {
  fixture = await openDispatchFixture();
  // Nobody moves it on: what ends here waits for no time limit.
  boot = await fixture.boot({ clock: manualClock() });
});
afterEach(() => fixture.close());

const never = () => new Promise<never>(() => undefined);
const HOUR_MS = 3_600_000;
const photo = { kind: "image", source: { at: "platform", ref: "x" } } as const;

it("a turn whose files never come ends when it is stopped, without any wait, and the next one is answered", async () => {
  let isFetching = false;
  Object.assign(fixture.platform, { download: () => ((isFetching = true), never()) });
  const row = await boot.tell("look at this", "1", { media: [photo] });
  await until(() => isFetching);
  await boot.tell("/stop", "1");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  expect(fixture.model.calls).toEqual([]);
  expect(await boot.ask("still there?")).toEqual({ kind: "replied" });
});

/** The model's key is a login. Its renewal, which is due after an hour, waits until `renewed` resolves. */
async function loginThatWaits(clock: ManualClock) {
  const { promise: renewed, resolve: renew } = Promise.withResolvers<void>();
  const asked: string[] = [];
  const { provider, id } = MODEL;
  registerOAuthProvider({
    id: provider,
    name: "Fake",
    login: () => Promise.reject(new Error("not asked for here")),
    async refreshToken({ refresh, ...others }) {
      asked.push(refresh);
      await renewed;
      return { ...others, refresh, access: "second", expires: clock.now() + HOUR_MS };
    },
    getApiKey: ({ access }) => access,
  });
  onTestFinished(() => unregisterOAuthProvider(provider));
  const credentials = new Credentials(fixture.dir);
  await credentials.put(`${provider}:me`, {
    type: "oauth",
    provider,
    access: new Secret("first"),
    refresh: new Secret("again"),
    expires: clock.now() + HOUR_MS,
    more: {},
  });
  const server = { baseUrl: fixture.model.url, api: "openai-completions" };
  fixture.models = createModels({
    providers: { [provider]: { ...server, models: [{ id, contextWindow: 100_000, maxTokens: 4096 }] } },
    env: {},
    probeLocal: false,
    credentials,
    clock,
  });
  return { asked, renew };
}

it("so does one whose key is being renewed", async () => {
  const clock = manualClock();
  const { asked, renew } = await loginThatWaits(clock);
  boot = await fixture.boot({ clock });
  clock.pass(HOUR_MS);
  const row = await boot.tell("hello", "1");
  await until(() => asked.length === 1);
  await boot.tell("/stop", "1");
  expect(await boot.outcome(row)).toEqual({ kind: "aborted" });
  expect(fixture.model.calls).toEqual([]);
  renew();
  expect(await boot.ask("still there?")).toEqual({ kind: "replied" });
});

it("so does a compaction that waits for a key", async () => {
  const clock = manualClock();
  const { asked } = await loginThatWaits(clock);
  boot = await fixture.boot({ clock });
  for (const turn of [1, 2, 3]) await boot.ask(`turn-${turn} ${"word ".repeat(500)}`);
  await untilIdle();
  clock.pass(HOUR_MS);
  const done = boot.chat.compact(boot.keyOf("1"));
  await until(() => asked.length === 1);
  await boot.chat.abort(boot.keyOf("1"));
  expect(await done).toMatchObject({ compacted: false, reason: expect.stringContaining("stopped") });
});

it("in a group, a guest ends what guests asked for, and nothing that an owner did", async () => {
  const from = { ...peer("7"), chat: { kind: "group", id: "7" } } as const;
  const say = (text: string, by: string) => boot.tell(text, by, { from, sender: { id: by } });
  const told = () => fixture.platform.texts.at(-1);
  const key = boot.keyOf("7");
  fixture.rules = { keyFor: () => key, queueMode: () => "followup", queue: { cap: 20, debounceMs: 0, drop: "old" } };
  fixture.model.answer((call) => (call.said.includes("long") ? "hang" : { text: "done" }));
  const ofOwner = await say("a long task", "owner");
  await fixture.model.called(1);
  const ofGuest = await say("a short task", "guest");
  await boot.outcome(await say("/stop", "guest"));
  expect(await boot.outcome(ofGuest)).toEqual({ kind: "aborted" });
  expect(boot.dispatch.stateOf(ofOwner)).toBe("running");
  await boot.outcome(await say("/stop", "guest"));
  expect(told()).toBe("Only an owner may stop this, because an owner asked for it.");
  expect(boot.dispatch.stateOf(ofOwner)).toBe("running");
  await boot.outcome(await say("/stop", "owner"));
  expect(await boot.outcome(ofOwner)).toEqual({ kind: "aborted" });
  const own = await say("another long task", "guest");
  await fixture.model.called(2);
  await boot.outcome(await say("/stop", "other"));
  expect(await boot.outcome(own)).toEqual({ kind: "aborted" });
});
