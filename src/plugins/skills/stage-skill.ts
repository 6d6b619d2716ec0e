import { readFile, realpath, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readSkill, type SkillFile } from "../../prompt/skills/skill-file.ts";
import { SKILL_LIMITS } from "../../prompt/skills/skills.ts";
import type { InstallRecord } from "../../types/plugin/install-record.ts";
import { defined } from "../../utils/defined.ts";
import { unlessMissing } from "../../utils/missing.ts";
import type { StagedOrigin } from "../install/facts.ts";
import { fetchSource } from "../install/fetch.ts";
import type { PluginSizeLimits } from "../install/paths.ts";
import { invalid, unsafe } from "../install/refusals.ts";
import { makeDraft, type PluginStore } from "../install/store.ts";
import { abandonDraft } from "../install/swap.ts";
import { hashTree, readTree, type TreeEntry } from "../install/tree.ts";
import { isPluginId } from "../manifest/parse-manifest.ts";
import { findingsIn, type Finding } from "./findings.ts";
import { type ArchiveAddress, fetchArchiveBytes, resolveSkill, type Registry } from "./registry.ts";
import { skillRefText, skillSourceText, type SkillSource } from "./source.ts";

/** A skill is text, with at most some scripts and pictures. */
const LIMITS: PluginSizeLimits = { entries: 2000, bytes: 50 * 1_048_576 };

/** A skill that is ready to be put into place. */
export interface StagedSkill {
  /** The folder of this installation; the skill is in `plugin/`. */
  readonly draft: string;
  /** The name of its folder among the skills. */
  readonly id: string;
  readonly skill: SkillFile;
  readonly origin: StagedOrigin;
  readonly version?: string;
  /** What the registry's own scan says, as half a sentence. */
  readonly scan?: string;
  readonly files: readonly (TreeEntry & { readonly kind: "file" })[];
  /** Files that are programs, by their mode or their first line. */
  readonly scripts: readonly string[];
  readonly findings: readonly Finding[];
  /** Record without the time of the installation. */
  readonly record: InstallRecord;
}

export interface StageSkillOptions {
  readonly registry: Registry;
  /** The name of the folder; that of the skill unless given. */
  readonly as?: string;
  /** Called before each step that may take long, with what happens. */
  readonly step: (label: string) => void;
}

/**
 * Fetches a skill into a draft and checks it. None of its code runs. Throws `PLUGIN_INVALID`, `PLUGIN_UNSAFE`, `PLUGIN_FETCH`
 * and `USAGE`; then no draft is left.
 */
export async function stageSkill(
  store: PluginStore,
  source: SkillSource,
  options: StageSkillOptions,
): Promise<StagedSkill> {
  const draft = await realpath(await makeDraft(store));
  try {
    const fetched = await fetchSkill(store, { draft, source }, options);
    return { draft, ...(await readStaged(draft, fetched, { source, as: options.as })) };
  } catch (error) {
    throw await abandonDraft(store, draft, error);
  }
}

interface Job {
  readonly draft: string;
  readonly source: SkillSource;
}

interface Fetched {
  readonly folder: string;
  readonly origin: StagedOrigin;
  readonly version?: string;
  readonly scan?: string;
}

async function fetchSkill(
  store: PluginStore,
  { draft, source }: Job,
  { registry, step }: StageSkillOptions,
): Promise<Fetched> {
  const inDraft = { draft, limits: LIMITS };
  const unpack = async (address: ArchiveAddress, from: string): Promise<Fetched> => {
    step(`Fetching ${from}`);
    const path = join(draft, "archive");
    await writeFile(path, await fetchArchiveBytes(registry, address), { mode: 0o600 });
    const archive = { kind: "archive" as const, path, hasNpm: false };
    const { folder, origin } = await fetchSource(store.programs, { ...inDraft, source: archive }, step);
    return { folder, origin: { ...origin, from } };
  };
  if (source.kind === "url") return unpack({ address: source.url, isTyped: true }, source.url);
  if (source.kind !== "clawhub") return fetchSource(store.programs, { ...inDraft, source }, step);
  const name = skillRefText(source.ref);
  step(`Asking ${registry.address.host} for ${name}`);
  const { version, scan, from } = await resolveSkill(registry, source.ref, source.version);
  const label = `${registry.address.host}: ${name} ${version}`;
  if (from.kind === "archive")
    return { ...(await unpack({ address: from.address, isTyped: false }, label)), version, scan };
  const git = { kind: "git" as const, url: from.url, ref: from.commit };
  const { folder, origin } = await fetchSource(store.programs, { ...inDraft, source: git }, step);
  return { folder: join(folder, from.folder), origin: { ...origin, from: `${label}, ${origin.from}` }, version, scan };
}

