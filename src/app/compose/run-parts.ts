import type { OpenSandboxes } from "./sandbox/sandboxing.ts";
import { kindsOf } from "./subagents/turn-kinds.ts";
import { createTranscriber } from "../../channels/transcribe.ts";
import { ImageLoader } from "../../history/images/load.ts";
import { PruneMemory } from "../../history/prune-memory.ts";
import type { Hooks } from "../../plugins/hooks.ts";
import { COMMAND_NAMES } from "../../dispatch/commands/table.ts";
import type { DispatchPorts } from "../../dispatch/ports.ts";
import type { Browsers } from "../../browser/browsers.ts";
import type { McpServers } from "../../mcp/servers.ts";
import type { Models } from "../../providers/catalog.ts";
import { diskTakesWrites } from "../../store/disk.ts";
import type { SandboxMachine } from "../../tools/sandbox/machine.ts";
import type { Clock } from "../../types/clock.ts";
import type { Journal } from "../../types/journal.ts";
import type { Log } from "../../types/log.ts";
import type { NoteChanges } from "../../types/memory/note-change.ts";
import type { Sessions } from "../../types/session.ts";
import { openAllowances, type OpenAllowances } from "./approvals/allowances.ts";
import { Engines } from "./engines.ts";
import type { Live } from "./live.ts";
import { dailyNotesWith } from "./tools/daily-notes.ts";
import type { FileOrigins } from "../../types/memory/file-origins.ts";
import { openFileOrigins } from "./tools/file-origins.ts";
import { openNoteChanges } from "./tools/note-changes.ts";
import { openSpeaker } from "./tools/speech.ts";
import { openBrowsers } from "./browser/open-browsers.ts";
import { openMcp } from "./mcp/open-mcp.ts";

interface Sources {
  readonly hooks: Hooks;
  readonly live: Live;
  readonly models: Models;
  readonly sessions: Sessions;
  readonly journal: Pick<Journal, "approvals" | "inbox" | "received" | "runs" | "texts">;
  readonly sandboxes: OpenSandboxes;
  readonly clock: Clock;
  readonly log: Log;
}

/** What all runs share. */
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
  readonly ports: Pick<
    DispatchPorts,
    | "allowances"
    | "kinds"
    | "hooks"
    | "texts"
    | "pruned"
    | "images"
    | "mediaDir"
    | "engineFor"
    | "transcribe"
    | "diskTakesWrites"
    | "toolsReady"
    | "speaker"
    | "dailyNotes"
  >;
}

export function openRunParts(sources: Sources): RunPartsOfAll {
  const { live, hooks, journal, sandboxes, clock, log } = sources;
  const { approvals, texts } = journal;
  const { contributions } = live;
  contributions.reserve("commands", COMMAND_NAMES);
  const engines = new Engines(sources);
  const mcp = openMcp(live, sources);
  const allowances = openAllowances(live, { approvals, clock, log });
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
    ports: {
      allowances,
      speaker: openSpeaker(live, log),
      dailyNotes: dailyNotesWith(noteChanges, clock),
      kinds: kindsOf({ ...sources, engines }),
      hooks,
      texts,
      pruned: new PruneMemory(),
      images: new ImageLoader({ log }),
      mediaDir: live.paths.media,
      async toolsReady(signal) {
        await sandboxes.tried();
        await mcp.ready(signal);
        await contributions.settled();
      },
      diskTakesWrites: () => diskTakesWrites(live.paths.stateDir),
      engineFor: (ask) => engines.openerFor(ask),
      transcribe: async (recording) =>
        createTranscriber(live.config.audio.transcription, log, live.reserve)?.(recording),
    },
  };
}
