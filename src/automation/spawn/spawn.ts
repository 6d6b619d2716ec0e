import { randomUUID } from "node:crypto";
import { mkdir, realpath, writeFile } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import type { SpawnAnswer, SpawnAsk, SessionAsker, SpawnFile } from "../../types/subagent/spawn.ts";
import type { SpawnedRun } from "../../types/subagent/subagent.ts";
import type { AgentSettings } from "../../types/settings.ts";
import type { Peer, InboundMessage } from "../../types/chat/message.ts";
import { DEFAULT_ACCOUNT, sessionKey, type SessionKey } from "../../types/ids.ts";
import type { EntryBody, Session, Sessions, TranscriptEntry } from "../../types/session.ts";
import { SUBAGENT, subagentIdOf, subagentRunId } from "../../tools/session/spawn-names.ts";
import { defined } from "../../utils/defined.ts";
import { visibleText } from "../../utils/text/clean-text.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { oneLine } from "../../prompt/untrusted.ts";
import { announceMessage } from "../announce/announce-message.ts";
import { SUBAGENT_KIND } from "./subagent-turn.ts";
import type { SpawnPorts } from "./ports.ts";
import {
  agentToSpawn,
  modelFor,
  overLimit,
  refusedSpawn,
  thinkingFor,
  type ChosenModel,
  type Refused,
  type SpawnSettings,
  type SpawnFileLimits,
} from "./rules.ts";
import { estimateTextTokens } from "../../sessions/transcript/tokens.ts";
import type { ChatMessage } from "../../types/run/model.ts";

/** UTF-16 units of a label that is made from the task. */
const LABEL_CHARS = 60;
const MINUTE_MS = 60_000;

/** All decisions about a subagent, made before anything is written. */
interface Plan {
  readonly key: SessionKey;
  readonly spawnKey: string;
  readonly agent: AgentSettings;
  readonly settings: SpawnSettings;
  readonly label: string;
  readonly model: ChosenModel;
  readonly thinking: ReturnType<typeof thinkingFor>;
  readonly notes: readonly string[];
}

/**
 * Starts a subagent for a run. The announcement of its end to the run's session is written together with the subagent's
 * message. Expected failures are refusals in the answer.
 */
export async function spawn(ask: SpawnAsk, asker: SessionAsker, ports: SpawnPorts): Promise<SpawnAnswer> {
  const plan = await planFor(ask, asker, ports);
  if ("status" in plan) return plan;
  const files = await filesFor(ask, plan, ports);
  if (typeof files === "string") return refusedSpawn("error", files);
  const fork = ask.context === "fork" ? await forkOf(asker.sessionKey, ports.sessions) : undefined;
  const bodies = typeof fork === "object" ? fork.bodies : undefined;
  const notes = [...plan.notes, ...(typeof fork === "string" ? [`${fork}, so the subagent begins without it.`] : [])];
  const context = bodies ? "fork" : "isolated";
  try {
    const runId = await begin(ask, asker, { plan, files, bodies }, ports);
    return {
      status: "accepted",
      runId,
      childSessionKey: plan.key,
      context,
      ...(notes.length > 0 && { note: notes.join(" ") }),
      ...(plan.model.ref && { resolvedProvider: plan.model.ref.provider, resolvedModel: plan.model.ref.id }),
    };
  } catch (error) {
    return refusedSpawn("error", errorText(error));
  }
}

async function planFor(ask: SpawnAsk, asker: SessionAsker, ports: SpawnPorts): Promise<Plan | Refused> {
  const rules = ports.rules();
  const agent = agentToSpawn(ask, asker, rules);
  if ("status" in agent) return agent;
  const settings = rules.of(asker.agentId);
  const active = (await ports.inbox.open()).filter(
    ({ message: { options } }) => options?.kind === SUBAGENT_KIND && options.subagent?.parent === asker.sessionKey,
  ).length;
  const total = taskCount(asker.sessionKey, ports);
  const over = overLimit({ active, total, depth: asker.depth + 1 }, settings);
  if (over) return over;
  const spawnKey = await freeKey(ask, ports);
  const key = sessionKey(`agent:${agent.id}:subagent:${subagentIdOf(spawnKey)}`);
  const isSandboxed = rules.isSandboxed(agent.id, key);
  if (!isSandboxed && (asker.isSandboxed || ask.sandbox === "require"))
    return refusedSpawn(
      "forbidden",
      `The agent "${agent.id}" would work outside of a sandbox (agents.*.sandbox.mode).`,
    );
  const of = rules.of(agent.id);
  const model = modelFor(ask.model, of.model, agent);
  const thinking = thinkingFor(ask.thinking, of.thinking);
  const once =
    ask.mode === "session" || ask.thread === true
      ? "It runs once: conversations bound to a thread are not offered here."
      : undefined;
  const notes = [model.note, thinking.note, once].filter((note) => note !== undefined);
  return { key, spawnKey, agent, settings, label: labelOf(ask), model, thinking, notes };
}

