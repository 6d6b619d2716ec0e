import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { run } from "../../kit/gateway/cli.ts";

let dir: string;
let state: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "skills-cli-"));
  state = join(dir, "state");
  mkdirSync(join(dir, "bin"));
  mkdirSync(state);
  env = { PATH: join(dir, "bin"), HOME: dir, OPENCLAW_STATE_DIR: state };
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const skills = (...args: string[]) => run(["skills", ...args], env);
const config = (value: unknown) => writeFileSync(join(state, "openclaw.json"), JSON.stringify(value));

/** A folder with a skill whose conditions are `openclaw`. */
function skill(root: string, name: string, openclaw: object = {}, more = ""): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  const metadata = JSON.stringify({ openclaw });
  writeFileSync(
    join(folder, "SKILL.md"),
    `---\nname: ${name}\ndescription: About ${name}.\nmetadata: ${metadata}\n${more}---\nDo it.\n`,
  );
  return folder;
}

function program(name: string): void {
  writeFileSync(join(dir, "bin", name), "#!/bin/sh\n");
  chmodSync(join(dir, "bin", name), 0o755);
}

const tides = {
  emoji: "🌊",
  homepage: "https://tides.example",
  primaryEnv: "TIDE_KEY",
  requires: { bins: ["tide", "moon"], env: ["TIDE_KEY", "PORT_NAME"], config: ["browser.enabled"] },
  install: [
    { id: "brew", kind: "brew", formula: "tide", bins: ["tide"], label: "Install tide (brew)" },
    { kind: "node", package: "moon-phase", bins: ["moon"] },
    { kind: "carrier-pigeon", bins: ["tide"] },
  ],
};

const HOSTILE = "a\u202eb\u009b2Jc\u200f\u001b[31md";
const STEERING = /[^\P{Cc}\n\t]|\p{Bidi_Control}/u;

describe.each([false, true])("texts that a stranger chose, on a terminal: %s", (isTerminal) => {
  test.each([
    ["doctor"],
    ["doctor", "--json"],
    ["skills"],
    ["skills", "--json"],
    ["skills", "info", "odd"],
    ["skills", "info", "odd", "--json"],
    ["skills", "info", HOSTILE],
    ["skills", "info", HOSTILE, "--json"],
    ["skills", "check"],
    ["agents", "list"],
    ["agents", "list", "--json"],
    ["agents", "bindings"],
    ["plugins", "list"],
    ["plugins", "doctor"],
    ["hooks", "list"],
    ["mcp", "list"],
    ["models", "status"],
    [HOSTILE],
    [HOSTILE, "--json"],
  ])("steer nothing in the output of %j", async (...args) => {
    const odd = skill(join(state, "skills"), "odd", { ...tides, emoji: HOSTILE, requires: { bins: [HOSTILE] } });
    const text = readFileSync(join(odd, "SKILL.md"), "utf8");
    writeFileSync(join(odd, "SKILL.md"), text.replace("About odd.", JSON.stringify(`About ${HOSTILE}`)));
    skill(join(state, "skills"), HOSTILE);
    mkdirSync(join(state, "hooks", HOSTILE), { recursive: true });
    config({
      agents: { list: [{ id: "main", name: HOSTILE }] },
      mcp: { servers: { [HOSTILE]: { url: "https://127.0.0.1:9" } } },
      plugins: { load: { paths: [join(dir, HOSTILE)] } },
    });
    const { out, err } = await run(args, env, isTerminal);
    expect(out + err).not.toBe("");
    expect(isTerminal ? out.replaceAll("\u001b[31m", "") : out).not.toMatch(STEERING);
    expect(err).not.toMatch(STEERING);
    if (args.includes("--json")) JSON.parse(out);
  });
});

