import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type FakeModel, startFakeModel } from "../../fakes/model.ts";
import { type Ended, type Home, makeHome, PATIENCE } from "../../kit/gateway/process.ts";
import { call } from "../../kit/gateway/rpc.ts";
import { merge, test } from "../../kit/gateway/world.ts";

/** What is wrong with a state directory, and what `openclaw doctor` says of it. */
interface Broken {
  readonly name: string;
  /** Breaks the state directory; returns keys that the config has besides. */
  readonly how: (home: Home) => object | void;
  readonly check: string;
  readonly status: "warn" | "fail";
  readonly says: RegExp;
  readonly fix: RegExp;
  /** No command may be advised that moves or removes what is sound. */
  readonly never?: RegExp;
}

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

let model: FakeModel;
let used: Home;
beforeAll(async () => {
  model = await startFakeModel();
  used = await makeHome(config());
  // Another user has to reach the copies.
  if (isRoot) chmodSync(dirname(used.dir), 0o711);
  const gateway = await used.start();
  await call(gateway, "chat.send", { sessionKey: "main", message: "hello", idempotencyKey: "1" });
  await gateway.logged("run ended");
  await gateway.kill();
});
afterAll(async () => {
  await used.remove();
  await model.close();
});

const config = (more: object = {}) =>
  merge(
    {
      models: {
        providers: { fake: { baseUrl: model.url, apiKey: "x", api: "openai-completions", models: [{ id: "fake-1" }] } },
      },
      agents: { defaults: { model: { primary: "fake/fake-1" } } },
    },
    { ...more },
  );

/** A copy of the used directory, broken. Without root's rights, which no mode stops. */
async function breakIt({ how }: Pick<Broken, "how">): Promise<Home> {
  const home = await makeHome(config());
  rmSync(home.stateDir, { recursive: true });
  cpSync(used.stateDir, home.stateDir, { recursive: true });
  await home.writeConfig(config());
  own(home.dir);
  await home.writeConfig(config(how(home) ?? {}));
  if (isRoot) home.user = NOBODY;
  return home;
}

/** Private directories of the user that runs the commands. */
function own(dir: string): void {
  const below = readdirSync(dir, { recursive: true, withFileTypes: true });
  const paths = below.map((entry) => ({ path: join(entry.parentPath, entry.name), isDir: entry.isDirectory() }));
  for (const { path, isDir } of [...paths, { path: dir, isDir: true }]) {
    if (isRoot) chownSync(path, NOBODY, NOBODY);
    if (isDir) chmodSync(path, 0o700);
  }
}

/** Takes the right to write from this user, as a start with `sudo` does. */
function closeDir(dir: string, mode = 0o555): void {
  chmodSync(dir, mode);
  if (isRoot) chownSync(dir, 0, 0);
}

const report = ({ stdout }: Ended) =>
  (JSON.parse(stdout) as { checks: { id: string; results: { status: string; message: string; fix?: string }[] }[] })
    .checks;

const CHOWN = /chown -R|chmod/;
const MOVES = /\bmv\b|\/new|aside/;

