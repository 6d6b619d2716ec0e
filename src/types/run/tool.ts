import type { z } from "zod";
import type { PersonsAnswer } from "../answers/approvals.ts";
import type { ChatScene } from "../chat/send.ts";
import type { AgentId, RunId, SessionKey } from "../ids.ts";
import type { Aside } from "../media/drawing.ts";
import type { AgentSettings } from "../settings.ts";
import type { Backends, BoundFile, ExecBackend } from "./backend.ts";
import type { ImageContent, ModelRef, TextContent, ToolResultMessage } from "./model.ts";
import type { Acting, Principal } from "./principal.ts";
import type { RemovedTool } from "../tool-policy.ts";
import type { Unasked } from "./unasked.ts";
import type { Risk, UntrustedSource } from "./untrusted.ts";

export interface ToolResult {
  readonly content: (TextContent | ImageContent)[];
  readonly isError?: boolean;
  /** Kept in the transcript for people and the page, never shown to the model. */
  readonly details?: Record<string, unknown>;
  /** The model is not asked again: the turn ends with this call, if no other call of the same answer asks for more. */
  readonly endsTurn?: boolean;
}

/** The only call of a run that asks no model. */
export interface FixedCall {
  /** The name of the tool. */
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The run's answer. Called with the result as the transcript has it, which may be that of an interrupted call. Must not throw. */
  answer(result: ToolResultMessage): string;
}

/** Question to a person about a command, or about another call of a tool. */
export interface ApprovalQuestion {
  readonly command: string;
  readonly cwd: string;
  readonly reason: string;
  /** A plugin asks about a call, or a budget does not allow one of a model. The gateway asks about a command when unset. */
  readonly askedBy?: "plugin" | "budget";
  /** The files that the command names: the answer is for their content as it is now. */
  readonly files?: readonly BoundFile[];
  /** Names of the variables that plugins add to its environment; the answer is for their values as they are now. */
  readonly variables?: readonly string[];
  /** The command that is remembered when it is allowed for good; it can only be allowed once when unset. */
  readonly allowance?: string;
  /**
   * The answers that let the call run, where a plugin says which; once, and for good with an `allowance`, when unset.
   */
  readonly allowing?: readonly Exclude<PersonsAnswer, "deny">[];
  /** Milliseconds after which the question is a denial, where that is sooner than for every question. */
  readonly timeoutMs?: number;
  /** How a plugin words its question; only with `askedBy: "plugin"`. */
  readonly plugin?: PluginWords;
}

export const SEVERITIES = ["info", "warning", "critical"] as const;

export interface PluginWords {
  readonly title?: string;
  readonly description?: string;
  readonly severity?: (typeof SEVERITIES)[number];
  /** The tool whose call it is about. */
  readonly toolName?: string;
  readonly pluginId?: string;
}

/** A command that waits for a person. Times are epoch milliseconds. */
export interface Approval extends ApprovalQuestion {
  readonly id: string;
  /** Unset when a client asks without one. */
  readonly sessionKey?: SessionKey;
  readonly runId?: RunId;
  readonly agentId: AgentId;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The principal whose turn wants to run the command, and the chat of the turn's message. */
  readonly principal?: Principal;
  readonly chat?: string;
}

export type ApprovalDecision = PersonsAnswer | "timeout" | "abort";

/** Result of a question. A question that nobody could have answered is not asked; see `UNASKED_TEXTS`. */
export type ApprovalAnswer = ApprovalDecision | Unasked;

/** Asks a person. Never rejects; too late, or an abort are decisions too. */
export interface ApprovalDesk {
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalAnswer>;
}

export interface ToolContext {
  readonly runId: RunId;
  readonly sessionKey: SessionKey;
  readonly agentId: AgentId;
  readonly callId: string;
  /** Absolute; tools resolve relative paths from this directory. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  readonly approvals: ApprovalDesk;
  /** UTF-16 units of text that the model gets of the result; 50 KB when unset. */
  readonly mostChars?: number | undefined;
  /** Shows progress (the output so far); harmless after the end. */
  update(partial: string): void;
  /** Untrusted content that the conversation has read, where its commands have to be asked about because of that. */
  readonly untrusted?: (() => Promise<readonly UntrustedSource[]>) | undefined;
  /** How models are asked outside of the conversation; unset where none can be asked. */
  readonly aside?: Aside | undefined;
  /** Variables that plugins add to the environment of a command; none when unset. */
  commandEnv?(): Promise<Readonly<Record<string, string>>>;
}

/**
 * `run` may throw: the text of the error becomes an error result that the model sees. It must end soon after `signal`
 * aborts. The tools of a `ToolSet` are objects of a class: a spread would leave out their methods.
 */
