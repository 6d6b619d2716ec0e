import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { expectShape } from "../../server/shapes.ts";
import { type Config, test, type World } from "../../kit/gateway/world.ts";

const OWNED = { commands: { ownerAllowFrom: ["telegram:1001"] } };
/** What the scripted provider counts for each call. */
const IN = 10;
const OUT = 5;
/** Dollars for a million tokens: a thousandth of one each. */
const COST = { input: 1000, output: 1000 };

function priced({ model: { url } }: World, more: Config = {}): Config {
  const models = [
    { id: "fake-1", contextWindow: 100_000, maxTokens: 2000, cost: COST },
    { id: "small", contextWindow: 100_000, maxTokens: 2000, cost: { input: 1, output: 1 } },
  ];
  const providers = { fake: { baseUrl: url, apiKey: "x", api: "openai-completions", models } };
  return { ...OWNED, models: { providers }, ...more };
}

describe.concurrent("what models take", () => {
  test("is the same figure in every place, and the provider's", async ({ world, expect }) => {
    const { home, gateway } = await world.start(priced(world));
    world.script([
      [/second/, () => ({ text: "well: second" })],
      [/long/, () => ({ text: "a b c" })],
    ]);
    world.telegram.say("long one");
    await world.told("a b c");
    world.telegram.say("second");
    await world.told("well: second");
    const calls = world.model.calls.length;
    const meant = { calls, input: calls * IN, output: calls * OUT, totalTokens: calls * (IN + OUT) };
    const cost = expect.closeTo(calls * (IN + OUT) * 0.001, 9);
    const asked = await home.run(["usage", "--by", "model", "--json"]);
    expect(JSON.parse(asked.stdout)).toMatchObject({
      rows: [{ name: "fake/fake-1", ...meant, totalCost: cost }],
      totals: meant,
      held: { calls: 0, tokens: 0 },
    });
    for (const by of ["day", "agent", "session"])
      expect(JSON.parse((await home.run(["usage", "--by", by, "--json"])).stdout)).toMatchObject({ rows: [meant] });
    expect(await call(gateway, "usage.cost")).toMatchObject({ totals: { ...meant, totalCost: cost }, daily: [meant] });
    expect(await call(gateway, "sessions.usage")).toMatchObject({ totals: meant, sessions: [{ usage: meant }] });
    expect(await call(gateway, "usage.status")).toMatchObject({ budgets: [], today: meant });
    world.telegram.say("/usage");
    const line = `${meant.totalTokens} tokens, $0.0${meant.totalTokens}0, ${calls} calls`;
    await world.told(`This conversation today: ${line}`);
    await gateway.kill();
    expect((await home.run(["usage"])).stdout).toMatch(
      new RegExp(`^DAY[^]*${calls} +${meant.input} +${meant.output} `),
    );
  });
});

describe.concurrent("the limits of a provider's key", () => {
  test("are shown as its last answer told them", async ({ world, expect }) => {
    const { home, gateway } = await world.start(priced(world));
    const headers = {
      "x-ratelimit-limit-requests": "200",
      "x-ratelimit-remaining-requests": "150",
      "x-ratelimit-reset-requests": "1h0m0s",
    };
    world.model.answer(() => ({ text: "Good day.", headers }));
    expect((await home.run(["status", "--usage"])).stdout).toContain("No provider has told its limits");
    world.telegram.say("hello");
    await world.told("Good day.");
    expect(await call(gateway, "usage.status")).toMatchObject({
      providers: [
        {
          provider: "fake",
          displayName: "fake",
          profileId: expect.any(String),
          windows: [{ label: "requests", usedPercent: 25, resetAt: expect.any(Number) }],
        },
      ],
    });
    expect((await home.run(["status", "--usage"])).stdout).toMatch(/requests +75 % left +in (?:1 h|59 min|60 min)/);
    expect((await home.run(["gateway", "usage-cost"])).stdout).toMatch(/^DAY[^]* 1 +10 +5 /);
  });
});

