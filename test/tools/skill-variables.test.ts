import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ownerScene } from "../../scripts/docs/owner-scene.ts";
import { SkillCatalog } from "../../src/app/compose/skill-catalog.ts";
import { Live } from "../../src/app/live.ts";
import { loadConfig } from "../../src/app/config/load.ts";
import { resolvePaths } from "../../src/app/config/paths.ts";
import { hostBackends } from "../../src/tools/host/host.ts";
import { givingSkillVariables } from "../../src/tools/skill-variables.ts";
import { backendTools } from "../../src/tools/tools.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { OPERATOR, type Principal } from "../../src/types/run/principal.ts";
import { noRules, textOf, toolContext } from "../kit/tools.ts";

const KEY = "key-of-the-tidy-skill-4711";

async function ground() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "skill-variables-")));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const workspace = join(dir, "workspace");
  for (const name of ["tidy", "other"]) {
    mkdirSync(join(workspace, "skills", name), { recursive: true });
    writeFileSync(join(workspace, "skills", name, "SKILL.md"), `---\nname: ${name}\ndescription: d\n---\nDo it.\n`);
  }
  const needing = { requires: { env: ["TIDY_KEY"] } };
  for (const [name, own] of Object.entries({
    keyed: { ...needing, skillKey: "settings", primaryEnv: "TIDY_KEY" },
    needy: needing,
  })) {
    const front = `name: ${name}\ndescription: d\nmetadata: ${JSON.stringify({ openclaw: own })}`;
    mkdirSync(join(workspace, "skills", name), { recursive: true });
    writeFileSync(join(workspace, "skills", name, "SKILL.md"), `---\n${front}\n---\nDo it.\n`);
  }
  const config = {
    agents: { defaults: { workspace } },
    skills: {
      entries: { tidy: { env: { TIDY_KEY: KEY, LD_PRELOAD: "/x", PATH: "/evil" } }, settings: { apiKey: KEY } },
    },
  };
  const path = join(dir, "openclaw.json");
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  const loaded = await loadConfig({ path, env: {} });
  const live = new Live(resolvePaths({ HOME: dir, OPENCLAW_STATE_DIR: join(dir, "state") }), dir, loaded);
  const catalog = new SkillCatalog(live, () => undefined);
  const tools = givingSkillVariables(backendTools(noRules), (id) => catalog.variablesOf(id));
  /** The tools of one run. */
  const run = (principal: Principal = OPERATOR) => {
    const base = ownerScene();
    const agent = { ...base.agent, workspace, id: agentId("main") };
    const host = hostBackends({ settings: agent, rights: "owner", deniedPaths: [] });
    const scene = { ...base, ...host, agent, acting: { principal, sessionKey: sessionKey("s") } };
    const made = new Map(tools.map((tool) => [tool.name, tool.forRun(scene)]));
    return async (name: string, input: object) => {
      const result = await made.get(name)?.run(input, toolContext(workspace));
      return result ? textOf(result) : "";
    };
  };
  const offered = async () => (await catalog.of(live.defaultAgent)).forModel.map(({ name }) => name);
  return { workspace, run, offered };
}

const HAS = { command: 'echo "${TIDY_KEY:-none} $LD_PRELOAD" | rev; echo "$TIDY_KEY"; echo "$PATH"' };
const decoded = (said: string) => [...(said.split("\n")[0] ?? "")].toReversed().join("").trim();

it.skipIf(process.platform === "win32")(
  "the variables of a skill are in the commands of a run from when it has read the skill, and in no other",
  async () => {
    const { run, workspace } = await ground();
    const [one, another] = [run(), run()];
    expect(decoded(await one("exec", HAS))).toBe("none");
    await one("read", { path: "skills/other/SKILL.md" });
    expect(decoded(await one("exec", HAS))).toBe("none");
    await one("read", { path: "skills/tidy/SKILL.md" });
    const said = await one("exec", HAS);
    expect(decoded(said)).toBe(KEY);
    // Its output has no secret as it is, and neither code to load nor another path.
    expect(said).toContain("[secret]");
    expect(said).not.toMatch(/evil/);
    expect(decoded(await another("exec", HAS))).toBe("none");
    symlinkSync("skills/tidy/SKILL.md", join(workspace, "link.md"));
    await another("read", { path: "link.md" });
    expect(decoded(await another("exec", HAS))).toBe(KEY);
  },
);

it.skipIf(process.platform === "win32")("a guest's run never has them", async () => {
  const { run } = await ground();
  const guest = run({ kind: "sender", id: "telegram:43" });
  await guest("read", { path: "skills/tidy/SKILL.md" });
  expect(decoded(await guest("exec", HAS))).toBe("none");
});

it.skipIf(process.platform === "win32")(
  "a skill that needs a variable is offered where the config gives it, by the key in its metadata or as its one key",
  async () => {
    const { run, workspace, offered } = await ground();
    const names = await offered();
    expect(names).toContain("keyed");
    expect(names).not.toContain("needy");
    const one = run();
    expect(decoded(await one("exec", HAS))).toBe("none");
    await one("read", { path: join(workspace, "skills", "keyed", "SKILL.md") });
    expect(decoded(await one("exec", HAS))).toBe(KEY);
  },
);
