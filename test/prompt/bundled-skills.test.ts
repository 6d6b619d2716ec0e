import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findingsIn } from "../../src/plugins/skills/findings.ts";
import { parseFrontmatter } from "../../src/prompt/skills/frontmatter.ts";
import { readSkill, type SkillFile } from "../../src/prompt/skills/skill-file.ts";
import { loadSkills, SKILL_LIMITS } from "../../src/prompt/skills/skills.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "skills");
const names = readdirSync(FOLDER).toSorted();
const sourceOf = (name: string): string => readFileSync(join(FOLDER, name, "SKILL.md"), "utf8");

async function skillOf(name: string): Promise<SkillFile> {
  const read = await readSkill(join(FOLDER, name, "SKILL.md"), SKILL_LIMITS.maxSkillFileBytes);
  if (read === undefined || "reason" in read) throw new Error(`${name}: ${read?.reason ?? "no SKILL.md"}`);
  return read;
}

/** Commands of a shell in the text of a skill: blocks, and words between backticks. */
const blocksOf = (text: string): readonly string[] =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block.trim());

/** Programs that every system with a shell has. */
const EVERYWHERE = new Set(["printf", "ps", "sort", "head", "tail", "grep", "cat"]);
/** Programs of the same package as one that a skill names. */
const SIBLINGS: Readonly<Record<string, string>> = { pdftoppm: "pdftotext" };

test("there are at least twelve", () => {
  expect(names.length).toBeGreaterThanOrEqual(12);
});

describe.each(names)("the bundled skill %s", (name) => {
  test("has frontmatter as the field writes it", async () => {
    const front = await parseFrontmatter(sourceOf(name));
    expect(front).toMatchObject({ name, description: expect.stringMatching(/Use (?:when|for) /) });
    const skill = await skillOf(name);
    expect(name).toMatch(/^[a-z][a-z0-9-]{1,40}$/);
    expect(skill.description.length).toBeLessThan(300);
    expect(sourceOf(name).length).toBeLessThan(6000);
    for (const { kind, formula } of skill.installers) expect([kind, typeof formula]).toEqual(["brew", "string"]);
  });

  test("needs the programs that its commands begin with", async () => {
    const { needs } = await skillOf(name);
    const known = [...needs.bins, ...needs.anyBins];
    const used = blocksOf(sourceOf(name))
      .flatMap((block) => block.replaceAll(/'[^']*'|"[^"]*"/g, "q").split(/&&|\|\||[|;\n]/))
      .map((command) => command.trim().split(/\s+/, 1)[0] ?? "")
      .filter((program) => program !== "" && !EVERYWHERE.has(program));
    for (const program of used) expect(known, program).toContain(SIBLINGS[program] ?? program);
    const wanted = needs.env.filter((variable) => !sourceOf(name).includes(variable));
    expect(wanted).toEqual([]);
  });

  test("says when it is not for something, and holds no key and nothing that the scan reports", () => {
    const text = sourceOf(name);
    if (!["notes", "summarize"].includes(name)) expect(text).toMatch(/^Not for:? /m);
    expect(text).not.toMatch(/\b(?:sk-|ghp_|xox[bp]-|AKIA)[\w-]{8,}|-----BEGIN/);
    expect(findingsIn("SKILL.md", text)).toEqual([]);
    expect(text).not.toMatch(/\b(?:sudo|rm -rf|--force-with-lease|mkfs|dd if=)\b/);
    // oxlint-disable-next-line no-control-regex -- the characters that must not be there
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
  });

  test("puts what a person says into quotes", () => {
    const open = blocksOf(sourceOf(name))
      .flatMap((block) => block.split("\n"))
      .filter((line) => /(?<!["'=/:a-z])<(?:file|folder|name|text|place|word|picture|result|entity)>/.test(line));
    expect(open).toEqual([]);
  });
});

/** Loads them on a machine without any program. */
async function loadBare(more: object) {
  const nowhere = mkdtempSync(join(tmpdir(), "skills-"));
  onTestFinished(() => rmSync(nowhere, { recursive: true, force: true }));
  const reports: string[] = [];
  const machine = { platform: process.platform, env: { PATH: nowhere }, config: {} };
  const loaded = await loadSkills(
    { workspace: nowhere, stateDir: nowhere, bundledDir: FOLDER, extraDirs: [], machine, ...more },
    ({ location, reason }) => reports.push(`${location}: ${reason}`),
  );
  return { loaded, reports };
}

test("those that lack something are reported only where the config names them", async () => {
  const { loaded, reports } = await loadBare({});
  expect(reports).toEqual([]);
  expect(loaded.forModel.map(({ name }) => name)).toEqual(["notes", "reminders", "summarize", "web-research"]);
  for (const wanted of [{ configured: new Set(["pdf"]) }, { allowBundled: ["pdf"] }, { only: ["pdf"] }])
    expect((await loadBare(wanted)).reports).toEqual([
      expect.stringMatching(/pdf\/SKILL\.md: it needs the program pdftotext/),
    ]);
});

/** The program of the field's own gateway, where somebody names it. */
const FIELD = process.env["OPENCLAW_FIELD_BIN"] ?? "";

test.skipIf(!existsSync(FIELD))("the field's own gateway reads them", () => {
  const home = mkdtempSync(join(tmpdir(), "skills-field-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PATH: process.env["PATH"], HOME: home };
  execFileSync(FIELD, ["config", "set", "skills.load.extraDirs", JSON.stringify([FOLDER])], { env });
  const { skills } = JSON.parse(execFileSync(FIELD, ["skills", "list", "--json"], { env, encoding: "utf8" })) as {
    skills: readonly { name: string; source: string; missing: { bins: readonly string[] } }[];
  };
  expect(names.filter((name) => !skills.some((one) => one.name === name))).toEqual([]);
});
