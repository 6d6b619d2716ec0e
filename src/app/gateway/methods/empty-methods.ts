import { basename } from "node:path";
import { z } from "zod";
import { defineMethod, type Method, type Scope } from "../../../types/method.ts";
import type { AgentSettings } from "../../../types/settings.ts";
import { agentCalled } from "../parts/agent-called.ts";
import type { Parts } from "../parts/parts.ts";

/** The agent that a request is about, and the time. */
interface Asked {
  readonly agent: AgentSettings;
  readonly agents: readonly AgentSettings[];
  readonly now: number;
  readonly params: Readonly<Record<string, unknown>>;
}

type Row = readonly [name: string, scope: Scope, answer: (asked: Asked) => unknown];

/** The pull requests and accounts of GitHub that an agent can reach: this gateway signs in nowhere. */
const NO_GITHUB = {
  source: "system-detected",
  credentialKind: "native",
  credentialState: "unavailable",
  account: null,
  gitAuthor: { name: null, email: null },
  evidence: "none",
  accessExpiresAtMs: null,
  refreshState: "not_applicable",
  oauthScopes: [],
  repositoryGrants: "unknown",
};

/** The theme that the Control UI has by itself. */
const THEME = { id: "claw", name: "Claw", description: "", source: "builtin", modes: ["light", "dark"] };

/** Voices and transcription in the browser: this gateway speaks and listens in channels only. */
const NO_TALK = {
  modes: [],
  transports: [],
  brains: [],
  speech: { providers: [] },
  transcription: { ready: false, providers: [] },
  realtime: { ready: false, providers: [] },
};

const NEVER = new Date(0).toISOString();

/** Lists that OpenClaw's clients ask for whatever the gateway offers, and of which this gateway has nothing. */
const ROWS: readonly Row[] = [
  [
    "doctor.memory.dreamDiary",
    "operator.read",
    ({ agent }) => ({ agentId: agent.id, found: false, path: "DREAMS.md" }),
  ],
  ["environments.list", "operator.read", () => ({ environments: [localEnvironment()] })],
  ["exec.approval.grants.list", "operator.approvals", () => ({ grants: [] })],
  [
    "migrations.memory.plan",
    "operator.admin",
    ({ agent: { id, workspace } }) => ({ agentId: id, workspace, providers: [] }),
  ],
  ["node.list", "operator.read", ({ now }) => ({ ts: now, nodes: [] })],
  ["node.pair.list", "operator.pairing", () => ({ pending: [], paired: [] })],
  ["openclaw.approval.list", "operator.approvals", () => []],
  ["plugins.uiDescriptors", "operator.read", () => ({ ok: true, descriptors: [] })],
  ["portal.list", "operator.read", () => ({ portals: [] })],
  ["projects.list", "operator.write", ({ agents }) => ({ projects: agents.map(projectOf), observedProjects: [] })],
  ["progressCard.get", "operator.read", () => ({ card: null })],
  [
    "skills.curator.status",
    "operator.read",
    () => ({
      lastAttemptAtMs: null,
      lastSuccessAtMs: null,
      lastError: null,
      collectionReview: {},
      experienceReview: {},
      counts: { active: 0, stale: 0, archived: 0 },
      skills: [],
      overlaps: [],
    }),
  ],
  [
    "skills.library.list",
    "operator.read",
    () => ({
      entries: [],
      profileId: null,
      multipleProfiles: false,
      defaultTarget: "workspace",
      canManageWorkspace: false,
      defaultSelectionLimit: 64,
    }),
  ],
  [
    "skills.proposals.list",
    "operator.read",
    () => ({
      schema: "openclaw.skill-workshop.proposals-manifest.v1",
      updatedAt: NEVER,
      proposals: [],
      installedSkills: [],
    }),
  ],
  ["skills.securityVerdicts", "operator.read", () => ({ schema: "openclaw.skills.security-verdicts.v1", items: [] })],
  ["talk.catalog", "operator.read", () => NO_TALK],
  ["talk.config", "operator.read", () => ({ config: {} })],
  [
    "themes.list",
    "operator.read",
    () => ({
      current: { id: THEME.id, mode: "system", scope: "gateway", overrides: {} },
      theme: THEME,
      themes: [THEME],
    }),
  ],
  [
    "tools.github.status",
    "operator.read",
    ({ agent, params: { selectedScope = "system" } }) => ({
      agentId: agent.id,
      selectedScope,
      selected: { scope: selectedScope, configured: false, identity: selectedScope === "system" ? NO_GITHUB : null },
      effective: NO_GITHUB,
    }),
  ],
  ["taskSuggestions.list", "operator.read", () => ({ suggestions: [] })],
  ["transcripts.list", "operator.read", () => ({ sessions: [], nextCursor: null })],
  ["tts.personas", "operator.read", () => ({ active: null, personas: [] })],
  ["update.runs.get", "operator.admin", () => ({ run: null })],
  ["users.prefs.get", "operator.read", () => ({ status: "no_durable_identity" })],
  ["users.list", "operator.read", () => ({ profiles: [] })],
  ["worktrees.list", "operator.read", () => ({ worktrees: [] })],
];

/** The workspace of an agent, the only project that it has. */
const projectOf = ({ id, workspace }: AgentSettings) => ({
  id: `workspace:${id}`,
  displayName: basename(workspace),
  repoRoot: workspace,
  source: "workspace",
  agentId: id,
});

const localEnvironment = () => ({
  id: "gateway",
  type: "local",
  label: "Gateway",
  status: "available",
  platform: process.platform,
  sessionHost: true,
  trust: "persistent",
  capabilities: ["agent.run", "sessions"],
});

const asked = z.looseObject({ agentId: z.string().min(1).optional() });

/** The methods whose answer is an empty list. */
export const emptyMethods = ({ live, core }: Pick<Parts, "live" | "core">): readonly Method[] =>
  ROWS.map(([name, scope, answer]) =>
    defineMethod({
      name,
      scope,
      params: asked,
      result: z.unknown(),
      run: async (params) => {
        const agent = agentCalled(params.agentId, { live });
        return answer({ agent, agents: live.agents, now: core.ports.clock.now(), params });
      },
    }),
  );
