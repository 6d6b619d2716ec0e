import type { Peer } from "../chat/message.ts";
import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { SessionHits, SessionSearch } from "./search.ts";

/** The run that asks for another session, and the rights that it can pass on. */
export interface SessionAsker {
  readonly sessionKey: SessionKey;
  /** Unset when a person asks by a command. */
  readonly runId?: RunId;
  readonly agentId: AgentId;
  /** The run has an owner's rights. */
  readonly isOwner: boolean;
  /** Names of the run's tools; those that the agent's policy allows when unset. */
  readonly tools?: readonly string[];
  /** The chat that is informed of the end, for a request without a run. */
  readonly to?: Peer;
  /** A mode of the config confines the run to a sandbox. */
  readonly isSandboxed: boolean;
  /** The subagent sees the same sessions as one that is not sandboxed. */
  readonly seesLikeOthers?: true;
  /** How many runs may be waiting for it; 0 for a run of people. */
  readonly depth: number;
  /** The session for which the asker works, when it is a subagent's. */
  readonly root?: SessionKey;
}

/** A file that a subagent gets. */
export interface SpawnFile {
  readonly name: string;
  readonly content: string;
  readonly encoding?: "utf8" | "base64" | undefined;
  readonly mimeType?: string | undefined;
}

/** How the run of a subagent is done. */
export interface SpawnRun {
  /** An alias, or `provider/model`. */
  readonly model?: string | undefined;
  readonly thinking?: string | undefined;
  /** No limit of its own when 0. */
  readonly runTimeoutSeconds?: number | undefined;
  readonly cwd?: string | undefined;
  /** `fork`: the subagent begins with a copy of this conversation. `isolated` when unset. */
  readonly context?: "isolated" | "fork" | undefined;
  /** The subagent's system prompt has no files of the workspace. */
  readonly lightContext?: boolean | undefined;
  /** `require`: the subagent is refused unless it is in a sandbox. */
  readonly sandbox?: "inherit" | "require" | undefined;
}

/** How a subagent is kept and reported. */
export interface SpawnEnd {
  /** `delete`: the conversation is archived once its result is announced. */
  readonly cleanup?: "keep" | "delete" | undefined;
  readonly mode?: "run" | "session" | undefined;
  readonly thread?: boolean | undefined;
  /** False: the end is not announced. */
  readonly expectsCompletionMessage?: boolean | undefined;
}

/** Parameters of `sessions_spawn`, in the field's names. */
export interface SpawnAsk extends SpawnRun, SpawnEnd {
  readonly task: string;
  /**
   * Names the subagent, so that it is found after a restart. It has another name when unset, or when another subagent
   * has this name already.
   */
  readonly spawnKey?: string | undefined;
  /** The model's own name for the subagent. */
  readonly taskName?: string | undefined;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly files?: readonly SpawnFile[] | undefined;
  /** Folder of the files in the subagent's workspace; one of its own when unset. */
  readonly mountPath?: string | undefined;
}

/** Answer of a spawn, in the field's names. `note`: the wishes that were not fulfilled. */
export type SpawnAnswer =
  | {
      readonly status: "accepted";
      readonly runId: RunId;
      readonly childSessionKey: SessionKey;
      readonly context: "isolated" | "fork";
      readonly note?: string;
      readonly resolvedProvider?: string;
      readonly resolvedModel?: string;
    }
  | { readonly status: "forbidden" | "error"; readonly error: string };

/** A subagent below a session, as the session's agent sees it. */
export interface ChildView {
  /** Place of the subagent in the list, from 1. */
  readonly index: number;
  readonly key: SessionKey;
  readonly runId?: RunId;
  readonly label: string;
  readonly agentId: AgentId;
  readonly depth: number;
  readonly status: "running" | "waiting" | "done";
  /** Epoch milliseconds. */
  readonly updatedAt: number;
  readonly tokens?: number;
  readonly model?: string;
}