async function freeKey({ spawnKey }: SpawnAsk, { inbox }: SpawnPorts): Promise<string> {
  if (spawnKey === undefined) return randomUUID();
  const taken = await inbox.find(SUBAGENT, DEFAULT_ACCOUNT, subagentRunId(spawnKey));
  return taken ? randomUUID() : spawnKey;
}

function labelOf({ label, taskName, task }: SpawnAsk): string {
  const text = oneLine(visibleText((label ?? taskName ?? task).slice(0, 10 * LABEL_CHARS)));
  if (text === "") return "task";
  return text.length > LABEL_CHARS ? `${text.slice(0, LABEL_CHARS - 1)}…`.toWellFormed() : text;
}

async function filesFor(
  { files = [], mountPath }: SpawnAsk,
  { agent, key }: Plan,
  { rules }: SpawnPorts,
): Promise<Exclude<WrittenFiles, string> | undefined | string> {
  if (files.length === 0) return undefined;
  if (mountPath !== undefined && isAbsolute(mountPath)) return "attachAs.mountPath is a path inside the workspace.";
  const folder = mountPath ?? join(".openclaw", "attachments", key.slice(key.lastIndexOf(":") + 1));
  return writeFiles(files, { workspace: agent.workspace, folder }, rules().files);
}

interface Making {
  readonly plan: Plan;
  readonly files: Exclude<WrittenFiles, string> | undefined;
  readonly bodies: readonly EntryBody[] | undefined;
}

/**
 * Begins the run, and resolves with its id when it is durable. Rejects when the subagent cannot start; the engine has
 * then undone its preparation.
 */
async function begin(ask: SpawnAsk, asker: SessionAsker, making: Making, ports: SpawnPorts) {
  const { plan, files, bodies } = making;
  const { key, spawnKey, settings, label, model, thinking } = plan;
  const parent = ports.sessions.peek(asker.sessionKey);
  const parentFile = ports.sessions.fileOf(asker.sessionKey);
  const prepared = await ports.engine.prepare({
    parentSessionKey: asker.sessionKey,
    childSessionKey: key,
    contextMode: bodies ? "fork" : "isolated",
    ...(parent && { parentSessionId: parent.sessionId }),
    ...(parentFile !== undefined && { parentSessionFile: parentFile }),
    ...ttlOf(ask, settings),
  });
  try {
    const timeoutSeconds = ask.runTimeoutSeconds ?? settings.runTimeoutSeconds;
    const { runId } = await ports.runs.run({
      sessionKey: key,
      message: ask.task,
      idempotencyKey: spawnKey,
      systemPrompt: subagentPrompt({
        label,
        cwd: ask.cwd,
        maySpawn: asker.depth + 1 < settings.maxSpawnDepth,
        files,
      }),
      requester: asker,
      spawn: {
        label,
        model: model.ref,
        thinking: thinking.level,
        timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : undefined,
        files: ask.lightContext === true ? [] : PROMPT_FILES,
        archiveAt: archiveAt(ask, settings, ports),
        whenEnded: await whenEndedOf(ask, asker, { key, label }, ports),
        ...(bodies && { fill: (session) => fillFork(session, bodies) }),
      },
    });
    await countOne(asker.sessionKey, ports);
    return runId;
  } catch (error) {
    await prepared?.rollback();
    throw error;
  }
}

/** Number of tasks that a session's agent has given to subagents. */
export const taskCount = (key: SessionKey, { sessions }: Pick<SpawnPorts, "sessions">): number =>
  sessions.peek(key)?.spawnedCount ?? 0;

export async function countOne(key: SessionKey, ports: Pick<SpawnPorts, "sessions">): Promise<void> {
  await ports.sessions.patch(key, { spawnedCount: taskCount(key, ports) + 1 });
}

/**
 * Milliseconds after which the conversation is archived; unset when the conversation is kept, or is archived as soon as
 * its end is announced.
 */
const ttlOf = ({ cleanup }: SpawnAsk, { archiveAfterMinutes }: SpawnSettings): { readonly ttlMs?: number } =>
  cleanup === "delete" || archiveAfterMinutes === 0 ? {} : { ttlMs: archiveAfterMinutes * MINUTE_MS };