const CASES: readonly Broken[] = [
  {
    name: "a workspace that cannot be made",
    how: ({ dir }) => {
      mkdirSync(join(dir, "closed"));
      closeDir(join(dir, "closed"));
      return { agents: { defaults: { workspace: join(dir, "closed", "ws") } } };
    },
    check: "app.workspaces",
    status: "fail",
    says: /workspace .*closed\/ws cannot be used.*does not start/,
    fix: /agents\.defaults\.workspace/,
  },
  {
    name: "a workspace that is a file",
    how: ({ dir }) => {
      writeFileSync(join(dir, "ws"), "");
      return { agents: { defaults: { workspace: join(dir, "ws") } } };
    },
    check: "app.workspaces",
    status: "fail",
    says: /is no directory/,
    fix: /agents\.defaults\.workspace/,
  },
  {
    name: "a workspace that was deleted",
    how: ({ stateDir }) => rmSync(join(stateDir, "workspace"), { recursive: true }),
    check: "app.workspaces",
    status: "warn",
    says: /is missing: the next start makes one without/,
    fix: /backup/,
  },
  {
    name: "broken rules of commands",
    how: ({ stateDir }) => writeFileSync(join(stateDir, "exec-approvals.json"), "{ broken", { mode: 0o600 }),
    check: "app.exec-approvals",
    status: "fail",
    says: /exec-approvals\.json cannot be used/,
    fix: /Correct it/,
  },
  {
    name: "state/ that belongs to another user",
    how: ({ stateDir }) => closeDir(join(stateDir, "state")),
    check: "app.permissions",
    status: "fail",
    says: /cannot use .*\/state: /,
    fix: CHOWN,
    never: MOVES,
  },
  {
    name: "a journal that may not be opened",
    how: ({ stateDir }) => closeDir(join(stateDir, "state", "journal.sqlite"), 0o000),
    check: "store.journal",
    status: "fail",
    says: /unable to open database file/,
    fix: /belongs to this user/,
    never: MOVES,
  },
  {
    name: "sessions/ that cannot be read",
    how: ({ stateDir }) => closeDir(join(stateDir, "sessions"), 0o000),
    check: "sessions.permissions",
    status: "fail",
    says: /sessions cannot be used/,
    fix: CHOWN,
    never: MOVES,
  },
  {
    name: "sessions/ that cannot be written",
    how: ({ stateDir }) => closeDir(join(stateDir, "sessions")),
    check: "app.permissions",
    status: "fail",
    says: /cannot use .*\/sessions: /,
    fix: CHOWN,
    never: MOVES,
  },
  {
    name: "an empty journal beside transcripts",
    how: ({ stateDir }) => {
      for (const name of readdirSync(join(stateDir, "state")).filter((one) => one.startsWith("journal.sqlite")))
        writeFileSync(join(stateDir, "state", name), "");
    },
    check: "store.journal",
    status: "warn",
    says: /missing or empty, though there are 1 transcripts: pairings/,
    fix: /backup/,
  },
  {
    name: "a damaged journal",
    how: ({ stateDir }) => writeFileSync(join(stateDir, "state", "journal.sqlite"), "no database ".repeat(400)),
    check: "store.journal",
    status: "fail",
    says: /cannot be read/,
    fix: /backup.*pairings, scheduled jobs.* are lost/,
  },
  {
    name: "a config with a key that nobody knows, and the file before the last change",
    how: ({ configPath }) => {
      cpSync(configPath, `${configPath}.bak`);
      return { gatway: {} };
    },
    check: "app.config",
    status: "fail",
    says: /unknown key/,
    fix: /before the last change is .*openclaw\.json\.bak/,
  },
  {
    name: "a directory of another program",
    how: ({ stateDir }) => void mkdirSync(join(stateDir, "agents", "main", "sessions"), { recursive: true }),
    check: "app.adopted",
    status: "warn",
    says: /Channels stay off: another program keeps/,
    fix: /Stop the other program/,
  },
  {
    name: "an address that others reach, without encryption",
    how: () => ({ gateway: { bind: "lan" } }),
    check: "app.token",
    status: "warn",
    says: /not encrypted/,
    fix: /TLS proxy/,
  },
  {
    name: "a model that its server does not know",
    how: () => ({ agents: { defaults: { model: { primary: "fake/fake-2" } } } }),
    check: "model",
    status: "warn",
    says: /does not list this model/,
    fix: /Did you mean fake-1/,
  },
];

describe.concurrent("doctor", () => {
  it("finds nothing in the directory that is not broken", async () => {
    const home = await breakIt({ how: () => undefined });
    const doctor = await home.run(["doctor", "--json"]);
    const bad = report(doctor).filter(({ results }) => results.some(({ status }) => /warn|fail/.test(status)));
    expect([doctor.code, bad]).toEqual([0, []]);
    await home.remove();
  });

  it.each(CASES)("finds $name", async ({ how, check, status, says, fix, never }) => {
    const home = await breakIt({ how });
    const doctor = await home.run(["doctor", "--json"]);
    const checks = report(doctor);
    const found = checks.find(({ id }) => id === check)?.results ?? [];
    expect(found.filter((one) => one.status === status)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: expect.stringMatching(says), fix: expect.stringMatching(fix) }),
      ]),
    );
    if (never)
      expect(JSON.stringify(checks.flatMap(({ results }) => results.map((one) => one.fix)))).not.toMatch(never);
    expect(doctor.code).toBe(status === "fail" ? 1 : 0);
    await home.remove();
  });
});

test("a refused key is seen by the chat, status, readiness and the doctor", async ({ world, expect }) => {
  world.model.answer(() => ({ status: 401, message: "Incorrect API key provided" }));
  const { home, gateway } = await world.start();
  world.telegram.say("hello");
  await world.told(/⚠️/);
  const refused = 'The key "fake:config" was refused for fake/fake-1 (auth)';
  await vi.waitFor(async () => expect((await home.run(["status"])).stdout).toContain(refused), PATIENCE);
  const status = (await home.run(["status"])).stdout;
  expect(status).toMatch(/Ready +yes, but .*refused/);
  expect(status).toMatch(/Failing +The latest run failed \(auth\)/);
  const ready = await fetch(`http://127.0.0.1:${gateway.port}/readyz`);
  expect(JSON.stringify(await ready.json())).toContain("was refused");
  // The cooldown is written a little later.
  await vi.waitFor(async () => expect((await home.run(["doctor"])).stdout).toContain(refused), PATIENCE);
  expect((await home.run(["doctor"])).stdout).toMatch(/Latest runs +The latest run failed \(auth\)/);
});

test("a key that the list of models refuses is found before the first message", async ({ world, expect }) => {
  const home = await world.home();
  world.model.listStatus = 401;
  const doctor = await home.run(["doctor", "--only", "model"]);
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining("refuses the key (HTTP 401)")]);
});

test("broken rules of commands are seen by status of a running gateway", async ({ world, expect }) => {
  const { home } = await world.start();
  writeFileSync(join(home.stateDir, "exec-approvals.json"), "{ broken", { mode: 0o600 });
  expect((await home.run(["status"])).stdout).toMatch(/exec-approvals\.json cannot be used, so every command is asked/);
});
