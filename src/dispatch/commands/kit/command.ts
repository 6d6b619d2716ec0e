import { wireKey } from "../../../sessions/keys.ts";
import type { Compacted } from "../../../harness/compaction/compact.ts";
import type { RunId, SessionKey } from "../../../types/ids.ts";
import type { InboundMessage } from "../../../types/chat/message.ts";
import type { CallOrigin } from "../../../types/run/model-meter.ts";
import type { Session } from "../../../types/session.ts";
import type { CommandAccess, CommandContribution } from "../../../types/contribution.ts";
import type { Scope } from "../../../types/method.ts";
import type { Approvals } from "../../approvals/approvals.ts";
import type { StoredMediaItem } from "../../notices/replies.ts";
import { KeyedQueue } from "../../../utils/keyed-queue.ts";
import { withinTold } from "../../../utils/within.ts";
import type { DispatchPorts } from "../../ports.ts";

/** The ports that a command may call, besides its own `stop` and `compact`. */
export type CommandPorts = Pick<
  DispatchPorts,
  "runs" | "storage" | "kinds" | "chats" | "settings" | "prompts" | "clock" | "program" | "log"
>;

/** The state that a command may read and change. */
export interface CommandContext {
  readonly args: string;
  readonly commands: Commands;
  readonly message: InboundMessage;
  readonly key: SessionKey;
  readonly isOwner: boolean;
  readonly ports: CommandPorts;
  readonly approvals: Approvals;
  /** Aborted when somebody stops the session's work. */
  readonly signal: AbortSignal;
  /**
   * Whether the sender may end the work that anybody asked for. Without this right, `stop` leaves the turns of owners
   * and the subagents.
   */
  readonly endsAll: boolean;
  /** Ends the runs of a session, of this one when none is named, and empties its lane. Returns the runs that ended. */
  stop(of?: SessionKey): Promise<readonly RunId[]>;
  /** The sessions whose runs wait or are active. */
  running(): ReadonlySet<SessionKey>;
  /** Replaces the older part of the conversation by a summary that keeps the points that `args` name. */
  compact(session: Session): Promise<Compacted>;
}

/** A session's key as people see it and clients name it. */
export const shownKey = (key: SessionKey, { settings }: Pick<CommandPorts, "settings">): string =>
  wireKey(key, settings().defaultAgent);

/** The origin of the calls that a command makes to models and services. */
export const originIn = ({ ports, key }: CommandContext): CallOrigin => ({
  cause: "message",
  agentId: ports.settings().agentOf(key),
  sessionKey: key,
});

/**
 * `text` answers the user, with a file of the media store if one is named; `afterwards` is called when the answer is
 * kept. `turn` goes to the agent instead, as the user's text.
 */
export type CommandAnswer =
  | { readonly text: string; readonly file?: StoredMediaItem; readonly afterwards?: () => void }
  | { readonly turn: string };

/**
 * `at: "at_once"` is answered at once, whatever runs, and before later messages of its chat. `at: "apart"` is, too, but
 * delays no other message. `at: "lane"` waits for exclusive use of the session. `at: "reset"` ends the running turn
 * first.
 */
export type Command = {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly help: string;
  readonly who: CommandAccess;
  /** The scope that a client needs; `operator.admin` for a command of owners when unset. */
  readonly scope?: Scope;
  /** Arguments with which the command only shows something, so that every client may use it. */
  readonly shows?: readonly string[];
  /** Whether the command requests a skill: then `/skill` lists the command, and `/help` does not. */
  readonly isSkill?: true;
  /** See `CommandContribution`. */
  readonly choices?: readonly string[];
} & (
  | { readonly at: "at_once" | "apart"; run(context: CommandContext): Promise<CommandAnswer> }
  | { readonly at: "lane" | "reset"; run(context: CommandContext, session: Session): Promise<CommandAnswer> }
);

/** The commands of a gateway. */
export interface Commands {
  /** All commands, in the order of `/help`. */
  readonly all: readonly Command[];
  /** The command with this name or alias. */
  find(name: string): Command | undefined;
  /** The desk that all calls of `/export` share. */
  readonly exports: ExportDesk;
  /** Calls of `/restart`, one after the other. */
  readonly restarts: KeyedQueue;
  /** Texts that `/tts` speaks, one at a time for each conversation. */
  readonly speeches: KeyedQueue;
}

/** Milliseconds that a contributor's command may take. */
const CONTRIBUTED_MS = 60_000;

/**
 * A command that a contributor added, as the pipeline runs it. `run` rejects when the command takes longer than a
 * minute.
 */
export const fromContribution = ({ name, aliases, help, who, choices, run }: CommandContribution): Command => ({
  name,
  ...(aliases && { aliases }),
  help,
  who,
  ...(choices && { choices }),
  at: "apart",
  async run({ args, message, key: session, isOwner, ports }) {
    let text: string | undefined;
    const sessionId = ports.storage.sessions.peek(session)?.sessionId;
    const agentId = ports.settings().agentOf(session);
    const asked = { args, message, session, agentId, ...(sessionId !== undefined && { sessionId }), isOwner };
    const running = run(asked).then((answer) => (text = answer));
    const failedLate = (error: unknown) => ports.log.error("a command failed after its time", { command: name, error });
    const isDone = await withinTold(running, CONTRIBUTED_MS, ports.clock, failedLate);
    if (!isDone) throw new Error(`the command /${name} gave no answer within ${CONTRIBUTED_MS / 1000} seconds`);
    if (typeof text !== "string") throw new Error(`the command /${name} gave an answer that is no text`);
    return { text };
  },
});

/** Lets one export be made at a time, since each has a whole transcript in memory. */
export class ExportDesk {
  readonly #queue = new KeyedQueue();
  readonly #asked = new Set<SessionKey>();

  /**
   * Makes an export when the exports before it are done. Undefined while another export of the same conversation waits
   * or is made.
   */
  async make<T>(key: SessionKey, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#asked.has(key)) return undefined;
    this.#asked.add(key);
    try {
      return await this.#queue.run("export", work);
    } finally {
      this.#asked.delete(key);
    }
  }
}
