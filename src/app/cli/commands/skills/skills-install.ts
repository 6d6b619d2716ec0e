import { homedir } from "node:os";
import { join } from "node:path";
import { commitDraft, settleDraft, settleDrafts, withStoreLock } from "../../../../plugins/install/swap.ts";
import { readRecords } from "../../../../plugins/install/records.ts";
import { pluginStore, type PluginStore } from "../../../../plugins/install/store.ts";
import { hashTree, readTree } from "../../../../plugins/install/tree.ts";
import { FOLDER_LIMITS } from "../../../../plugins/install/paths.ts";
import { registryOf, searchSkills } from "../../../../plugins/skills/registry.ts";
import { parseSkillSource, skillSourceOf, type SkillSource } from "../../../../plugins/skills/source.ts";
import { stageSkill, type StagedSkill } from "../../../../plugins/skills/stage-skill.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import type { InstallRecords } from "../../../../types/plugin/install-record.ts";
import { defined } from "../../../../utils/defined.ts";
import { exists } from "../../../../utils/exists.ts";
import { own } from "../../../../utils/own.ts";
import { realOf } from "../../../../utils/real-path.ts";
import type { ReportedSkill } from "../../../../types/answers/skills.ts";
import { packageRoot } from "../../../package-root.ts";
import { hasGateway } from "../../address.ts";
import { writeJson, type Io } from "../../io.ts";
import { requireState, type State } from "../../state.ts";
import { dim, pairs, table } from "../../table.ts";
import { withoutTerminalControls } from "../../terminal-text.ts";
import { hasConsent, listed, showSize, type ConsentFlags } from "../plugins/consent.ts";
import { requireSkillAllowed } from "../plugins/judge-install.ts";
import { Steps } from "../plugins/steps.ts";
import { agentAsked, infoCommand, readSkills } from "./skill-state.ts";

export type SkillInstallFlags = ConsentFlags & {
  readonly agent?: string;
  readonly as?: string;
  readonly version?: string;
  readonly acknowledgeInstallPolicyWarning?: boolean;
  readonly json?: boolean;
};

export type SkillUpdateFlags = SkillInstallFlags & { readonly all?: boolean };

/** Where a command installs skills, and what is there. */
interface Place {
  readonly state: State;
  readonly store: PluginStore;
  readonly where: { readonly cwd: string; readonly home: string };
  readonly records: InstallRecords;
}

/** `skills/` of the state directory, or of the workspace of the agent that a flag names. Throws `NOT_FOUND`. */
async function readPlace(io: Io, agentId: string | undefined): Promise<Place> {
  const state = await requireState(io);
  const { paths } = state;
  const agent = agentId === undefined ? undefined : agentAsked(io, state, agentId);
  const store: PluginStore = {
    ...pluginStore(paths, packageRoot, io.env),
    extensions: join(agent?.workspace ?? paths.stateDir, "skills"),
    // Agents can write into their workspaces, and receipts are believed.
    records: join(paths.stateDir, "plugins", agent ? `skill-installs.${agent.id}.json` : "skill-installs.json"),
  };
  const where = { cwd: process.cwd(), home: io.env["HOME"] ?? homedir() };
  return { state, store, where, records: await readRecords(store.records) };
}

/** Fetches a skill, shows what it is, and installs it after a question. 1 when a person says no. */
export async function skillsInstall(io: Io, text: string, flags: SkillInstallFlags): Promise<number> {
  const place = await readPlace(io, flags.agent);
  const source = withVersion(parseSkillSource(text, place.where), flags.version);
  const done = await put(io, place, { source, flags, mode: "install" });
  if (done === undefined) io.err("Nothing was installed.\n");
  if (done === undefined) return 1;
  if (flags.json === true) writeJson(io, done);
  else await tell(io, place, done, flags);
  return 0;
}

function withVersion(source: SkillSource, version: string | undefined): SkillSource {
  if (version === undefined) return source;
  if (source.kind === "clawhub") return { ...source, version };
  throw new OpenClawError("USAGE", {
    message: "--version is for skills of the registry.",
    fix: "Name the version in the source, such as git:<address>#<tag>.",
  });
}

/** Updates installed skills from where they came from. 1 when one was not updated. Throws `NOT_FOUND` and `USAGE`. */
export async function skillsUpdate(io: Io, name: string | undefined, flags: SkillUpdateFlags): Promise<number> {
  const place = await readPlace(io, flags.agent);
  const ids = flags.all === true ? Object.keys(place.records) : [requireInstalled(place, name)];
  const results: { readonly id: string; readonly state: Outcome; readonly version?: string; readonly why?: string }[] =
    [];
  for (const id of ids) results.push({ id, ...(await updateOne(io, place, { id, flags })) });
  if (flags.json === true) writeJson(io, { skills: results });
  else if (results.length === 0) io.out("No skill was installed by `openclaw skills install`.\n");
  else for (const result of results) io.out(`${withoutTerminalControls(outcomeText(result))}\n`);
  return results.some(({ state }) => state === "failed" || state === "refused") ? 1 : 0;
}

