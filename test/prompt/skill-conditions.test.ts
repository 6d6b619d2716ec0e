import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BadSkill } from "../../src/prompt/skills/skill-file.ts";
import { loadSkills, SKILL_LIMITS } from "../../src/prompt/skills/skills.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "skills-"));
  await mkdir(join(root, "bin"));
  await writeFile(join(root, "bin", "curl"), "");
  await chmod(join(root, "bin", "curl"), 0o755);
  await writeFile(join(root, "bin", "notes"), "not executable", { mode: 0o644 });
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function skill(name: string, front = "", where = "work/skills"): Promise<void> {
  const folder = join(root, where, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "SKILL.md"), `---\nname: ${name}\ndescription: what ${name} does\n${front}\n---\n`);
}

async function offered(more: Partial<Parameters<typeof loadSkills>[0]> = {}) {
  const left: BadSkill[] = [];
  const sources = {
    workspace: join(root, "work"),
    stateDir: join(root, "state"),
    bundledDir: join(root, "bundled"),
    extraDirs: [],
    machine: {
      platform: "linux",
      env: { PATH: join(root, "bin"), KEY: "x", EMPTY: "" },
      config: { browser: { enabled: true }, off: false },
    },
    ...more,
  };
  const { forModel: skills } = await loadSkills(sources, (one) => left.push(one));
  return { names: skills.map(({ name }) => name), why: left.map(({ reason }) => reason).join("\n"), left };
}

const json = (own: object): string => `metadata: ${JSON.stringify({ openclaw: own })}`;

describe("the conditions of a skill", () => {
  it.each([
    ["another system", { os: ["win32"] }, "it is for win32, this is linux"],
    ["another system, always", { os: ["darwin"], always: true }, "it is for darwin"],
    ["a program that is not there", { requires: { bins: ["curl", "nothere"] } }, "the program nothere in PATH"],
    ["a file that is no program", { requires: { bins: ["notes"] } }, "the program notes"],
    ["a path out of PATH", { requires: { bins: ["../bin/curl"] } }, "the program ../bin/curl"],
    ["none of several programs", { requires: { anyBins: ["a", "b"] } }, "one of the programs a, b"],
    ["a variable", { requires: { env: ["KEY", "TOKEN"] } }, "the environment variable TOKEN"],
    ["an empty variable", { requires: { env: ["EMPTY"] } }, "the environment variable EMPTY"],
    ["a config key that is off", { requires: { config: ["off"] } }, "the config key off"],
    ["a config key that is missing", { requires: { config: ["browser.profile"] } }, "the config key browser.profile"],
  ])("keep it from the model: %s", async (_what, own, why) => {
    await skill("picky", json(own));
    await skill("plain");
    const { names, why: told } = await offered();
    expect(names).toEqual(["plain"]);
    expect(told).toContain(why);
  });

  it.each([
    ["its system", { os: ["darwin", "linux"] }],
    ["its programs", { requires: { bins: ["curl"], anyBins: ["a", "curl"] } }],
    ["its variable and key", { requires: { env: ["KEY"], config: ["browser.enabled"] }, primaryEnv: "KEY" }],
    ["always", { always: true, requires: { bins: ["nothere"] } }],
  ])("let it through: %s", async (_what, own) => {
    await skill("fine", json(own));
    expect(await offered()).toMatchObject({ names: ["fine"], left: [] });
  });

  it.each([
    ["JSON over lines", 'metadata:\n  {\n    "openclaw": { "requires": { "bins": ["nothere"], }, },\n  }'],
    ["an earlier name", 'metadata: {"clawdbot":{"requires":{"bins":["nothere"]}}}'],
    ["indented lines", "metadata:\n  openclaw:\n    emoji: x # y\n    requires:\n      bins:\n        - nothere"],
    ["a list in brackets", "metadata:\n  openclaw:\n    requires:\n      bins: [curl, nothere]"],
    ["a brace at the margin", 'metadata: {\n  "openclaw": { "requires": { "bins": ["nothere"] } }\n}'],
    ["words in braces", "metadata: { openclaw: { requires: { bins: [curl, nothere] } } }"],
  ])("are read from %s", async (_what, front) => {
    await skill("picky", front);
    expect((await offered()).why).toBe("it needs the program nothere in PATH");
  });

  it("that cannot be read keep it back, other metadata does not", async () => {
    await skill("broken", 'metadata: {"openclaw": {"requires": }');
    await skill("odd", 'metadata: {"openclaw": {"requires": "x"}}');
    await skill("other", "metadata:\n  author: me\n  version: 1");
    const { names, why } = await offered();
    expect(names).toEqual(["other"]);
    expect(why).toContain("its metadata cannot be read");
  });

  it("hold for the skill that took another's name", async () => {
    await skill("same", "", "bundled");
    await skill("same", json({ os: ["win32"] }));
    expect((await offered()).names).toEqual([]);
  });
});

describe("a skill that hides itself or is hidden", () => {
  it("is kept from the model without a word", async () => {
    await skill("people", "disable-model-invocation: true");
    await skill("both", "user-invocable: false");
    await skill("keyed", json({ skillKey: "other-name" }));
    const found = await offered({ hidden: new Set(["other-name"]) });
    expect(found).toMatchObject({ names: ["both"], left: [] });
  });
});

describe("the limits of skills", () => {
  const limits = (over: Partial<typeof SKILL_LIMITS>) => ({ limits: { ...SKILL_LIMITS, ...over } });
  beforeEach(async () => {
    for (const name of ["a", "b", "c"]) await skill(name, "", "bundled");
    await skill("z");
  });

  it("hold for the list: those of the workspace come first, and what is left out is named", async () => {
    const few = await offered(limits({ maxSkillsInPrompt: 2 }));
    expect(few.names).toEqual(["a", "z"]);
    expect(few.left.map(({ location }) => location)).toEqual(
      ["b", "c"].map((name) => join(root, `bundled/${name}/SKILL.md`)),
    );
    expect(few.why).toContain("skills.limits.maxSkillsInPrompt is 2");
    const short = await offered(limits({ maxSkillsPromptChars: 10 }));
    expect(short).toMatchObject({ names: [] });
    expect(short.why).toContain("skills.limits.maxSkillsPromptChars is 10");
  });

  it("hold for a directory and a file", async () => {
    expect((await offered(limits({ maxCandidatesPerRoot: 2 }))).names).toEqual(["a", "b", "z"]);
    const few = await offered(limits({ maxSkillsLoadedPerSource: 1 }));
    expect(few.names).toEqual(["a", "z"]);
    expect(few.why).toContain("maxSkillsLoadedPerSource");
    expect((await offered(limits({ maxSkillFileBytes: 10 }))).why).toContain("at most 10 bytes");
  });

  it("keep two hundred skills from filling every prompt", async () => {
    for (let at = 0; at < 200; at++) await skill(`many${at}`, "", "state/skills");
    const { names, left } = await offered();
    expect(names.length).toBeLessThanOrEqual(150);
    expect(names.length + left.length).toBe(204);
  });
});