describe.concurrent("the calls of a subagent", () => {
  test("count for the run and the conversation that it was started in", async ({ world, expect }) => {
    const { gateway } = await world.start(priced(world, { budgets: { run: { tokens: 1_000_000 } } }));
    world.model.answer((asked) => {
      if (asked.system.includes("# Subagent Context")) return { text: "it is found" };
      if (asked.isAfterTool) return { text: "at work" };
      if (asked.said.includes("begin")) return { tool: "sessions_spawn", args: { task: "look", label: "look" } };
      return { text: "told of it" };
    });
    world.telegram.say("begin");
    await world.told("told of it");
    const calls = world.model.calls.length;
    const asked = { key: "telegram:default:1001", range: "7d", groupBy: "family" };
    expectShape("SessionsUsageParams", asked);
    const own = await call(gateway, "sessions.usage", { ...asked, groupBy: "instance" });
    expect(own).toMatchObject({ totals: { calls: calls - 1 } });
    const family = await call(gateway, "sessions.usage", asked);
    expect(family).toMatchObject({
      sessions: [{ key: `agent:main:${asked.key}`, usage: { calls, input: calls * IN } }],
    });
    const all = await call(gateway, "sessions.usage", { range: "7d" });
    expect(all).toMatchObject({
      totals: { calls },
      sessions: [{ usage: { calls: calls - 1 } }, { usage: { calls: 1 } }],
    });
  });
});

describe.concurrent("a call of a gateway that is killed", () => {
  test("counts with what it may have taken, and is shown apart", async ({ world, expect }) => {
    const { home, gateway } = await world.start(priced(world));
    world.model.answer(() => "hang");
    world.telegram.say("hello");
    await expect.poll(() => world.model.calls.length, { timeout: 20_000 }).toBe(1);
    expect((await home.run(["usage"])).stdout).toMatch(
      /Running now: 1 calls, for which [\d,]+ tokens \(\$\d+\.\d\d\) are held\./,
    );
    await gateway.kill("SIGKILL");
    world.model.answer(() => ({ text: "Good day." }));
    await home.start();
    await world.told("Good day.");
    const { stdout } = await home.run(["usage", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      totals: { calls: 2, input: IN, output: OUT, unknownTokens: expect.any(Number) },
      held: { calls: 0 },
    });
    expect(JSON.parse(stdout).totals.unknownTokens).toBeGreaterThan(2000);
    expect((await home.run(["usage"])).stdout).toContain("Calls of a gateway that was killed may have taken up to ");
  });
});

