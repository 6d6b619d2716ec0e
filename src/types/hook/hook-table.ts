/**
 * How a hook works. `modify`: its answers change the following work. `gate`: an answer can stop the work, and so does a
 * hook that throws or is late. `claim`: the first hook that takes the event ends the calls. `observe`: nobody waits for
 * the hook. `sync`: called without a wait, so its answer must not be a promise.
 */
export type HookKind = "modify" | "gate" | "claim" | "observe" | "sync";

export interface HookFacts {
  readonly kind: HookKind;
  /** The hook gets text of people or models; the config has to allow that. */
  readonly readsConversations?: true;
  /** The hook's answer becomes part of a prompt; the config can forbid that. */
  readonly changesPrompts?: true;
  /** Milliseconds, where the limit is not the 15 s of hooks that somebody waits for or the 30 s of the others. */
  readonly timeoutMs?: number;
  /** No code of this gateway calls the hook. */
  readonly isNeverCalled?: true;
  /**
   * The hook's name is that of an internal event, which the field has no typed hook for. Only listeners to internal
   * events are called.
   */
  readonly isInternal?: true;
}

const conversation = { readsConversations: true } as const;
const prompt = { ...conversation, changesPrompts: true } as const;
const never = { isNeverCalled: true } as const;
const internal = { isInternal: true } as const;

/** Limit in milliseconds: the new conversation waits for these hooks. */
const RESET_MS = 10_000;
/** Limit in milliseconds: the prompt, and with it the turn, waits for these hooks. */
const BOOTSTRAP_MS = 5000;

/** Every hook of the field by its published name, then the internal events that no hook reports. */
const HOOKS = {
  before_model_resolve: { kind: "modify", ...conversation },
  agent_turn_prepare: { kind: "modify", ...prompt },
  before_prompt_build: { kind: "modify", ...prompt },
  /** The older name of `before_prompt_build`. */
  before_agent_start: { kind: "modify", ...prompt },
  before_agent_run: { kind: "gate", ...conversation },
  before_agent_reply: { kind: "claim", ...conversation },
  before_dispatch: { kind: "claim", ...conversation },
  reply_dispatch: { kind: "claim", ...conversation, ...never },
  inbound_claim: { kind: "claim", ...conversation },
  before_agent_finalize: { kind: "modify", ...conversation },
  agent_end: { kind: "observe", ...conversation },
  llm_input: { kind: "observe", ...conversation },
  llm_output: { kind: "observe", ...conversation },
  model_call_started: { kind: "observe" },
  model_call_ended: { kind: "observe" },
  before_tool_call: { kind: "gate", ...conversation },
  after_tool_call: { kind: "observe", ...conversation },
  tool_result_persist: { kind: "sync", ...conversation },
  before_message_write: { kind: "sync", ...conversation },
  resolve_exec_env: { kind: "modify" },
  message_received: { kind: "observe", ...conversation },
  message_sending: { kind: "modify", ...conversation },
  message_sent: { kind: "observe", ...conversation },
  reply_payload_sending: { kind: "modify", ...conversation },
  channel_pairing_requested: { kind: "observe" },
  session_start: { kind: "observe" },
  session_end: { kind: "observe" },
  before_reset: { kind: "observe", ...conversation },
  before_compaction: { kind: "observe" },
  after_compaction: { kind: "observe" },
  subagent_spawned: { kind: "observe" },
  subagent_progress: { kind: "observe", ...never },
  subagent_ended: { kind: "observe" },
  subagent_delivery_target: { kind: "modify", ...never },
  gateway_start: { kind: "observe" },
  gateway_stop: { kind: "observe", timeoutMs: 5000 },
  cron_reconciled: { kind: "observe", ...never },
  cron_changed: { kind: "observe", ...never },
  before_install: { kind: "gate" },
  heartbeat_prompt_contribution: { kind: "modify", ...prompt },
  skill_proposal_evaluate: { kind: "modify", ...never },
  skill_proposal_changed: { kind: "observe", ...never },
  skill_changed: { kind: "observe", ...never },
  command: { kind: "observe", ...conversation, ...internal },
  "session:reset": { kind: "observe", ...conversation, ...internal, timeoutMs: RESET_MS },
  "session:patch": { kind: "observe", ...internal },
  "agent:bootstrap": { kind: "modify", ...prompt, ...internal, timeoutMs: BOOTSTRAP_MS },
  "message:transcribed": { kind: "observe", ...conversation, ...internal },
  "message:preprocessed": { kind: "observe", ...conversation, ...internal },
} as const satisfies Readonly<Record<string, HookFacts>>;

export type HookName = keyof typeof HOOKS;

export const isHookName = (name: string): name is HookName => Object.hasOwn(HOOKS, name);

export const hookFacts = (name: HookName): HookFacts => HOOKS[name];
