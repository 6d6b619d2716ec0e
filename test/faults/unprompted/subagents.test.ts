import { expect, test } from "vitest";
import { ADA, journalRows, useFaultFixture } from "../fixture.ts";
import { random } from "../random.ts";
import { expectKnownCalls, expectToldOnce, obeyed } from "./asked-subagents.ts";
import { isQuiet, quiet, rowsOf } from "./rows.ts";

const fixture = useFaultFixture();

const of = (kind: string): string => `json_extract(message, '$.options.kind') = '${kind}'`;

/** What the journal shows when the process dies. */
const STEPS: Readonly<Record<string, string>> = {
  "the subagent in the journal": `SELECT 1 FROM inbox WHERE ${of("subagent")}`,
  "its run begun": `SELECT 1 FROM inbox WHERE ${of("subagent")} AND state = 'claimed'`,
  "its end written": `SELECT 1 FROM inbox WHERE ${of("subagent")} AND state = 'done'`,
  "its report begun": `SELECT 1 FROM inbox WHERE ${of("announce")} AND state = 'claimed'`,
  "the answer planned": `SELECT 1 FROM outbox JOIN inbox ON inbox.id = inbox_id WHERE ${of("announce")}`,
  "the answer on its way": `SELECT 1 FROM outbox JOIN inbox ON inbox.id = inbox_id WHERE ${of("announce")} AND outbox.state IN ('sending', 'sent')`,
  "the answer there": `SELECT 1 FROM outbox JOIN inbox ON inbox.id = inbox_id WHERE ${of("announce")} AND outbox.state = 'sent'`,
  "all of it written": `SELECT 1 FROM inbox WHERE ${of("announce")} AND state = 'done'`,
};

test.each(Object.keys(STEPS))("a subagent: killed with %s, its result is told once", async (step) => {
  const at = fixture();
  await at.config({ commands: { ownerAllowFrom: [String(ADA)] } });
  at.model.answer(obeyed);
  const gateway = await at.start();
  at.telegram.say("please start kid-a");
  const sql = STEPS[step] ?? "";
  while (journalRows(at.home, sql).length === 0) await new Promise((resolve) => setImmediate(resolve));
  gateway.signal("SIGKILL");
  await gateway.ended;
  const next = await at.start();
  await at.telegram.waitFor((call) => call.ok && call.text.includes("of result-a-end"));
  await quiet(at);
  expectToldOnce(at, at.telegram.shown(ADA));
  await expectKnownCalls(at);
  expect(rowsOf(at).filter(({ kind }) => kind === "subagent")).toHaveLength(1);
  expect(await next.kill("SIGTERM")).toBe(0);
});

const KILLS = Number(process.env["OPENCLAW_SUBAGENT_KILLS"] ?? 10);
const MESSAGES = Math.max(5, KILLS / 2);

test("twenty subagents over random kills are each reported once", async () => {
  const at = fixture();
  await at.config({ commands: { ownerAllowFrom: [String(ADA)] } });
  const next = random(7);
  let left = Number.POSITIVE_INFINITY;
  let strike: () => void = () => undefined;
  at.model.answer((call) => {
    left -= 1;
    if (left === 0) strike();
    return obeyed(call);
  });
  let said = 0;
  const sayOne = () => {
    if (said >= MESSAGES) return;
    const names = ["a", "b", "c", "d"].map((name) => `kid-${said}${name}`);
    at.telegram.say(`please start ${names.join(" ")}`);
    said += 1;
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    const gateway = await at.start();
    left = 1 + next(8);
    sayOne();
    // When all is answered there is no moment left to strike at.
    const bored = setInterval(() => isQuiet(at) && strike(), 50);
    await new Promise<void>((resolve) => (strike = resolve));
    clearInterval(bored);
    strike = () => undefined;
    gateway.signal("SIGKILL");
    await gateway.ended;
  }
  while (said < MESSAGES) sayOne();
  const last = await at.start();
  // All have begun and ended before the model answers otherwise.
  await expect.poll(() => rowsOf(at).filter(({ kind }) => kind === undefined).length).toBe(MESSAGES);
  await quiet(at);
  await at.goesOn();
  await quiet(at);
  expectToldOnce(at, at.telegram.shown(ADA));
  await expectKnownCalls(at);
  expect(await last.kill("SIGTERM")).toBe(0);
});
