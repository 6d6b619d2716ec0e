import type { Browsers } from "../../browser/browsers.ts";
import { browserTools } from "../../browser/tool.ts";
import type { McpServers } from "../../mcp/servers.ts";
import type { Allowances } from "../../tools/exec/permission.ts";
import { withSessionExec } from "../../tools/exec/elevation.ts";
import type { GuestRules } from "../../tools/host/access.ts";
import type { Processes } from "../../tools/process/processes.ts";
import type { SandboxMachine } from "../../tools/sandbox/machine.ts";
import { notingOrigins } from "../../tools/files/origins.ts";
import { recordingNotes } from "../../tools/memory/recorded.ts";
import { givingSkillVariables, type SkillVariablesOf } from "../../tools/skill-variables.ts";
import { backendTools, toolsFor } from "../../tools/tools.ts";
import type { DrawJobs } from "../../tools/media/draw-jobs.ts";
import { mediaTools } from "../../tools/media-tools.ts";
import type { ReceivedFiles } from "../../types/journal.ts";
import { hasOwnerRights, type Acting } from "../../types/run/principal.ts";
import type { ChatScene } from "../../types/chat/send.ts";
import type { NoteChanges } from "../../types/memory/note-change.ts";
import type { FileOrigins } from "../../types/memory/file-origins.ts";
import type { Log } from "../../types/log.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { ToolContribution, ToolSet } from "../../types/run/tool.ts";
import { filePlaces } from "./tools/file-places.ts";
import type { Live } from "../live.ts";
import { backendsOf } from "./sandbox/sandboxing.ts";
import { keepInWorkspace } from "../../utils/files/keep-in-workspace.ts";
import { once, whenChanged } from "../../utils/share-calls.ts";
import { WebFetch } from "../../tools/web/web-fetch.ts";
import { WebSearch } from "../../tools/web/search/web-search.ts";
import { webTools } from "../../tools/web/web-tools.ts";

interface ToolSources {
  readonly received: Pick<ReceivedFiles, "of">;
  readonly allowances: { readonly rules: Allowances };
  readonly log: Log;
  /** Commands that run in the background; the tools wait for each command when unset. */
  readonly processes?: Processes | undefined;
  /** Drawings that take long; the tool waits for each of them when unset. */
  readonly drawings?: DrawJobs | undefined;
  /** The sandboxes of this machine. */
  readonly machine: SandboxMachine;
  /** The tools of MCP servers; none when unset. */
  readonly mcp?: Pick<McpServers, "tools">;
  /** The browsers; the browser tool is missing when unset. */
  readonly browsers?: Browsers;
  /** Record of the origin of the lines of notes; nothing is recorded when unset. */
  readonly noteChanges?: NoteChanges;
  /** Variables of skills; no skill has variables of its own when unset. */
  readonly skillVariables?: SkillVariablesOf;
  /** Record of the files that others may have written; nothing is recorded when unset. */
  readonly fileOrigins?: FileOrigins;
}

const NONE: readonly ToolContribution[] = [];

/**
 * Gives the function that makes the tools of a run. `chat` is set when the run answers one; `only` leaves the tool of
 * that name alone.
 */
export function openTools(live: Live, sources: ToolSources, ofChats: readonly ToolContribution[]) {
  const { log, drawings, mcp, browsers, fileOrigins } = sources;
  const ofBrowser = (): readonly ToolContribution[] => (browsers ? browserTools(browsers) : NONE);
  const media = mediaTools({
    web: () => live.config.tools.web.fetch,
    mediaDir: live.paths.media,
    keep: keepInWorkspace,
    jobs: drawings,
  });
  const own = [
    ...filesAndCommands(sources),
    ...webToolsOf(live),
    ...(fileOrigins ? notingOrigins(media, fileOrigins) : media),
  ];
  const gatewayTools = [...own, ...ofChats];
  const broken = (tool: string, error: unknown) => log.error("tool left out of a run", { tool, error });
  const backendsFor = openBackends(live, sources);
  // Memory shows what is in files, too. The same objects for each run, by which the looks of their tools are known.
  const noted = once((tools: readonly ToolContribution[]) => (fileOrigins ? notingOrigins(tools, fileOrigins) : tools));
  const added = () => noted(live.contributions.tools);
  const joined = whenChanged((...lists: readonly (readonly ToolContribution[])[]) => lists.flat());
  return (configured: AgentSettings, acting: Acting, chat?: ChatScene, only?: string): ToolSet => {
    const { agent, backends } = backendsFor(configured, acting);
    const all = joined(gatewayTools, ofBrowser(), added(), mcp?.tools() ?? NONE);
    const { sandbox, ...scene } = backends;
    const set = toolsFor(
      only === undefined ? all : all.filter(({ name }) => name === only),
      { agent, acting, ...(chat && { chat }), ...scene },
      broken,
    );
    const writesAside = scene.isSandboxed === true && agent.sandbox?.workspaceAccess !== "rw";
    return { ...set, ...(sandbox !== undefined && { sandbox }), ...(writesAside && { writesAside: true as const }) };
  };
}

/** Gives the function that finds the backends of a run, and its agent with the settings of the conversation. */
export function openBackends(
  live: Live,
  { received, machine, log }: Pick<ToolSources, "received" | "machine" | "log">,
) {
  const warn = (message: string, facts: Readonly<Record<string, unknown>>) => log.warn(message, facts);
  const places = filePlaces(live);
  return (configured: AgentSettings, acting: Acting) => {
    const agent = acting.exec ? { ...configured, exec: withSessionExec(configured.exec, acting.exec) } : configured;
    const host = {
      settings: agent,
      rights: hasOwnerRights(acting.principal)
        ? ("owner" as const)
        : { ...places.ofGuests(agent), received: receivedIn(live, received, acting) },
      ...places.ofAll(),
      stateDir: live.paths.stateDir,
      sessionKey: acting.sessionKey,
    };
    return { agent, host, backends: backendsOf(agent, acting, { host, machine, warn }) };
  };
}

function filesAndCommands(sources: ToolSources): readonly ToolContribution[] {
  const { allowances, processes, noteChanges, fileOrigins, skillVariables } = sources;
  const ofBackends = backendTools(allowances.rules, processes);
  const noting = noteChanges ? recordingNotes(ofBackends, noteChanges) : ofBackends;
  const marking = fileOrigins ? notingOrigins(noting, fileOrigins) : noting;
  return skillVariables ? givingSkillVariables(marking, skillVariables) : marking;
}

/** The files that the gateway received in a guest's own conversation. */
const receivedIn = (
  live: Live,
  received: Pick<ReceivedFiles, "of">,
  { sessionKey }: Acting,
): GuestRules["received"] => ({
  dir: live.paths.media,
  own: async () => new Set(await received.of(sessionKey)),
});

/** The tools of the web; each call reads the current config. */
function webToolsOf(live: Live): readonly ToolContribution[] {
  const search = new WebSearch(() => ({
    settings: live.config.tools.web.search,
    entries: live.config.plugins.entries,
    env: process.env,
    contributed: live.contributions.webSearches,
  }));
  return webTools(new WebFetch(() => live.config.tools.web.fetch), search);
}
