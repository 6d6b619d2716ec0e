import os from "node:os";
import { join } from "node:path";
import { DEFAULT_PROMPT } from "../../automation/wake-up.ts";
import type { AddedCommands } from "../../dispatch/commands/table.ts";
import type { SpeechLevel } from "../../types/media/speech.ts";
import type { PromptPorts, SystemPromptRequest } from "../../dispatch/ports.ts";
import type { SystemPrompt } from "../../harness/request.ts";
import { contextLimits, filesFor, loadContextFiles, seedWorkspace } from "../../prompt/bootstrap.ts";
import { hookedFiles } from "../../prompt/hooked-files.ts";
import type { ContextFile, InboundFacts, RuntimeFacts, SystemContext } from "../../prompt/system-context.ts";
import { type TextPart, joinParts, partSizes } from "../../prompt/parts.ts";
import { wholePrompt, systemPromptParts } from "../../prompt/system-prompt.ts";
import { dayOf } from "../../prompt/timestamp.ts";
import type { Clock } from "../../types/clock.ts";
import type { HookRunner } from "../../types/hook/hooks.ts";
import { LEGACY } from "../../history/engines/open-engine.ts";
import { engineSettings } from "../../history/engines/settings.ts";
import { shareCalls } from "../../utils/share-calls.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { writesInTags } from "../../providers/reasoning-tags.ts";
import { isSubagentKey, isThreadKey } from "../../sessions/keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Log } from "../../types/log.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { SkillVariablesOf } from "../../tools/skill-variables.ts";
import { citationsIn, type Live } from "../live.ts";
import { SkillCatalog } from "./skill-catalog.ts";
import { BoundedMap } from "../../utils/bounded-map.ts";
import { isSameData } from "../../utils/fields.ts";
import { packageRoot } from "../package-root.ts";

/** The system prompt, and the skills that are in it and that people may request. */
export interface Prompting {
  readonly ports: Pick<PromptPorts, "systemPrompt" | "skillsOf">;
  /** The commands of plugins and skills. */
  readonly commands: AddedCommands;
  /** The variables that the config sets for skills. */
  readonly skillVariables: SkillVariablesOf;
}

interface PromptingPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly hooks: HookRunner;
}

/** Makes the files of new workspaces, and reads the skills of all agents. */
export async function openPrompting(live: Live, { log, clock, hooks }: PromptingPorts): Promise<Prompting> {
  for (const agent of live.agents) if (!agent.prompt.skipBootstrap) await seedWorkspace(agent.workspace);
  const warn = warnOnce(log);
  const skills = new SkillCatalog(live, warn);
  await Promise.all(live.agents.map((agent) => skills.of(agent)));
  const { contributions } = live;
  return {
    ports: {
      systemPrompt: createPrompting(live, skills, { clock, warn, hooks }),
      skillsOf: async (agent) => (await skills.of(agent)).forPeople,
    },
    skillVariables: (id) => skills.variablesOf(id),
    commands: {
      get commands() {
        return contributions.commands;
      },
      get skills() {
        return skills.requested;
      },
      get revision() {
        return contributions.revision + skills.revision;
      },
    },
  };
}

/** Logs each line once. */
function warnOnce(log: Log): Log["warn"] {
  const warned = new Set<string>();
  return (message, details) => {
    const line = JSON.stringify([message, details]);
    if (!warned.has(line)) log.warn(message, details);
    warned.add(line);
  };
}

/** Makes the system prompt of an attempt from the workspace, the skills and the current config. */
function createPrompting(
  live: Live,
  skills: SkillCatalog,
  { clock, warn, hooks }: Pick<PromptingPorts, "clock" | "hooks"> & { readonly warn: Log["warn"] },
) {
  // Turns that begin at the same moment share one read.
  const once = shareCalls<Awaited<ReturnType<typeof lookUp>>>();
  const made = new MadePrompts();
  return async (request: SystemPromptRequest): Promise<SystemPrompt> => {
    const { agent, onlyFiles } = request;
    if (agent.prompt.override !== undefined)
      return promptOf(wholePrompt(agent.prompt.override, "systemPromptOverride"));
    const name = JSON.stringify([agent.id, agent.prompt.skills]);
    const found = await once(name, () => lookUp(agent, skills, warn));
    const owners = live.config.commands.ownerAllowFrom.map(String);
    const contextFiles = onlyFiles
      ? await contextFilesOf(agent, onlyFiles)
      : await withHooks(request, filesFor(request, found.contextFiles), hooks);
    const context = contextFor(request, { ...found, contextFiles, owners, now: clock.now() });
    return withParts(made.of(request.session.key, context), memoryParts(request, live, warn));
  };
}

function withHooks({ agent, session }: SystemPromptRequest, files: readonly ContextFile[], hooks: HookRunner) {
  const { id: agentId, workspace } = agent;
  return hookedFiles({ files, workspace, agentId, sessionKey: session.key, limits: contextLimits(agent) }, hooks);
}

/** The text that the memory adds; none with a context engine of a plugin, which asks for the text by itself. */
function memoryParts(
  { tools, onlyFiles, peer }: SystemPromptRequest,
  { config, contributions }: Live,
  warn: Log["warn"],
): readonly TextPart[] {
  if (onlyFiles || engineSettings(config.plugins).id !== LEGACY) return [];
  try {
    const lines = contributions.memoryPrompt({
      availableTools: new Set(tools.map(({ name }) => name)),
      citationsMode: citationsIn(config, peer),
    });
    const text = lines.join("\n").trim();
    return text === "" ? [] : [{ name: "memory", source: "plugins", text: `\n\n${text}` }];
  } catch (error) {
    warn("the memory adds nothing to the prompt: it failed", { error: errorText(error) });
    return [];
  }
}

