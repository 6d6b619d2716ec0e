import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, vi } from "vitest";
import { PATIENCE } from "../../kit/gateway/process.ts";
import { test } from "../../kit/gateway/world.ts";

describe.concurrent("openclaw cron", () => {
  test("adds, shows, changes, runs and removes a job", async ({ world, expect }) => {
    const { home } = await world.start({ agents: { defaults: { userTimezone: "Europe/Vienna" } } });
    world.model.answer(() => ({ text: "All is well." }));
    const run = async (...args: string[]) => home.run(["cron", ...args]);
    expect((await run()).stdout).toContain("No scheduled jobs");
    const added = await run("add", "0 9 * * 1-5", "Is all well?", "--name", "check", "--no-deliver");
    expect(added.stdout).toMatch(/when +0 9 \* \* 1-5 \(Europe\/Vienna\)/);
    expect(added.stdout).toMatch(/next +\d{4}-\d\d-\d\d \d\d:00:00, \d{4}.*, \d{4}/);
    expect(added.stdout).toMatch(/a month +2\d runs, unknown before its first run/);
    const [, id = ""] = /id +(\S+)/.exec(added.stdout) ?? [];
    expect((await run("list")).stdout).toContain("check");
    const ran = await run("run", id, "--wait", "--poll-interval", "50ms");
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/check +ok +not-requested .*All is well\./)]);
    expect((await run("runs", "--id", id, "--json")).stdout).toContain('"status": "ok"');
    expect((await run("edit", id, "--every", "2h", "--name", "often")).stdout).toMatch(/often[\s\S]*every 2/);
    expect((await run("disable", id)).stdout).toBe('"often" is switched off.\n');
    expect((await run("list")).stdout).toContain("No scheduled jobs");
    expect((await run("list", "--all")).stdout).toContain("off");
    expect((await run("status")).stdout).toBe("1 jobs, 0 running. Next: none.\n");
    expect((await run("rm", id)).code).toBe(0);
    expect((await run("show", id)).stderr).toContain(`There is no scheduled job ${id}`);
  });

  test("says what is wrong with a job, and which flag", async ({ world, expect }) => {
    const { home } = await world.start();
    const tries = [
      [["add", "61 * * * *", "x"], 2, "Invalid value for minute"],
      [["add", "--message", "x"], 2, "say when: --at, --every, --cron"],
      [["add", "20m"], 2, "say what: --message, --system-event or --command"],
      [
        ["add", "--at", "2026-03-29T02:30", "--tz", "Europe/Vienna", "--message", "x"],
        2,
        "clocks are put forward over it",
      ],
      [["add", "--every", "often", "--message", "x"], 2, "--every: write it as 30m or 2h"],
      [["add", "2020-01-01T00:00", "x"], 2, "in the past"],
      [["edit", "nothing", "--name", "x"], 1, "There is no scheduled job nothing"],
      [["edit", "nothing"], 2, "say what is to be changed"],
    ] as const;
    for (const [args, code, words] of tries) {
      const told = await home.run(["cron", ...args]);
      expect([told.code, told.stderr]).toEqual([code, expect.stringContaining(words)]);
    }
  });

  test("takes over the jobs and records of another gateway, once", async ({ world, expect }) => {
    const { home, gateway } = await world.start();
    const folder = join(home.stateDir, "cron");
    await mkdir(join(folder, "runs"), { recursive: true });
    const payload = { kind: "agentTurn", message: "look" };
    const jobs = [
      {
        id: "one",
        name: "old",
        enabled: true,
        schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC" },
        payload,
        state: { lastRunAtMs: 1 },
      },
      {
        jobId: "two",
        name: "older",
        schedule: { kind: "at", atMs: 1_600_000_000_000 },
        payload: { kind: "agentturn", message: "x", deliver: false },
      },
      { id: "three", name: "new", schedule: { kind: "at", at: "1h" }, payload: { kind: "script", script: "x" } },
    ];
    await writeFile(join(folder, "jobs.json"), JSON.stringify({ version: 1, jobs }));
    const record = {
      ts: 1_700_000_000_000,
      jobId: "one",
      action: "finished",
      status: "ok",
      summary: "found nothing",
      durationMs: 5,
    };
    await writeFile(join(folder, "runs", "one.jsonl"), `${JSON.stringify(record)}\n{"ts":17`);
    // On a busy machine a check may not answer within its two seconds.
    await vi.waitFor(async () => expect((await home.run(["doctor"])).stdout).toContain("3 jobs of"), PATIENCE);
    const first = await home.run(["cron", "import"]);
    expect(first.stdout).toContain("2 jobs were added, 0 were here already; 1 records were added.");
    expect(first.stdout).toContain('Not added: "new": payload.kind "script" is not supported');
    expect((await home.run(["cron", "import"])).stdout).toContain("0 jobs were added, 2 were here already");
    const edited = join(home.dir, "edited.json");
    const rows = `null, 5, {id: "../x"}, {id: "j5", every: 60000, message: "x", enabled: false}, {id: "j5", every: 1000, message: "y"},`;
    await writeFile(edited, `\uFEFF{jobs: [${rows}]} // by hand`);
    const third = await home.run(["cron", "import", edited]);
    expect(third.stdout).toMatch(/^1 jobs were added, 1 were here already/);
    expect(third.stdout.match(/Not added: "a job without a name": it is no object/g)).toHaveLength(2);
    await writeFile(edited, "{no");
    const fourth = await home.run(["cron", "import", edited]);
    expect([fourth.code, fourth.stderr]).toEqual([1, expect.stringContaining("has no list of jobs: it is no JSON")]);
    const runs = await home.run(["cron", "runs"]);
    expect(runs.stdout.match(/found nothing/g)).toHaveLength(1);
    expect(world.model.calls).toHaveLength(0);
    await gateway.kill();
    const elsewhere = join(home.dir, "elsewhere.json");
    await writeFile(
      elsewhere,
      JSON.stringify([{ id: "four", schedule: { everyMs: 60_000 }, message: "look", enabled: false }]),
    );
    await writeFile(home.configPath, JSON.stringify(world.config({ cron: { store: elsewhere } })));
    await home.start();
    expect((await home.run(["cron", "import"])).stdout).toContain("1 jobs were added");
  });
});