type Outcome = "updated" | "current" | "refused" | "failed";

const outcomeText = ({ id, state, version, why }: { id: string; state: Outcome; version?: string; why?: string }) => {
  const newest = version === undefined ? "" : ` ${version}`;
  if (state === "updated") return `Updated skill: ${id}${newest}`;
  if (state === "current") return `${id}${newest} is what its source has.`;
  return `${id} was not updated${why === undefined ? "" : `: ${why}`}`;
};

interface Update {
  readonly id: string;
  readonly flags: SkillUpdateFlags;
}

/** With `--all`, what keeps one from being updated does not keep the others. */
async function updateOne(io: Io, place: Place, { id, flags }: Update) {
  try {
    const record = own(place.records, id);
    const source = record && skillSourceOf(record, place.where);
    if (!source) throw notInstalled(id);
    await refuseChanged(place, id, flags);
    const done = await put(io, place, { source, flags, mode: "update", id });
    if (done === undefined) return { state: "refused" as const };
    const state = done.record.files === record.files ? ("current" as const) : ("updated" as const);
    return { state, ...defined({ version: done.version }) };
  } catch (error) {
    if (flags.all !== true || !(error instanceof OpenClawError)) throw error;
    return { state: "failed" as const, why: `${error.message} ${error.fix}` };
  }
}

const notInstalled = (id: string): OpenClawError =>
  new OpenClawError("NOT_FOUND", {
    message: `No skill was installed as ${id}.`,
    fix: "openclaw skills list shows the skills; only those of `openclaw skills install` are updated.",
  });

/** The id of an installed skill by its id, or by its name in the registry. Throws `NOT_FOUND` and `USAGE`. */
function requireInstalled({ records }: Place, name: string | undefined): string {
  if (name === undefined)
    throw new OpenClawError("USAGE", { message: "A skill is missing.", fix: "Name one, or give --all." });
  if (own(records, name)) return name;
  const spec = `clawhub:${name.replace(/^clawhub:/, "")}`;
  const found = Object.entries(records).find(([, record]) => record.spec === spec);
  if (found) return found[0];
  throw notInstalled(name);
}

/** Throws `USAGE` where a person, or an agent, has changed an installed skill. */
async function refuseChanged({ store, records }: Place, id: string, flags: ConsentFlags): Promise<void> {
  const folder = join(store.extensions, id);
  const files = own(records, id)?.files;
  if (files === undefined || flags.force === true || !(await exists(folder))) return;
  const now = await hashTree(folder, await readTree(await realOf(folder), FOLDER_LIMITS));
  if (now === files) return;
  throw new OpenClawError("USAGE", {
    message: `The files of ${id} were changed since it was installed, and an update would replace them.`,
    fix: `Keep a copy of ${folder}, then repeat the command with --force.`,
  });
}

interface Job {
  readonly source: SkillSource;
  readonly flags: SkillInstallFlags;
  readonly mode: "install" | "update";
  /** The skill that is updated. */
  readonly id?: string;
}

type Done = Pick<StagedSkill, "id" | "version" | "record"> & {
  readonly name: string;
  readonly folder: string;
  /** Another skill of that name. */
  readonly namesake?: Namesake;
};

interface Namesake {
  readonly folder: string;
  /** Whether the agent uses this one, and not the one that was just installed. */
  readonly wins: boolean;
}

/** Undefined when a person says no. */
async function put(io: Io, place: Place, job: Job): Promise<Done | undefined> {
  const { store } = place;
  return withStoreLock(store, async () => {
    for (const line of await settleDrafts(store)) io.err(`${line}\n`);
    const steps = new Steps(io);
    const { as } = job.flags;
    const options = { registry: registryOf(io.env), step: steps.begin, ...defined({ as: job.id ?? as }) };
    const staged = await stageSkill(store, job.source, options).finally(() => steps.stop());
    try {
      return await decide(io, place, { ...job, staged });
    } finally {
      await settleDraft(store, staged.draft);
    }
  });
}

async function decide(io: Io, place: Place, job: Job & { staged: StagedSkill }): Promise<Done | undefined> {
  const { staged, flags, mode } = job;
  const { store, state, records } = place;
  const { id, version, record, skill } = staged;
  const folder = join(store.extensions, id);
  const plain = { id, name: skill.name, folder, record, ...defined({ version }) };
  if (mode === "update" && own(records, id)?.files === record.files && (await exists(folder))) return plain;
  const { skills } = await readSkills(io, defined({ agent: flags.agent }));
  const there = skills.find(({ name }) => name === skill.name);
  await refuseTaken(place, job, there);
  const other = there?.baseDir === folder ? undefined : there;
  // Those of a workspace come before all others.
  const wins = other?.source === "openclaw-workspace" && flags.agent === undefined;
  show(io, staged, other && { ...other, wins });
  await requireSkillAllowed(io, state, {
    mode,
    isAcknowledged: flags.acknowledgeInstallPolicyWarning === true,
    skill: { id, root: join(staged.draft, "plugin"), from: staged.origin.from, files: staged.files.length, record },
  });
  if (!(await hasConsent(io, flags, mode === "install" ? `Install ${id}?` : `Update ${id}?`))) return undefined;
  await commitDraft(store, { draft: staged.draft, id, record: { ...record, installedAt: new Date().toISOString() } });
  return { ...plain, ...(other && { namesake: { folder: other.baseDir, wins } }) };
}

