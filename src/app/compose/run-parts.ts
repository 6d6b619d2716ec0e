import { join } from "node:path";
import type { OpenSandboxes } from "./sandbox/sandboxing.ts";
import { createTranscriber } from "../../channels/transcribe.ts";
import { ImageLoader } from "../../history/images/load.ts";
import { PruneMemory } from "../../history/prune-memory.ts";
import type { Hooks } from "../../plugins/hooks.ts";
import { COMMAND_NAMES } from "../../dispatch/commands/table.ts";
import type { PromptPorts, RunPorts } from "../../dispatch/ports.ts";
import { Browsers } from "../../browser/browsers.ts";
import type { McpServers } from "../../mcp/servers.ts";
import type { Models } from "../../providers/catalog.ts";
import type { SandboxMachine } from "../../tools/sandbox/machine.ts";
import type { Clock } from "../../types/clock.ts";
import type { Journal } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { NoteChanges } from "../../types/memory/note-change.ts";
import type { Sessions } from "../../types/session.ts";
import { openAllowances, type OpenAllowances } from "./approvals/allowances.ts";
import { Engines } from "./engines.ts";
import type { Live } from "../live.ts";
import type { FileOrigins } from "../../types/memory/file-origins.ts";
import { openFileOrigins } from "./tools/file-origins.ts";
import { openNoteChanges } from "./tools/note-changes.ts";
import { openMcp } from "./mcp/open-mcp.ts";
import type { Playwright } from "../../browser/profile-session.ts";
import type { StatePaths } from "../config/paths.ts";
import { libraryStore, libraryUrl } from "./libraries.ts";
import { announceTurn } from "../../automation/announce/announce-turn.ts";
import { subagentTurn } from "../../automation/spawn/subagent-turn.ts";
import { relayTurn } from "../../automation/talk/relay-turn.ts";
import { AUTOMATION_TURNS } from "../../automation/turns.ts";
import { TURN_KINDS, turnKinds } from "../../dispatch/turn-kinds.ts";
import type { TurnKinds } from "../../types/run/turn-kind.ts";
import { readDailyNotes, type DailyNote } from "../../prompt/startup-notes.ts";
import type { AgentId } from "../../types/ids.ts";
import { Services } from "../../providers/speech/speaker.ts";
import type { Speaker } from "../../types/media/speech.ts";
import { own } from "../../utils/own.ts";

interface Sources {
  readonly hooks: Hooks;
  readonly live: Live;
  readonly models: Models;
  readonly sessions: Sessions;
  readonly journal: Pick<Journal, "inbox" | "received" | "runs" | "texts">;
  readonly sandboxes: OpenSandboxes;
  readonly clock: Clock;
  readonly log: Log;
}

/** Parts that all runs share. */
export interface RunPartsOfAll {
  readonly hooks: Hooks;
  readonly engines: Engines;
  readonly allowances: OpenAllowances;
  readonly machine: SandboxMachine;
  /** The servers whose tools agents can use. */
  readonly mcp: McpServers;
  /** The browsers that agents can use. */
  readonly browsers: Browsers;
  readonly noteChanges: NoteChanges;
  readonly fileOrigins: FileOrigins;
  readonly kinds: TurnKinds;
  readonly ports: Omit<RunPorts, "models" | "budgets" | "tools">;
  readonly prompts: Pick<PromptPorts, "dailyNotes" | "speaker" | "transcribe">;
}