/** Result of an operation on one of the named subagents. */
export interface ChildAct {
  readonly key: SessionKey;
  readonly label: string;
  readonly status: string;
  /** Messages that waited for the subagent and were dropped. */
  readonly dropped?: number;
  readonly error?: string;
}

/**
 * Starts subagents, and acts on the subagents below a session. Each method rejects when something cannot be written.
 */
export interface SubagentActs {
  /** Whether the config asks an agent to give work to subagents. */
  prefersDelegation(agent: AgentId): boolean;
  spawn(ask: SpawnAsk, asker: SessionAsker): Promise<SpawnAnswer>;
  /** Subagents that run, and subagents that were used within so many minutes. */
  children(asker: Pick<SessionAsker, "sessionKey">, recentMinutes: number): readonly ChildView[];
  /** Number of subagents that have ended and of whose end the session has yet to learn. */
  untold(asker: Pick<SessionAsker, "sessionKey">): Promise<number>;
  /** Ends the runs of the named subagents and of the subagents below them. A text says why there are none. */
  kill(target: string, asker: Pick<SessionAsker, "sessionKey">): Promise<readonly ChildAct[] | string>;
  /** Gives a subagent a message: `steer` ends its present work first, `send` waits for that. */
  say(
    how: "steer" | "send",
    said: { readonly target: string; readonly message: string },
    asker: SessionAsker,
  ): Promise<ChildAct | string>;
  /** Resolves when the named subagents have ended, or after so many milliseconds. */
  wait(
    targets: readonly string[],
    how: { readonly timeoutMs: number; readonly signal: AbortSignal },
    asker: Pick<SessionAsker, "sessionKey">,
  ): Promise<readonly ChildView[] | string>;
}

/** Parameters of `sessions_send`, in the field's names. */
export interface SendAsk {
  readonly sessionKey?: string | undefined;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly message: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

/** `sessionKey` as agents and clients see it. */
export type SendAnswer<Key extends string = string> =
  | { readonly status: "accepted" | "timeout" | "no_reply"; readonly runId: RunId; readonly sessionKey: Key }
  | { readonly status: "ok"; readonly runId: RunId; readonly sessionKey: Key; readonly reply: string }
  | { readonly status: "forbidden" | "error"; readonly error: string };

/** A session as `sessions_list` shows it, in the field's names. */
export interface SessionView {
  /** As agents and clients see it. */
  readonly key: string;
  readonly kind: "main" | "group" | "cron" | "hook" | "node" | "other";
  readonly channel: string;
  readonly agentId: AgentId;
  readonly label?: string;
  readonly displayName?: string;
  readonly spawnedBy?: string;
  readonly model?: string;
  readonly totalTokens?: number;
  readonly updatedAt: number;
}

export interface SessionsFilter {
  readonly kinds?: readonly string[] | undefined;
  readonly activeMinutes?: number | undefined;
  readonly label?: string | undefined;
  readonly agentId?: string | undefined;
  readonly search?: string | undefined;
  readonly limit: number;
}

/** A message of another conversation, as text. */
export interface SaidLine {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  readonly at: number;
}

/** Views of other conversations for agents, and messages of agents to them. */
export interface SessionTalk {
  list(filter: SessionsFilter, asker: SessionAsker): readonly SessionView[];
  /** The newest messages, oldest first; a text says why they are not shown. */
  said(
    session: string,
    how: { readonly limit: number; readonly withTools: boolean },
    asker: SessionAsker,
  ): Promise<readonly SaidLine[] | string>;
  send(ask: SendAsk, asker: SessionAsker): Promise<SendAnswer>;
  /** Messages of the sessions that the run may see, the best first. */
  search(
    ask: SessionSearch & {
      readonly agentId?: string | undefined;
      readonly sessionKeys?: readonly string[] | undefined;
    },
    asker: SessionAsker,
  ): Promise<SessionHits>;
}