describe.concurrent("a budget", () => {
  test("asks an owner when it is used up, and the answer goes on after a yes", async ({ world, expect }) => {
    const { gateway } = await world.start(priced(world, { budgets: { day: { money: 0.01 } } }));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    const asked = await world.told("A budget does not allow the next step");
    expect(asked.text).toContain(
      "the budget for today does not allow it: $0.00 of $0.0100 is spent or held, and this call can take up to $",
    );
    expect(world.model.calls).toEqual([]);
    world.telegram.say(`/approve ${/\/approve (\w+)/.exec(asked.text)?.[1]} once`);
    await world.told("Good day.");
    expect(await call(gateway, "usage.status")).toMatchObject({
      budgets: [{ key: "budgets.day", usd: { taken: expect.closeTo(0.015, 9) } }],
    });
  });

  test("that is set while the gateway runs holds from the next call on, without a restart", async ({
    world,
    expect,
  }) => {
    const { home, gateway } = await world.start(priced(world));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    await world.told("Good day.");
    await home.writeConfig(world.config(priced(world, { budgets: { day: { tokens: 1 } } })));
    await gateway.logged("config applied");
    world.telegram.say("and now?");
    await world.told("A budget does not allow the next step");
    expect(world.model.calls).toHaveLength(1);
    expect((await home.run(["status"])).stdout).not.toContain("restart needed");
  });

  test("is raised with /budget raise, and what waited goes on", async ({ world }) => {
    await world.start(priced(world, { budgets: { session: { tokens: 100 } } }));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    await world.told("A budget does not allow the next step");
    world.telegram.say("/budget raise 50000 tokens");
    await world.told("Raised. budgets.session (this conversation today): 0 of 50,100 tokens");
    await world.told("Good day.");
    world.telegram.say("/budget");
    await world.told("budgets.session (this conversation today): 15 of 50,100 tokens");
  });

  test("says so in the chat after a no, and asks no model", async ({ world, expect }) => {
    await world.start(priced(world, { budgets: { day: { money: 0.01 } } }));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    const asked = await world.told("A budget does not allow the next step");
    world.telegram.say(`/approve ${/\/approve (\w+)/.exec(asked.text)?.[1]} deny`);
    await world.told("The budget does not allow another model call right now");
    expect(world.model.calls).toEqual([]);
  });

  test("of a single call shortens the answer that is asked for", async ({ world, expect }) => {
    await world.start(priced(world, { budgets: { call: { tokens: 20_000 } } }));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    await world.told("Good day.");
    expect(world.model.calls[0]?.maxTokens).toBe(2000);
  });

  test("skips what nobody waits for, and says so once", async ({ world, expect }) => {
    const { home } = await world.start(priced(world, { budgets: { job: { tokens: 0 } } }));
    world.script([
      [/and now/, () => ({ text: "All well." })],
      [/hello/, () => ({ text: "Good day." })],
    ]);
    world.telegram.say("hello");
    await world.told("Good day.");
    const added = await home.run([
      "cron",
      "add",
      "0 9 * * *",
      "look around",
      "--name",
      "look",
      "--no-deliver",
      "--json",
    ]);
    const [, id = ""] = /"id": "([^"]+)"/.exec(added.stdout) ?? [];
    for (const _time of [1, 2]) await home.run(["cron", "run", id, "--wait", "--poll-interval", "50ms"]);
    const told = await world.told("Skipped (cron): the budget for this job today does not allow it");
    expect(told.text).toContain("budgets.job");
    const runs = await home.run(["cron", "runs", "--id", id, "--json"]);
    expect(runs.stdout.match(/"status": "skipped"/g)).toHaveLength(2);
    world.telegram.say("and now?");
    await world.told("All well.");
    expect(world.telegram.sent.filter(({ text }) => text.includes("Skipped (cron)"))).toHaveLength(1);
    expect(world.model.calls).toHaveLength(2);
  });

  test("that is nearly used up has a smaller model answer, and the chat is told once", async ({ world, expect }) => {
    const soft = { share: 0.0001, model: "fake/small" };
    await world.start(priced(world, { budgets: { session: { tokens: 100_000 }, soft } }));
    world.script(
      ["one", "two", "three"].toReversed().map((word) => [new RegExp(word), () => ({ text: `I say ${word}.` })]),
    );
    for (const word of ["one", "two", "three"]) {
      world.telegram.say(word);
      await world.told(`I say ${word}.`);
    }
    expect(world.model.calls.map(({ model }) => model)).toEqual(["fake-1", "small", "small"]);
    const told = world.telegram.sent.filter(({ text }) => text.includes("so fake/small answers"));
    expect(told.map(({ text }) => text)).toEqual([
      "💰 Most of the budget for this conversation today is used (15 of 100,000 tokens), so fake/small answers.",
    ]);
  });

  test("that is raised too little leaves what waits for another one waiting", async ({ world, expect }) => {
    await world.start(priced(world, { budgets: { session: { tokens: 100 }, day: { tokens: 100 } } }));
    world.model.answer(() => ({ text: "Good day." }));
    world.telegram.say("hello");
    await world.told("A budget does not allow the next step");
    world.telegram.say("/budget raise 1 tokens session");
    await world.told("Other work still waits");
    world.telegram.say("/budget raise 50000 tokens day");
    await world.told("Raised. budgets.day");
    world.telegram.say("/budget raise 50000 tokens session");
    await world.told("What waited for it goes on.");
    await world.told("Good day.");
    world.telegram.say("/budget");
    const shown = await world.told("Budgets:");
    expect(shown.text).toContain("budgets.session (this conversation today): 15 of 50,101 tokens");
    expect(shown.text).toContain("budgets.day (today): 15 of 50,100 tokens");
  });
});

describe.concurrent("what a run brings about", () => {
  test("counts for the person and the run that began it, however many announcements follow", async ({
    world,
    expect,
  }) => {
    const { home } = await world.start({ ...priced(world), commands: { ownerAllowFrom: ["7"] } });
    let left = 3;
    world.model.answer((asked) => {
      if (asked.system.includes("# Subagent Context")) return { text: "found" };
      if (asked.isAfterTool) return { text: "at work" };
      left -= 1;
      return left < 0 ? { text: "that was all" } : { tool: "sessions_spawn", args: { task: "look" } };
    });
    world.telegram.say("begin");
    await world.told("that was all");
    await expect
      .poll(() => sumsOf(home, "sender"))
      .toEqual([{ name: "telegram:1001", calls: world.model.calls.length }]);
    expect(sumsOf(home, "run")).toEqual([expect.objectContaining({ calls: world.model.calls.length })]);
    expect(world.model.calls).toHaveLength(10);
  });
});

function sumsOf({ stateDir }: Home, scope: string): readonly object[] {
  const journal = new DatabaseSync(join(stateDir, "state", "journal.sqlite"), { readOnly: true });
  try {
    const rows = journal
      .prepare("SELECT name, sum(calls) AS calls FROM spend WHERE scope = ? GROUP BY name")
      .all(scope);
    return rows.map((row) => ({ ...row }));
  } finally {
    journal.close();
  }
}
