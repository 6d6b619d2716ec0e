import { existsSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { fakeGog } from "../../fakes/gog.ts";
import { PATIENCE_MS } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

const TOKEN = "hook-token-0123456789";
const GMAIL = { account: "ada@example.org", topic: "projects/p/topics/t", pushToken: "push-token-0123456789" };
const config = (gmail: object) => ({
  commands: { ownerAllowFrom: ["1001"] },
  hooks: { enabled: true, token: TOKEN, gmail },
});

/** Reports one mail as the program does, and notes when it is ended. */
const SERVE = `
  const mail = { id: "m1", from: "Bob <bob@example.org>", subject: "Tides", snippet: "high at nine", body: "High at nine." };
  await fetch(url, { method: "POST", headers: { authorization: "Bearer " + token, "content-type": "application/json" }, body: JSON.stringify({ messages: [mail] }) });
  process.on("SIGTERM", () => { appendFileSync(__dirname + "/ended", "yes"); process.exit(0); });`;

test("mail of a watched account becomes a turn with marked text, and the watcher ends with the gateway", async ({
  world,
  expect,
}) => {
  const home = await world.home(world.config(config({})));
  const gog = fakeGog(join(home.dir, "bin"), SERVE);
  world.script([[/UNTRUSTED/, () => ({ text: "Bob says: high tide at nine." })]]);
  world.telegram.say("hello");
  const env = { PATH: `${gog.path}:${process.env["PATH"]}` };
  const gateway = await home.start({ env });
  await world.told("hello");
  // Begins while the gateway runs.
  await home.writeConfig(world.config(config({ ...GMAIL, thinking: "low", model: "fake/fake-1" })));
  await world.told("Bob says: high tide at nine.");
  const asked = world.model.calls.find(({ said }) => said.includes("High at nine."));
  expect(asked?.said).toMatch(/EXTERNAL_UNTRUSTED_CONTENT[\s\S]*New mail from Bob <bob@example.org>\nSubject: Tides/);
  expect(gateway.output).not.toContain(TOKEN);
  expect(gateway.output).not.toContain("push-token");
  expect((await home.run(["doctor"], env)).stdout).toMatch(/ok +Mail watcher +ada@example\.org is watched with gog/);
  await gateway.kill("SIGTERM");
  await vi.waitUntil(() => gog.calls().length >= 2, PATIENCE_MS);
  await vi.waitUntil(() => existsSync(join(gog.path, "ended")), PATIENCE_MS);
});

test("nothing is watched without what is needed, and the doctor says what that is", async ({ world, expect }) => {
  const home = await world.home(world.config(config({ account: "ada@example.org" })));
  const gog = fakeGog(join(home.dir, "bin"), SERVE);
  const gateway = await home.start({ env: { PATH: `${gog.path}:${process.env["PATH"]}` } });
  await gateway.logged(
    (line) => line["msg"] === "mail is not watched" && line["why"] === "hooks.gmail.topic is missing",
  );
  expect((await home.run(["doctor"])).stdout).toMatch(
    /FAIL +Mail watcher +Mail is not watched: hooks\.gmail\.topic is missing/,
  );
  await home.writeConfig(world.config(config({ ...GMAIL, allowUnsafeExternalContent: true })));
  world.script([[/High at nine/, () => ({ text: "Trusted mail." })]]);
  await vi.waitUntil(() => gog.calls().length >= 2, PATIENCE_MS);
  await vi.waitUntil(() => world.model.calls.some(({ said }) => said.includes("High at nine.")), PATIENCE_MS);
  expect(world.model.calls.find(({ said }) => said.includes("High at nine."))?.said).not.toContain("UNTRUSTED");
  await gateway.kill();
  const quiet = await home.start({
    env: { PATH: `${gog.path}:${process.env["PATH"]}`, OPENCLAW_SKIP_GMAIL_WATCHER: "1" },
  });
  const calls = gog.calls().length;
  world.telegram.say("still here?");
  await world.told(/still here/);
  expect(gog.calls()).toHaveLength(calls);
  await quiet.kill();
});