function archiveAt({ cleanup }: SpawnAsk, { archiveAfterMinutes }: SpawnSettings, { clock }: SpawnPorts) {
  if (cleanup === "delete") return clock.now();
  return archiveAfterMinutes === 0 ? undefined : clock.now() + archiveAfterMinutes * MINUTE_MS;
}

/** Message for the asking session after the end of the subagent. */
export async function whenEndedOf(
  ask: Pick<SpawnAsk, "expectsCompletionMessage">,
  asker: SessionAsker,
  { key, label }: { readonly key: SessionKey; readonly label: string },
  { inbox, clock }: Pick<SpawnPorts, "inbox" | "clock">,
): Promise<SpawnedRun["whenEnded"]> {
  const [row] = asker.runId === undefined ? [] : await inbox.ofRun(asker.runId);
  const to = row ? chatOf(row.message) : asker.to;
  const { whenEnded: above, subagent, announce } = row?.message.options ?? {};
  const own = subagent ?? announce;
  const startedAt = clock.now();
  return (runId) =>
    announceMessage({
      parent: asker.sessionKey,
      to,
      by: asker.runId,
      whenEnded: above,
      facts: {
        child: key,
        runId,
        label,
        startedAt,
        depth: asker.depth,
        ...(asker.isOwner && { isOwner: true }),
        ...defined({ tools: asker.tools, root: asker.root, systemPrompt: own?.systemPrompt, files: own?.files }),
        ...(ask.expectsCompletionMessage === false && { isSilent: true }),
      },
    });
}

/** The chat that the asking run answers. */
const chatOf = ({ options, from }: InboundMessage): Peer | undefined =>
  options?.operator === true ? options.deliverTo : from;

/** Most entries of a conversation that are copied; a longer conversation is not copied at all. */
const MOST_ENTRIES = 2000;
/** Most estimated tokens of a copy. */
const MOST_TOKENS = 100_000;

/** First entries of a subagent's conversation; a text is the reason why there are none. */
type Fork = { readonly bodies: readonly EntryBody[] } | string;

/** A copy of a conversation as its agent sees it now, without the call that asks for the copy. */
async function forkOf(key: SessionKey, sessions: Pick<Sessions, "history">): Promise<Fork> {
  const { entries, hasMore } = await sessions.history(key, MOST_ENTRIES);
  const kept = sinceSummary(entries);
  if (hasMore && kept === entries) return `The conversation has more than ${MOST_ENTRIES} entries`;
  const bodies = kept.flatMap(bodyOf);
  const open = bodies.findLastIndex((body) => body.type === "message" && hasOpenCall(body.message, bodies));
  const whole = open < 0 ? bodies : bodies.slice(0, open);
  const tokens = whole.reduce((sum, body) => sum + estimateTextTokens(JSON.stringify(body)), 0);
  return tokens > MOST_TOKENS ? `The conversation has about ${Math.round(tokens / 1000)}k tokens` : { bodies: whole };
}

/**
 * Entry between the copy and the task: the copy usually ends in a request for the subagent, which the subagent would
 * take for its own task.
 */
const END: EntryBody = {
  type: "custom_message",
  customType: "openclaw.fork",
  content:
    "[The conversation above is a copy of the one that asked for you. It is there so that you know it: what it asks for is done there. " +
    "Your own task follows.]",
  display: false,
};

/** Writes the copy into a new conversation. Rejects when it cannot be written. */
async function fillFork(session: Session, bodies: readonly EntryBody[]): Promise<void> {
  for (const body of [...bodies, ...(bodies.length > 0 ? [END] : [])]) await session.append(body);
  await session.sync();
}

/** The last summary, and the entries that it does not cover. */
function sinceSummary(entries: readonly TranscriptEntry[]): readonly TranscriptEntry[] {
  const at = entries.findLastIndex(({ type }) => type === "compaction");
  const summary = entries[at];
  if (summary?.type !== "compaction") return entries;
  const first = entries.findIndex(({ id }) => id === summary.firstKeptEntryId);
  const kept = first < 0 ? entries.slice(at + 1) : entries.slice(first).filter((entry) => entry !== summary);
  return [summary, ...kept.filter(({ type }) => type !== "compaction")];
}

function bodyOf(entry: TranscriptEntry): readonly EntryBody[] {
  if (entry.type === "message") return [{ type: "message", message: structuredClone(entry.message) }];
  if (entry.type !== "compaction") return [];
  const content = `[Summary of the conversation so far]\n${entry.summary}`;
  return [{ type: "custom_message", customType: "openclaw.fork", content, display: false }];
}