export interface Tool<Input = unknown> {
  readonly name: string;
  readonly label: string;
  /** Text for the model. */
  readonly description: string;
  readonly input: z.ZodType<Input>;
  /** The input's JSON Schema where a plugin wrote it; models get it as it is. Derived from `input` when unset. */
  readonly jsonSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Why arguments cannot be compared with `jsonSchema` in a reasonable time, as a sentence; asked before anything compares them. */
  readonly slowArguments?: ((args: unknown) => string | undefined) | undefined;
  /**
   * Renames arguments to the schema's names where a model used other ones; called before anything compares them. An
   * error has a text for the model.
   */
  readonly prepare?: ((args: unknown) => unknown) | undefined;
  /** Milliseconds after which one call is ended, without the time in which a person is asked; 30 minutes when unset, never when 0. */
  readonly timeoutMs?: number | undefined;
  /** Risks of a call that text from outside could have asked for; undefined for a harmless call. Must not throw. */
  riskOf?(input: Input, context: Pick<ToolContext, "workspace">): Promise<Risk | readonly Risk[] | undefined>;
  /** True when the tool changes anything outside: such a turn is continued, never replayed. */
  readonly hasSideEffects: boolean;
  /**
   * The client that asks makes the calls: `run` is not called, a call ends the run, and the transcript has no result
   * until the client brings one.
   */
  readonly isClients?: true;
  run(input: Input, context: ToolContext): Promise<ToolResult>;
}

/** The run of an agent for which a tool is made. */
export interface ToolScene extends Backends {
  readonly agent: Pick<
    AgentSettings,
    "id" | "workspace" | "tools" | "exec" | "messageTool" | "media" | "memorySearch" | "allowedModels" | "sandbox"
  >;
  readonly acting: Acting;
  /** The chat that the run answers; unset when there is none. */
  readonly chat?: ChatScene;
  /** The names of all tools that the policy allows the run; unset while they are being decided. */
  readonly names?: readonly string[];
  /** The only tools that the run may have; its creator set them. */
  readonly only?: readonly string[];
  /** A mode of the config confines the run to a sandbox. */
  readonly isSandboxed?: boolean;
  /** The way out of the sandbox for its commands; unset when they have none. */
  readonly elevation?: Elevation;
  /** A sandbox for commands that want one; unset where all commands are in one, and where none is known to work. */
  readonly sandboxed?: () => ExecBackend;
}

/** How commands of a run may leave its sandbox. */
export interface Elevation {
  readonly level: NonNullable<Acting["elevated"]>;
  /** The machine itself. */
  readonly backend: ExecBackend;
  readonly acting: Acting;
}

/** The sandbox of a run's tools, as the system prompt describes it. */
export interface SandboxNote {
  readonly text: string;
  /** Where relative paths of file tools start; the agent's workspace when unset. */
  readonly directory?: string;
}

/** The tools of one run. */
export interface ToolSet {
  /** The tools of any model. */
  readonly tools: readonly Tool[];
  /** The key of the allow list that leaves no tool at all; unset when tools are left, or when there were none before. */
  readonly emptiedBy?: string;
  /** Unset when none of the tools is in a sandbox. */
  readonly sandbox?: SandboxNote;
  /** The tools write files into the folder of a sandbox, and not into the agent's workspace. */
  readonly writesAside?: true;
  /** Why a tool of this name is not in the set; undefined when it is, or when there is no such tool. */
  removed?(name: string, model?: Pick<ModelRef, "provider" | "id">): RemovedTool | undefined;
  /** The tools that a model may use. */
  on(model: Pick<ModelRef, "provider" | "id">): readonly Tool[];
}

/** A tool that agents can have, of the gateway or of a plugin. */
export interface ToolContribution {
  /** As the model calls it, and as `tools.allow` and `tools.deny` name it: 1 to 64 letters, digits, `-` and `_`. */
  readonly name: string;
  /** Further names by which `tools.allow` and `tools.deny` can name it, such as the id of its plugin. */
  readonly groups?: readonly string[];
  /** Runs that have the tool only where a list of the config names it: every run, or runs of guests. */
  readonly namedFor?: "all" | "guests";
  /** False for a model that must not have it; any model may when unset. */
  isForModel?(model: Pick<ModelRef, "provider" | "id">, scene: ToolScene): boolean;
  /**
   * How the tool looks in a run: runs with equal answers get tools that differ only in what `riskOf` and `run` do. False when `forRun`
   * gives no tool. With it `forRun` is called when the tool is first used; without it, for every run, so it must be cheap then.
   */
  appearance?(scene: ToolScene): string | false;
  /** The tool for one run, of the same name; undefined when the run has no use for it. */
  forRun(scene: ToolScene): Tool | undefined;
}
