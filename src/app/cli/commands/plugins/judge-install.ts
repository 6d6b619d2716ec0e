import type { PluginFacts } from "../../../../plugins/install/facts.ts";
import type { InstallRecord } from "../../../../types/plugin/install-record.ts";
import { OpenClawError } from "../../../../types/errors.ts";
import { defined } from "../../../../utils/defined.ts";
import { pluginAnswers } from "../../../../types/answers/plugins.ts";
import { requireInstallPolicy } from "./install-policy.ts";
import { callOnce } from "../../call-gateway.ts";
import type { Io } from "../../io.ts";
import type { State } from "../../state.ts";
import type { PluginCommandState } from "./plugin-state.ts";

/** The names that the hook has for the sources of install records. */
const KINDS: Readonly<Record<string, string>> = { npm: "plugin-npm", git: "plugin-git", archive: "plugin-archive" };

/** The names that the operator's program gets for them. */
const SOURCES: Readonly<Record<string, string>> = {
  npm: "npm",
  git: "git",
  archive: "archive",
  url: "archive",
  clawhub: "clawhub",
};

/** The thing to install: a plugin, or a pack of hooks. */
interface Installation {
  readonly plugin: { readonly root: string; readonly package: { readonly name?: string } };
  readonly facts: Pick<PluginFacts, "id" | "version" | "origin" | "size">;
  readonly record: InstallRecord;
}

interface Wish {
  readonly mode: "install" | "update";
  /** Whether a warning of `security.installPolicy` is no obstacle. */
  readonly isAcknowledged: boolean;
}

/**
 * Asks the operator's program (`security.installPolicy`) and the plugins of the running gateway (`before_install`) whether
 * they allow an installation. Throws `PLUGIN_BLOCKED` when one does not, and `GATEWAY_UNREACHABLE` when a gateway runs that
 * cannot be asked.
 */
export async function requireAllowed(
  io: Io,
  { state }: PluginCommandState,
  { plugin, facts, record }: Installation,
  { mode, isAcknowledged }: Wish,
): Promise<void> {
  const kind = KINDS[record.source] ?? "plugin-dir";
  const params = {
    targetType: "plugin" as const,
    targetName: facts.id,
    sourcePath: plugin.root,
    sourcePathKind: "directory",
    origin: facts.origin.from,
    request: { kind, mode, ...defined({ requestedSpecifier: record.spec }) },
    builtinScan: { status: "ok", scannedFiles: facts.size.files, critical: 0, warn: 0, info: 0, findings: [] },
    plugin: {
      pluginId: facts.id,
      contentType: "package",
      manifestId: facts.id,
      ...defined({ packageName: plugin.package.name, version: facts.version }),
    },
  };
  await judge(io, state, { params, record, isAcknowledged });
}

/** The skill to install. */
interface SkillInstallation extends Wish {
  readonly skill: {
    readonly id: string;
    readonly root: string;
    /** The source, as half a sentence. */
    readonly from: string;
    /** How many files it has. */
    readonly files: number;
    readonly record: InstallRecord;
  };
}

/** The same for a skill. */
export async function requireSkillAllowed(
  io: Io,
  state: State,
  { skill: { id, root, from, files, record }, mode, isAcknowledged }: SkillInstallation,
): Promise<void> {
  const params = {
    targetType: "skill" as const,
    targetName: id,
    sourcePath: root,
    sourcePathKind: "directory",
    origin: from,
    request: { kind: "skill-install", mode, ...defined({ requestedSpecifier: record.spec }) },
    builtinScan: { status: "ok", scannedFiles: files, critical: 0, warn: 0, info: 0, findings: [] },
    skill: { installId: record.source },
  };
  await judge(io, state, { params, record, isAcknowledged });
}

interface Judged {
  readonly params: Parameters<typeof requireInstallPolicy>[1];
  readonly record: InstallRecord;
  readonly isAcknowledged: boolean;
}

async function judge(io: Io, state: State, { params, record, isAcknowledged }: Judged): Promise<void> {
  const { installPolicy } = state.config.security;
  const source = {
    kind: SOURCES[record.source] ?? "local-path",
    authority: "third-party",
    network: record.source !== "link",
  };
  await requireInstallPolicy(installPolicy, { ...params, source }, { env: io.env, isAcknowledged });
  if (!state.owner) return;
  const { blocked } = await callOnce(io, state, {
    method: "plugins.judgeInstall",
    params,
    shape: pluginAnswers.judgeInstall,
  });
  if (blocked === undefined) return;
  throw new OpenClawError("PLUGIN_BLOCKED", {
    message: `A plugin of the running gateway does not allow it: ${blocked}.`,
    fix: "Ask whoever runs that plugin, or disable it first.",
  });
}