describe("skills", () => {
  test("are listed with their source, and what each one lacks", async () => {
    skill(join(state, "skills"), "tides", tides);
    skill(join(state, "workspace", "skills"), "ready");
    config({ browser: { enabled: false }, skills: { entries: { notes: { enabled: false } } } });
    const { out, code } = await skills();
    expect(code).toBe(0);
    expect(out).toMatch(
      /🌊 tides +needs program tide, moon; variable TIDE_KEY, PORT_NAME; config key browser\.enabled +managed/,
    );
    expect(out).toMatch(/^ready +ready +workspace +About ready\.$/m);
    expect(out).toMatch(/^notes +off \(skills\.entries\) +bundled/m);
    expect((await skills("list", "-v")).out).toContain(join(state, "skills", "tides", "SKILL.md"));
    const json = JSON.parse((await skills("list", "--json", "--eligible")).out);
    expect(json).toMatchObject({ agentId: "main", managedSkillsDir: join(state, "skills") });
    expect(json.skills.map(({ name }: { name: string }) => name)).toContain("ready");
    expect(json.skills.map(({ name }: { name: string }) => name)).not.toContain("tides");
  });

  test("of strangers put no command of their own into the commands that a person copies", async () => {
    const act = "x; touch /tmp/made $(id) `id` | sh 'q' \n&";
    const installers = ["brew", "apt", "node", "go", "uv", "download"].map((kind) => ({
      kind,
      ...{ brew: { formula: act }, apt: { package: act }, node: { package: act }, uv: { package: act } }[kind],
      ...{ go: { module: act }, download: { url: act } }[kind],
      bins: ["tide"],
    }));
    const requires = { bins: ["tide"], env: [act], config: [act] };
    skill(join(state, "skills"), "bad", { requires, install: installers, skillKey: act });
    config({});
    const { out } = await skills("info", "bad", "--json");
    const { install } = JSON.parse(out);
    const copied = [
      ...install.map(({ command }: { command: string }) => command),
      ...(await skills("info", "bad")).out
        .split("\n")
        .flatMap((line) => /openclaw .*(?= <value>)/.exec(line)?.[0] ?? []),
    ];
    expect(copied.length).toBeGreaterThan(5);
    const bare = copied.map((command) => command.replaceAll(/'[^']*'|\\'/g, ""));
    expect(bare.filter((command) => /[;&|$`<>()\n]/.test(command))).toEqual([]);
  });

  test("are told of one by one, with the steps after which one can be used", async () => {
    skill(join(state, "skills"), "tides", tides);
    config({ browser: { enabled: false } });
    const { out } = await skills("info", "tides");
    expect(out).toMatch(/homepage +https:\/\/tides\.example/);
    expect(out).toContain("Install tide (brew): brew install tide");
    expect(out).toContain("npm install -g moon-phase");
    expect(out).not.toContain("pigeon");
    expect(out).toContain("openclaw config set skills.entries.tides.apiKey <value>");
    expect(out).toContain("openclaw config set skills.entries.tides.env.PORT_NAME <value>");
    expect(out).toContain("openclaw config set browser.enabled <value>");
    expect(await skills("info", "tide")).toMatchObject({
      code: 1,
      err: expect.stringContaining("Did you mean tides?"),
    });

    program("tide");
    program("moon");
    config({
      browser: { enabled: true },
      skills: { entries: { tides: { apiKey: "key-of-the-sea", env: { PORT_NAME: "Husum" } } } },
    });
    const ready = await skills("info", "tides");
    expect(ready.out).toMatch(/state +ready/);
    expect(ready.out).not.toContain("To use it");
    expect(ready.out).not.toContain("key-of-the-sea");
    const json = JSON.parse((await skills("info", "tides", "--json")).out);
    expect(json).toMatchObject({ eligible: true, emoji: "🌊", install: [], missing: { bins: [], env: [] } });
  });

  test("check names what each lacks and ends well", async () => {
    skill(join(state, "skills"), "tides", tides);
    config({ browser: { enabled: false } });
    const checked = await skills("check");
    expect(checked.code).toBe(0);
    expect(checked.out).toContain("🌊 tides: needs program tide, moon");
    const json = JSON.parse((await skills("check", "--json")).out);
    expect(json.summary).toMatchObject({ missingRequirements: json.missingRequirements.length, blocked: 0 });
    expect(json.missingRequirements).toContainEqual(
      expect.objectContaining({ name: "tides", missing: expect.objectContaining({ bins: ["tide", "moon"] }) }),
    );
    expect(json.eligible).toContain("notes");
  });

  test("are those of the agent that a flag names, and of enabled plugins", async () => {
    const other = join(dir, "other");
    skill(join(other, "skills"), "own");
    config({ agents: { list: [{ id: "main" }, { id: "second", workspace: other, skills: ["own"] }] } });
    const list = JSON.parse((await skills("list", "--agent", "second", "--json")).out);
    expect(list.agentId).toBe("second");
    const states = new Map(list.skills.map((one: { name: string; eligible: boolean }) => [one.name, one.eligible]));
    expect(states.get("own")).toBe(true);
    expect(states.get("notes")).toBe(false);
    expect((await skills("list", "--agent", "second")).out).toMatch(/notes +not for this agent/);
    expect(await skills("list", "--agent", "third")).toMatchObject({
      code: 1,
      err: expect.stringContaining("main, second"),
    });
  });

  test("no control character of a skill reaches the terminal", async () => {
    skill(join(state, "skills"), "odd", {
      emoji: "\u001b[31m",
      install: [{ kind: "go", label: "\u001b]0;x\u0007" }],
      requires: { bins: ["x"] },
    });
    for (const args of [["list"], ["info", "odd"], ["check"]]) {
      const { out } = await skills(...args);
      // oxlint-disable-next-line no-control-regex -- the characters that must not be there
      expect(out).not.toMatch(/[\u0007\u001b]/);
    }
  });
});