async function readStaged(
  draft: string,
  { folder, origin, version, scan }: Fetched,
  { source, as }: { readonly source: SkillSource; readonly as: string | undefined },
): Promise<Omit<StagedSkill, "draft">> {
  const root = join(draft, "plugin");
  await rename(folder, root).catch((error: unknown) => {
    throw invalid("The folder that should hold the skill is not there.", CORRECT, error);
  });
  const entries = await readTree(root, LIMITS);
  const link = entries.find(({ kind }) => kind === "link");
  if (link) throw unsafe(`It has a link, ${link.path}; a skill needs none.`);
  const skill = await requireSkill(root, entries);
  const files = entries.filter((entry) => entry.kind === "file");
  const looked = await Promise.all(files.map((file) => look(root, file)));
  const { integrity, resolvedCommit } = origin;
  const hash = await hashTree(root, entries);
  const record = {
    source: source.kind,
    spec: skillSourceText(source),
    files: hash,
    ...defined({ version, integrity, resolvedCommit }),
  };
  return {
    id: idOf(skill, source, as),
    skill,
    origin,
    files,
    scripts: looked.flatMap(({ script }) => script ?? []),
    findings: looked.flatMap(({ findings }) => findings),
    record,
    ...defined({ version, scan }),
  };
}

const CORRECT = "Correct the skill, or install another one.";

async function requireSkill(root: string, entries: readonly TreeEntry[]): Promise<SkillFile> {
  const read = await readSkill(join(root, "SKILL.md"), SKILL_LIMITS.maxSkillFileBytes);
  if (read === undefined) {
    const below = entries
      .filter(({ path }) => path.endsWith("/SKILL.md"))
      .map(({ path }) => path.replace(/\/SKILL\.md$/, ""));
    if (below.length === 0) throw invalid("It is no skill: there is no SKILL.md.", CORRECT);
    throw invalid(
      `It holds several folders, and no SKILL.md at its top.`,
      `Install one of its folders: ${below.slice(0, 8).join(", ")}.`,
    );
  }
  if ("reason" in read) throw invalid(`The skill cannot be used: ${read.reason}.`, CORRECT);
  return read;
}

function idOf({ name }: SkillFile, source: SkillSource, as: string | undefined): string {
  const id =
    as ??
    (source.kind === "clawhub"
      ? source.ref.slug
      : name
          .trim()
          .toLowerCase()
          .replaceAll(/[^a-z0-9._-]+/g, "-"));
  if (isPluginId(id)) return id;
  throw invalid(`${JSON.stringify(id)} cannot be the name of a folder.`, "Give another name with --as <name>.");
}

/** Bytes of a file that is looked at; a larger one is no text that a model would read. */
const MOST_LOOKED = 1_048_576;

async function look(root: string, file: TreeEntry & { readonly kind: "file" }) {
  const { path, isProgram, bytes } = file;
  const content = bytes > MOST_LOOKED ? undefined : await unlessMissing(readFile(join(root, path)));
  const text = content === undefined || content.includes(0) ? undefined : content.toString("utf8");
  const isScript =
    isProgram || text?.startsWith("#!") === true || /\.(?:sh|py|js|mjs|cjs|ts|rb|pl|ps1|bat|cmd)$/i.test(path);
  return { script: isScript ? path : undefined, findings: text === undefined ? [] : findingsIn(path, text) };
}