/** Reads the files of the workspace and the skills. Warns of each shortened file. */
async function lookUp(agent: AgentSettings, catalog: SkillCatalog, warn: Log["warn"]) {
  const contextFiles = await contextFilesOf(agent);
  for (const file of contextFiles)
    if (file.wholeChars !== undefined) warn("workspace file shortened", shortened(agent, file));
  const { forModel: skills } = await catalog.of(agent);
  return { contextFiles, skills };
}

const shortened = ({ workspace }: AgentSettings, { path, content, wholeChars }: ContextFile) => ({
  file: join(workspace, path),
  chars: wholeChars,
  shown: content.length,
  fix: "Shorten the file, or raise agents.defaults.bootstrapMaxChars or bootstrapTotalMaxChars.",
});

export function contextFilesOf(agent: AgentSettings, names?: readonly string[]): Promise<readonly ContextFile[]> {
  return loadContextFiles(agent.workspace, contextLimits(agent), names);
}

function contextFor(
  { agent, model, tools, peer, session, ...texts }: SystemPromptRequest,
  found: Pick<SystemContext, "contextFiles" | "skills"> & { owners: readonly string[]; now: number },
): SystemContext {
  return {
    mode: isSubagentKey(session.key) || session.entry.spawnDepth !== undefined ? "minimal" : "full",
    tools: tools.map(({ name, description }) => ({ name, description })),
    skills: found.skills,
    workspace: agent.workspace,
    docsPath: DOCS_PATH,
    runtime: runtimeOf({ agent, model, peer, session, ...texts }),
    timezone: agent.timezone,
    today: dayOf(found.now, agent.timezone),
    ownerIds: found.owners,
    reasoningTags: writesInTags(model),
    contextFiles: found.contextFiles,
    ...(agent.modelAliases && { modelAliases: agent.modelAliases }),
    ...(agent.heartbeat?.inSystemPrompt === true && { heartbeat: agent.heartbeat.prompt ?? DEFAULT_PROMPT }),
    ...(peer && { inbound: inboundOf(peer, session.key) }),
    ...(texts.speech !== undefined && { ttsHint: HINTS[texts.speech] }),
    ...textsOf(texts),
  };
}

const runtimeOf = ({
  agent,
  model,
  peer,
  session: { entry },
  hasButtons,
}: Pick<SystemPromptRequest, "agent" | "model" | "session" | "hasButtons"> & {
  readonly peer: Peer | undefined;
}): RuntimeFacts => ({
  agentId: agent.id,
  ...MACHINE,
  model: model.id,
  provider: model.provider,
  channel: peer?.channel ?? "webchat",
  thinking: entry.thinkingLevel ?? agent.thinking,
  reasoning: entry.reasoningLevel ?? "off",
  ...(hasButtons === true && { capabilities: ["inlineButtons" as const] }),
});

const HINTS: Readonly<Record<Exclude<SpeechLevel, "off">, string>> = {
  always: "Each of your answers is also spoken: write so that it can be listened to, without tables and long lists.",
  inbound: "Your answers to voice messages are also spoken: write those so that they can be listened to.",
  tagged: "Write `[[tts]]` into an answer that is better heard than read: it is then also sent as a voice message.",
};

const textsOf = ({ extra, sandbox }: Pick<SystemPromptRequest, "extra" | "sandbox">) => ({
  ...(extra !== undefined && { extra }),
  ...(sandbox && { sandbox }),
});

function inboundOf({ channel, account, chat }: Peer, key: SessionKey): InboundFacts {
  const flags = { is_group_chat: chat.kind === "group", is_thread: isThreadKey(key) };
  return { chatId: chat.id, channel, chatType: chat.kind, account, flags };
}

/** Conversations whose last system prompt is kept: some 20 KB each. */
const MOST_KEPT = 64;

const promptOf = (parts: readonly TextPart[]): SystemPrompt => ({
  text: joinParts(parts),
  parts: partSizes(parts),
});

/** Makes a system prompt only when something that it is made of has changed since the conversation's last one. */
class MadePrompts {
  readonly #made = new BoundedMap<SessionKey, { readonly context: SystemContext; readonly prompt: SystemPrompt }>(
    MOST_KEPT,
  );

  of(key: SessionKey, context: SystemContext): SystemPrompt {
    const known = this.#made.get(key);
    if (known && isSameData(known.context, context)) return known.prompt;
    const prompt = promptOf(systemPromptParts(context));
    this.#made.set(key, { context, prompt });
    return prompt;
  }
}

/** The prompt with more parts at its end. */
function withParts(prompt: SystemPrompt, parts: readonly TextPart[]): SystemPrompt {
  if (parts.length === 0) return prompt;
  const more = promptOf(parts);
  return { text: prompt.text + more.text, parts: [...prompt.parts, ...more.parts] };
}

/** The machine's facts in the system prompt. Read once: each of them is a system call. */
const MACHINE = {
  host: os.hostname(),
  os: `${os.type()} ${os.release()}`,
  arch: os.arch(),
  node: process.version,
};

/** The folder of the gateway's own documentation. */
const DOCS_PATH = join(packageRoot, "docs");
