import { agentData } from "../../../../server/events/agent-events.ts";
import { deltaEveryMs } from "../../../../server/events/pace.ts";
import { WHOLE_MESSAGES, type DeltaPace, type RunEvent } from "../../../../types/run/events.ts";
import type { MessageRun } from "../../../../types/run/message-run.ts";
import type { Fields } from "../../../../utils/fields.ts";
import { withinTold } from "../../../../utils/within.ts";
import { optionalMethodIn } from "../../foreign.ts";
import { conversationOf, type PluginScope } from "../../scope.ts";
import { mayReadConversations, refuseReading } from "../hooks.ts";

/** Milliseconds for one call. A callback that takes longer is not called again. */
const CALL_MS = 15_000;

/** State of a follower after the events so far. */
interface Progress {
  /** The model's thoughts before and in its present message. */
  thoughts: string;
  startedAt: number;
}

interface Row {
  readonly name: string;
  /** A channel gets no thoughts and tool results by its answers, so these need the right to read conversations. */
  readonly readsConversations: boolean;
  /** Called for parts of a message too. */
  readonly takesDeltas: boolean;
  /** Arguments for the callback; undefined when the callback does not get the event. */
  given(event: RunEvent, progress: Progress): readonly unknown[] | undefined;
}

type Type = RunEvent["type"];
type EventOf<T extends Type> = RunEvent & { readonly type: T };

const isOf = <T extends Type>(event: RunEvent, type: T): event is EventOf<T> => event.type === type;

const row = <T extends Type>(
  name: string,
  type: T,
  given: (event: EventOf<T>, progress: Progress) => readonly unknown[] | undefined,
  readsConversations = false,
): Row => ({
  name,
  readsConversations,
  takesDeltas: type === "text_delta" || type === "thinking_delta",
  given: (event, progress) => (isOf(event, type) ? given(event, progress) : undefined),
});

/** A message as the field's plugins know it; undefined when it has nothing for people. */
function blockOf({ text, media, audioAsVoice, replyTo }: EventOf<"message_end">): readonly unknown[] | undefined {
  if (text === "" && !media) return undefined;
  const block = {
    ...(text !== "" && { text }),
    ...(media && { mediaUrls: [...media] }),
    ...(audioAsVoice && { audioAsVoice }),
    ...(replyTo && { replyToTag: true }),
    ...(replyTo?.kind === "current" && { replyToCurrent: true }),
    ...(replyTo?.kind === "id" && { replyToId: replyTo.id }),
  };
  return [block];
}

/** The callbacks of `replyOptions`, in the order in which one event calls them. */
const CALLBACKS: readonly Row[] = [
  row("onAgentRunStart", "run_start", ({ facts }) => [facts.runId]),
  row("onModelSelected", "attempt_start", ({ model: { provider, id }, thinking }) => [
    { provider, model: id, thinkLevel: thinking },
  ]),
  row("onAssistantMessageStart", "message_start", () => []),
  row("onPartialReply", "text_delta", ({ text }) => [{ text }]),
  row("onReasoningStream", "thinking_delta", (_event, { thoughts }) => [{ text: thoughts }], true),
  row("onBlockReplyFlush", "tool_start", () => []),
  row("onToolResult", "tool_end", ({ text }) => [{ text }], true),
  row("onBlockReply", "message_end", blockOf),
  {
    name: "onAgentEvent",
    readsConversations: true,
    takesDeltas: true,
    given(event, { startedAt }) {
      const data = agentData(event, startedAt);
      return data && [data];
    },
  },
];

interface Callback extends Row {
  call(...given: readonly unknown[]): unknown;
}

/** The functions of a plugin that follow the run of one message. Their errors are logged, and change nothing else. */
export class ReplyCallbacks {
  readonly #scope: PluginScope;
  readonly #callbacks: readonly Callback[];
  /** Names of callbacks that have failed. */
  readonly #failed = new Set<string>();
  readonly #late = new Set<string>();

  /** Leaves out callbacks that the plugin may not have, and notes their names. */
  constructor(scope: PluginScope, options: Fields, mayRead = mayReadConversations(scope)) {
    this.#scope = scope;
    const given = CALLBACKS.flatMap((known): readonly Callback[] => {
      const call = optionalMethodIn(options, known.name);
      return call ? [{ ...known, call }] : [];
    });
    this.#callbacks = given.filter(({ readsConversations }) => mayRead || !readsConversations);
    for (const { name } of given) if (!this.#callbacks.some((one) => one.name === name)) refuse(scope, name);
  }

  get isEmpty(): boolean {
    return this.#callbacks.length === 0;
  }

  /** Calls the callbacks for the events of a run, one after the other, until the run or the plugin ends. */
  async follow({ stream, from }: MessageRun): Promise<void> {
    const progress: Progress = { thoughts: "", startedAt: 0 };
    const { sessionKey } = stream.facts;
    for await (const event of stream.watch(1, this.#pace)) {
      if (this.#scope.signal.aborted) return;
      note(event, progress);
      // A message that joined a run is informed of its begin, and of what happens after.
      if (event.seq < from && event.type !== "run_start") continue;
      for (const callback of this.#callbacks) {
        const given = callback.given(event, progress);
        if (given) await this.#call(callback, given, sessionKey);
      }
    }
  }

  get #pace(): DeltaPace {
    if (!this.#callbacks.some(({ takesDeltas }) => takesDeltas)) return WHOLE_MESSAGES;
    return { clock: this.#scope.ports.clock, everyMs: deltaEveryMs };
  }

  async #call(
    { name, call }: Callback,
    given: readonly unknown[],
    key: MessageRun["stream"]["facts"]["sessionKey"],
  ): Promise<void> {
    const { ports, signal, log } = this.#scope;
    if (this.#late.has(name) || signal.aborted) return;
    const failed = (error: unknown) => {
      if (!this.#failed.has(name)) log.warn("a callback of a plugin failed", { call: name, error });
      this.#failed.add(name);
    };
    try {
      const called = Promise.resolve(this.#scope.callFor(conversationOf(key), name, () => call(...given)));
      if (await withinTold(called, CALL_MS, ports.clock, failed)) return;
      this.#late.add(name);
      log.warn("plugin is late", { call: name, ms: CALL_MS });
    } catch (error) {
      failed(error);
    }
  }
}

function note(event: RunEvent, progress: Progress): void {
  if (event.type === "run_start") progress.startedAt = event.startedAt;
  if (event.type === "message_start") progress.thoughts = "";
  if (event.type === "thinking_delta") progress.thoughts += event.delta;
}

/** Logged once, however many messages bring it. */
function refuse(scope: PluginScope, name: string): void {
  const hook = `replyOptions.${name}`;
  if (!scope.refusedHooks.has(hook)) refuseReading(scope, hook);
}
