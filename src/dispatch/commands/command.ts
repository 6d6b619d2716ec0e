import type { Compacted } from "../../harness/compaction/compact.ts";
import type { RunId, SessionKey } from "../../types/ids.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { Session } from "../../types/session.ts";
import type { Approvals } from "../approvals/approvals.ts";
import type { DispatchPorts } from "../ports.ts";

/** What a command may look at and change. */
export interface CommandContext {
  readonly args: string;
  readonly message: InboundMessage;
  readonly key: SessionKey;
  readonly isOwner: boolean;
  readonly ports: DispatchPorts;
  readonly approvals: Approvals;
  /** Aborted when somebody stops the session's work. */
  readonly signal: AbortSignal;
  /** Ends the runs of this session and drops what waits in its lane; how many ended. */
  stop(): Promise<readonly RunId[]>;
  /** Makes the older part of the conversation a summary, heeding what `args` say. */
  compact(session: Session): Promise<Compacted>;
}

/** `text` is told to the user; `turn` goes on to the agent instead, as what the user said. */
export type CommandAnswer = { readonly text: string } | { readonly turn: string };

/**
 * Who may ask for a command. `anyone`: whoever is heard. `conversation`: who may change the conversation: an owner, and
 * the person of a direct chat. `owner`: an owner. Where `commands.allowFrom` has a list, whom it names may ask for all but
 * the owner's commands, and nobody else but owners may ask for any.
 */
export type CommandAccess = "anyone" | "conversation" | "owner";

/**
 * `at: "once"` is answered beside the lane, whatever runs. `at: "lane"` has the session to itself. `at: "reset"` ends the
 * running turn first.
 */
export type Command = {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly help: string;
  readonly who: CommandAccess;
} & (
  | { readonly at: "once"; run(context: CommandContext): Promise<CommandAnswer> }
  | { readonly at: "lane" | "reset"; run(context: CommandContext, session: Session): Promise<CommandAnswer> }
);