function hasOpenCall(message: ChatMessage, bodies: readonly EntryBody[]): boolean {
  if (message.role !== "assistant") return false;
  const answered = new Set(
    bodies.flatMap((body) =>
      body.type === "message" && body.message.role === "toolResult" ? [body.message.toolCallId] : [],
    ),
  );
  return message.content.some((part) => part.type === "toolCall" && !answered.has(part.id));
}

/** The files of a subagent, or the reason why it cannot have them. */
type WrittenFiles = { readonly folder: string; readonly names: readonly string[] } | string;

const NAME = /^(?!\.{1,2}$)[^/\\\0\p{Cc}]{1,120}$/u;

/** Writes files into a folder of a workspace. The folder must not exist before. */
async function writeFiles(
  files: readonly SpawnFile[],
  { workspace, folder }: { readonly workspace: string; readonly folder: string },
  limits: SpawnFileLimits,
): Promise<WrittenFiles> {
  const bytes = files.map(({ content, encoding }) => Buffer.from(content, encoding ?? "utf8"));
  const why = whyNot(files, bytes, limits);
  if (why !== undefined) return why;
  try {
    const place = await newFolder(workspace, folder);
    if (place === undefined) return `The folder ${folder} is not inside the workspace, or exists already.`;
    for (const [at, { name }] of files.entries())
      await writeFile(join(place, name), bytes[at] ?? "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    return `The files could not be written: ${errorText(error)}`;
  }
  return { folder, names: files.map(({ name }) => name) };
}

function whyNot(
  files: readonly SpawnFile[],
  bytes: readonly Buffer[],
  { enabled, maxFiles, maxFileBytes, maxTotalBytes }: SpawnFileLimits,
): string | undefined {
  if (!enabled) return "Files for subagents are off (tools.sessions_spawn.attachments.enabled).";
  if (files.length > maxFiles) return `At most ${maxFiles} files (tools.sessions_spawn.attachments.maxFiles).`;
  const bad = files.find(({ name }) => !NAME.test(name));
  if (bad) return `"${bad.name}" is no name of a file: write one without a path.`;
  if (new Set(files.map(({ name }) => name)).size < files.length) return "Two files have the same name.";
  const long = files.find((_, at) => (bytes[at]?.length ?? 0) > maxFileBytes);
  if (long) return `${long.name} has more than ${maxFileBytes} bytes (tools.sessions_spawn.attachments.maxFileBytes).`;
  const total = bytes.reduce((sum, { length }) => sum + length, 0);
  return total > maxTotalBytes
    ? `Together the files have more than ${maxTotalBytes} bytes (tools.sessions_spawn.attachments.maxTotalBytes).`
    : undefined;
}

/** Path of the new folder. Undefined when a link leads out of the workspace, or when the folder exists already. */
async function newFolder(workspace: string, folder: string): Promise<string | undefined> {
  await mkdir(workspace, { recursive: true });
  const root = await realpath(workspace);
  const parts = relative(".", folder).split(sep);
  if (parts.includes("..")) return undefined;
  let at = root;
  for (const [index, part] of parts.entries()) {
    const next = join(at, part);
    const made = await mkdir(next).then(
      () => true,
      () => false,
    );
    if (index === parts.length - 1 && !made) return undefined;
    at = await realpath(next);
    if (at !== root && !at.startsWith(root + sep)) return undefined;
  }
  return at === root ? undefined : at;
}

/** Files of the workspace in a subagent's system prompt. */
export const PROMPT_FILES = ["AGENTS.md", "TOOLS.md"];

/** The part of a subagent's system prompt that explains its task and its limits. */
export function subagentPrompt(facts: {
  readonly label: string;
  readonly cwd?: string | undefined;
  readonly maySpawn: boolean;
  readonly files?: { readonly folder: string; readonly names: readonly string[] } | undefined;
}): string {
  const { label, cwd, maySpawn, files } = facts;
  return [
    "# Subagent Context",
    `You are a **subagent**: another agent has given you one task, "${oneLine(label)}", which is the first message of this conversation.`,
    "",
    "- Do this task and nothing else. Start nothing of your own: no reminders, no messages to people, no other projects.",
    "- Nobody reads along. What you need to decide, decide; if the task cannot be done, say what is missing.",
    "- Your last answer is the report that the other agent gets. Write the whole result into it: what you found, where, and how sure you are. " +
      "It must make sense to somebody who has seen none of your steps.",
    ...(maySpawn
      ? ["- You may start subagents yourself with `sessions_spawn`. Your report is sent once all of them have ended."]
      : []),
    ...(cwd === undefined ? [] : [`- Work in the folder ${oneLine(cwd)}.`]),
    ...(files
      ? [`- Files for you are in ${files.folder}/ of the workspace: ${files.names.map(oneLine).join(", ")}.`]
      : []),
  ].join("\n");
}
