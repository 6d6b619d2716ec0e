import { join } from "node:path";
import { DEFAULT_PROMPT } from "../../automation/wake-up.ts";
import type { SystemPromptRequest } from "../../dispatch/ports.ts";
import type { SystemPrompt } from "../../harness/request.ts";
import { CHECKLIST, loadContextFiles } from "../../prompt/bootstrap.ts";
import { loadSkills } from "../../prompt/skills/skills.ts";
import type { ContextFile, InboundFacts, SystemContext } from "../../prompt/system-context.ts";
import type { TextPart } from "../../prompt/parts.ts";
import { wholePrompt } from "../../prompt/system-prompt.ts";
import { dayOf } from "../../prompt/timestamp.ts";
import type { Clock } from "../../types/clock.ts";
import { LEGACY } from "../../history/engines/open-engine.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { shareCalls } from "../../utils/share-calls.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { writesInTags } from "../../providers/reasoning-tags.ts";
import { isSubagentKey } from "../../sessions/keys.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Log } from "../../types/log.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { Live } from "./live.ts";
import { DOCS_PATH, MACHINE } from "./machine.ts";
import { MadePrompts, promptOf, withParts } from "./made-prompts.ts";
import { skillSources } from "./skill-sources.ts";

/** Makes the system prompt of an attempt from the workspace, the skills and the current config. */
export function createPrompting(live: Live, log: Log, clock: Clock) {
  const warned = new Set<string>();
  const warn = (message: string, details: Readonly<Record<string, unknown>>) => {
    const line = JSON.stringify([message, details]);
    if (!warned.has(line)) log.warn(message, details);
    warned.add(line);
  };
  // Turns that begin at the same moment share one read.
  const once = shareCalls<Awaited<ReturnType<typeof lookUp>>>();
  const made = new MadePrompts();
  return async (request: SystemPromptRequest): Promise<SystemPrompt> => {
    const { agent, isLight } = request;
    if (agent.prompt.override !== undefined)
      return promptOf(wholePrompt(agent.prompt.override, "systemPromptOverride"));
    const found = await once(agent.id, () => lookUp(agent, live, warn));
    const owners = live.config.commands.ownerAllowFrom.map(String);
    const contextFiles = isLight === true ? await filesOf(agent, [CHECKLIST]) : found.contextFiles;
    const context = contextFor(request, { ...found, contextFiles, owners, now: clock.now() });
    return withParts(made.of(request.session.key, context), memoryParts(request, live, warn));
  };
}

/** What the memory adds. A context engine of a plugin asks for it by itself. */
function memoryParts(
  { tools, isLight }: SystemPromptRequest,
  { config, contributions }: Live,
  warn: Log["warn"],
): readonly TextPart[] {
  if (isLight === true || engineSettings(config.plugins).id !== LEGACY) return [];
  try {
    const lines = contributions.memoryPrompt({ availableTools: new Set(tools.map(({ name }) => name)) });
    const text = lines.join("\n").trim();
    return text === "" ? [] : [{ name: "memory", source: "plugins", text: `\n\n${text}` }];
  } catch (error) {
    warn("the memory adds nothing to the prompt: it failed", { error: errorText(error) });
    return [];
  }
}

/** The files of the workspace, and the skills. */
async function lookUp(agent: AgentSettings, live: Live, warn: Log["warn"]) {
  const contextFiles = await filesOf(agent);
  for (const file of contextFiles)
    if (file.wholeChars !== undefined) warn("workspace file shortened", shortened(agent, file));
  const { config, paths, contributions } = live;
  const pluginDirs = contributions.skillFolders;
  const skills = await loadSkills(
    skillSources(agent, { config, stateDir: paths.stateDir, env: process.env, pluginDirs }),
    ({ location, reason }) => warn("skill not offered to the model", { skill: location, why: reason }),
  );
  return { contextFiles, skills };
}

const shortened = ({ workspace }: AgentSettings, { path, content, wholeChars }: ContextFile) => ({
  file: join(workspace, path),
  chars: wholeChars,
  shown: content.length,
  fix: "Shorten the file, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.",
});

export function filesOf(
  { workspace, prompt }: AgentSettings,
  names?: readonly string[],
): Promise<readonly ContextFile[]> {
  const limits = { maxChars: prompt.bootstrapMaxChars, totalMaxChars: prompt.bootstrapTotalMaxChars };
  return loadContextFiles(workspace, limits, names);
}

function contextFor(
  { agent, model, tools, peer, extra, session }: SystemPromptRequest,
  found: Pick<SystemContext, "contextFiles" | "skills"> & { owners: readonly string[]; now: number },
): SystemContext {
  return {
    mode: isSubagentKey(session.key) || session.entry.spawnDepth !== undefined ? "minimal" : "full",
    tools: tools.map(({ name, description }) => ({ name, description })),
    skills: found.skills,
    workspace: agent.workspace,
    docsPath: DOCS_PATH,
    runtime: {
      agentId: agent.id,
      ...MACHINE,
      model: model.id,
      provider: model.provider,
      channel: peer?.channel ?? "webchat",
    },
    timezone: agent.timezone,
    today: dayOf(found.now, agent.timezone),
    ownerIds: found.owners,
    reasoningTags: writesInTags(model),
    contextFiles: found.contextFiles,
    ...(agent.modelAliases && { modelAliases: agent.modelAliases }),
    ...(agent.heartbeat?.inSystemPrompt === true && { heartbeat: agent.heartbeat.prompt ?? DEFAULT_PROMPT }),
    ...(peer && { inbound: inboundOf(peer) }),
    ...(extra !== undefined && { extra }),
  };
}

function inboundOf(peer: Peer): InboundFacts {
  return { chatId: peer.chat.id, channel: peer.channel, chatType: peer.chat.kind, account: peer.account };
}