export function openRunParts(sources: Sources): RunPartsOfAll {
  const { live, hooks, journal, sandboxes, clock, log } = sources;
  const { contributions } = live;
  contributions.reserve("commands", COMMAND_NAMES);
  const engines = new Engines(sources);
  const mcp = openMcp(live, sources);
  const allowances = openAllowances(live, { clock, log });
  const noteChanges = openNoteChanges(live, sources);
  return {
    hooks,
    engines,
    allowances,
    machine: sandboxes.machine,
    mcp,
    browsers: openBrowsers(live, sources),
    noteChanges,
    fileOrigins: openFileOrigins(live, { ...sources, received: journal.received }),
    kinds: kindsOf({ ...sources, engines }),
    prompts: {
      speaker: openSpeaker(live, log),
      dailyNotes: dailyNotesWith(noteChanges, clock),
      transcribe: async (recording) =>
        createTranscriber(live.config.audio.transcription, log, live.reserve)?.(recording),
    },
    ports: {
      hooks,
      texts: journal.texts,
      pruned: new PruneMemory(),
      images: new ImageLoader({ log, mediaDir: live.paths.media }),
      async toolsReady(signal) {
        await sandboxes.tried();
        await mcp.ready(signal);
        await contributions.settled();
      },
      engineFor: (ask) => engines.openerFor(ask),
    },
  };
}

/** The browsers of the current config. Starts none. */
const openBrowsers = (live: Live, { clock, log }: { readonly clock: Clock; readonly log: Log }): Browsers =>
  new Browsers({
    clock,
    log,
    config: () => live.config.browser,
    profiles: join(live.paths.stateSub, "browser"),
    files: live.paths.media,
    env: process.env,
    load: (signal) => loadPlaywright(live.paths, log, signal),
  });

const NAME = "playwright-core";

/** The installed library (a clone has it), else the library that npm fetches: 14 MB that only the browser needs. */
async function loadPlaywright(paths: StatePaths, log: Log, signal: AbortSignal): Promise<Playwright> {
  try {
    return await import("playwright-core");
  } catch (error) {
    if (!isNotThere(error)) throw error;
  }
  const fetched: Playwright = await import(
    await libraryUrl(libraryStore(paths, log), { channel: "browser", name: NAME, signal })
  );
  return fetched;
}

/** Whether the library is not installed, as opposed to installed and broken. */
const isNotThere = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND" && error.message.includes(NAME);

interface KindSources {
  readonly live: Live;
  readonly hooks: Hooks;
  readonly engines: Pick<Engines, "spawns">;
  readonly sessions: Sessions;
  readonly journal: Pick<Journal, "inbox" | "runs">;
}

/** Every kind of turn of this gateway. */
function kindsOf({ live, hooks, engines, sessions, journal }: KindSources): TurnKinds {
  const { inbox, runs } = journal;
  const ofSessions = [
    subagentTurn(hooks, engines.spawns),
    announceTurn({ sessions, inbox, runs }),
    relayTurn({ sessions, inbox, defaultAgent: () => live.defaultAgent.id }),
  ];
  return turnKinds([...TURN_KINDS, ...AUTOMATION_TURNS, ...ofSessions, ...live.contributions.turnKinds]);
}

/**
 * Reads the notes of the last days for a fresh session. A note with a line that untrusted content may have asked for is
 * only named: shown by a tool, the note marks the conversation.
 */
function dailyNotesWith(
  { isUntrusted }: Pick<NoteChanges, "isUntrusted">,
  clock: Pick<Clock, "now">,
): PromptPorts["dailyNotes"] {
  const marked = async (agentId: AgentId, note: DailyNote): Promise<DailyNote> =>
    (await isUntrusted({ agentId, ...note }))
      ? { ...note, text: "[not shown here: parts of it come from untrusted content]" }
      : note;
  return async ({ id, workspace, timezone, prompt: { startup } }) => {
    if (!startup) return [];
    const notes = await readDailyNotes(workspace, startup, { now: clock.now(), timezone });
    return Promise.all(notes.map((note) => marked(id, note)));
  };
}

/** Speaks texts with the services of the current config. */
const openSpeaker = (live: Live, log: Log): Speaker =>
  new Services({
    log,
    env: process.env,
    reserve: live.reserve,
    config: () => live.config.messages.tts,
    keyOf: (provider) => own(live.config.models.providers, provider)?.apiKey?.reveal(),
  });