/** Throws `USAGE` for a folder that is there, and for the name of another installed skill. */
async function refuseTaken(
  { store }: Place,
  { staged, flags, mode }: Job & { staged: StagedSkill },
  there: ReportedSkill | undefined,
): Promise<void> {
  const folder = join(store.extensions, staged.id);
  const isReplaced = mode === "update" || flags.force === true;
  const isNamesake =
    there !== undefined && there.baseDir !== folder && there.baseDir.startsWith(join(store.extensions, "/"));
  if (isNamesake)
    throw new OpenClawError("USAGE", {
      message: `There is a skill ${staged.skill.name} already, in ${there.baseDir}.`,
      fix: "Remove that folder first.",
    });
  if (isReplaced || !(await exists(folder))) return;
  throw new OpenClawError("USAGE", {
    message: `There is a skill in ${folder} already.`,
    fix: `Run \`openclaw skills update ${staged.id}\`, repeat the command with --force, or give another name with --as <name>.`,
  });
}

function show(io: Io, staged: StagedSkill, other: (ReportedSkill & { readonly wins: boolean }) | undefined): void {
  const { skill, origin, files, scripts, findings } = staged;
  const { bins, anyBins, env, config, os } = skill.needs;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  io.err(
    pairs(io, [
      ["skill", skill.name],
      ["about", skill.description],
      ["version", staged.version],
      ["from", origin.from],
      ["scan", staged.scan],
      ["integrity", origin.integrity],
      ["size", `${showSize(bytes)} in ${files.length} files`],
      ["files", listed(files.map(({ path }) => path))],
      ["scripts", listed(scripts) ?? "none"],
      ["systems", listed(os)],
      ["programs", listed([...bins, ...anyBins])],
      ["variables", listed(env)],
      ["config keys", listed(config)],
      [
        other?.wins === true ? "not used: behind" : "in place of",
        other && `the ${other.source.replace(/^openclaw-/, "")} skill in ${other.baseDir}`,
      ],
    ]),
  );
  for (const { file, line, what } of findings)
    io.err(`${withoutTerminalControls(`Read ${file}, line ${line}: it ${what}.`)}\n`);
  io.err(
    "An agent does what a skill says, with the rights that its turn has. Read a skill of a stranger before you install it.\n",
  );
}

async function tell(
  io: Io,
  { state }: Place,
  { name, folder, namesake }: Done,
  flags: SkillInstallFlags,
): Promise<void> {
  io.out(`${withoutTerminalControls(`Installed skill: ${name}, in ${folder}`)}\n`);
  if (namesake) io.out(`${withoutTerminalControls(namesakeText(name, namesake))}\n`);
  if (namesake?.wins === true) return;
  const { skills } = await readSkills(io, defined({ agent: flags.agent }));
  const shown = skills.find((one) => one.name === name);
  if (shown && !shown.eligible) io.out(`It cannot be used yet: ${infoCommand(name)}\n`);
  else if (hasGateway(io, state)) io.out("The running gateway offers it from the next turn on.\n");
}

const namesakeText = (name: string, { folder, wins }: Namesake): string =>
  wins
    ? `It is not used: the agent has a skill ${name} in its workspace, ${folder}, which comes first. Remove that folder to use the installed one.`
    : `It is used in place of the skill ${name} in ${folder}.`;

interface SearchFlags {
  readonly limit: number;
  readonly json?: boolean;
}

/** Searches the registry for skills. Throws `PLUGIN_FETCH`. */
export async function skillsSearch(io: Io, words: readonly string[], flags: SearchFlags): Promise<number> {
  const registry = registryOf(io.env);
  const found = await searchSkills(registry, words.join(" "), flags.limit);
  const rows = found.map(({ slug: _slug, owner: _owner, ...row }) => row);
  if (flags.json === true) writeJson(io, { registry: registry.address.href, results: rows });
  else if (found.length === 0) io.out(`${dim(io, "Nothing was found.")}\n`);
  else {
    io.out(
      table(
        io,
        ["SKILL", "NAME", "ABOUT"],
        found.map(({ ref, name, about = "" }) => [ref, name, about.slice(0, 100)]),
      ),
    );
    io.out("Install one with: openclaw skills install <skill>\n");
  }
  return 0;
}
