import { AsyncLocalStorage } from "node:async_hooks";
import type { ContributionRegistry } from "../../types/contribution.ts";
import { sessionKey, type SessionKey } from "../../types/ids.ts";
import type { Log } from "../../types/log.ts";
import type { FoundPlugin } from "../../types/plugin/manifest.ts";
import type { SubagentRequester } from "../../types/subagent/subagent.ts";
import { isFields, type Fields } from "../../utils/fields.ts";
import { own } from "../../utils/own.ts";
import { withinTold } from "../../utils/within.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { ModelCalls } from "./model-calls.ts";
import type { PluginEntry } from "../config.ts";
import type { RunningCode } from "./running-code.ts";
import type { CallLimit, PluginWatch } from "./watch.ts";
import type { PluginPorts } from "../ports.ts";
import type { ChannelHost } from "../../types/chat/channel.ts";
import { optionalMethodIn } from "./foreign.ts";

/** Milliseconds for each of the things that a plugin does at its end. */
const END_MS = 5000;

/** A service that a plugin runs beside the gateway. */
export interface PluginService {
  readonly id: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** An action that clients of the protocol may ask of a plugin: `plugins.sessionAction`. */
export interface SessionAction {
  readonly id: string;
  run(request: Readonly<Record<string, unknown>>): Promise<unknown>;
}

interface ScopeParts {
  readonly code: RunningCode;
  readonly registry: ContributionRegistry;
  readonly ports: PluginPorts;
  readonly watch: PluginWatch;
}

/** A registration of a plugin: where it registers, and what ends with it. */
export class PluginScope {
  readonly plugin: FoundPlugin;
  readonly ports: PluginPorts;
  readonly log: Log;
  readonly services: PluginService[] = [];
  readonly actions = new Map<string, SessionAction>();
  readonly modelCalls: ModelCalls;
  /** Connected accounts of the plugin's channels. */
  readonly accounts = new ConnectedAccounts();
  /** Parts of the SDK that the plugin's code imports only later, and this gateway does not have. */
  readonly missing = new Set<string>();
  /** Members of the API that the plugin called and this gateway does not have. */
  readonly notServed = new Set<string>();
  /** Tools and commands that the plugin registered and the gateway did not take, each with the reason. */
  readonly refusedParts = new Set<string>();
  /** Hooks that the plugin registered and this gateway never calls. */
  readonly neverCalled = new Set<string>();
  /** Listeners that are not called because the plugin may not read conversations. */
  readonly refusedHooks = new Set<string>();
  /** Hooks that are called only while the plugin may. */
  readonly readingHooks = new Set<string>();
  /** Context engines that the plugin registered. */
  readonly engines = new Set<string>();
  readonly #registry: ContributionRegistry;
  readonly #watch: PluginWatch;
  readonly #code: RunningCode;
  readonly #ends: (() => unknown)[] = [];
  readonly #users = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #asked = new AsyncLocalStorage<Asked | undefined>();

  constructor(plugin: FoundPlugin, { code, registry, ports, watch }: ScopeParts) {
    this.plugin = plugin;
    this.ports = ports;
    this.log = ports.log.with({ plugin: plugin.manifest.id });
    this.modelCalls = new ModelCalls({ id: plugin.manifest.id, clock: ports.clock, signal: this.signal });
    this.#registry = registry;
    this.#watch = watch;
    this.#code = code;
  }

  get id(): string {
    return this.plugin.manifest.id;
  }

  /** Aborted when the plugin is unloaded. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The registry. Throws once the plugin is unloaded: a registration then would never be removed. */
  get registry(): ContributionRegistry {
    if (this.signal.aborted) throw new Error(`the plugin ${this.id} is not loaded any more`);
    return this.#registry;
  }

  /** `plugins.entries.<id>` of the current config. */
  get entry(): PluginEntry | undefined {
    return own(this.ports.pluginsConfig().entries, this.id);
  }

  /**
   * The whole config, with the secrets of this plugin, its channels and its providers as text; other secrets are
   * masked.
   */
  shownConfig(): unknown {
    return this.ports.shownConfig(this.plugin.manifest);
  }

  /** Calls the plugin's code. `what` names the call in reports. */
  call<T>(what: string, run: () => T, limit?: CallLimit): T {
    return this.#watch.call(this.#code, what, run, limit);
  }

  /** The same in a turn, a command or a hook of a conversation: a subagent that the code asks for works for it. */
  callFor<T>(requester: SubagentRequester | undefined, what: string, run: () => T, limit?: CallLimit): T {
    const asked: Asked = { requester, hasEnded: false };
    const end = () => void (asked.hasEnded = true);
    let result: T | undefined;
    try {
      result = this.#asked.run(asked, () => this.call(what, run, limit));
      return result;
    } finally {
      if (result instanceof Promise) result.then(end, end);
      else end();
    }
  }

  /**
   * The conversation that the plugin's code was called for; undefined outside of one. A timer or a queue that a call has left runs
   * on after the call, also for other people: it has a guest's rights.
   */
  get requester(): SubagentRequester | undefined {
    const asked = this.#asked.getStore();
    if (!asked?.requester || !asked.hasEnded) return asked?.requester;
    return { ...asked.requester, isOwner: false };
  }

  /** Runs code of the gateway that the plugin has called: its later work is not the plugin's. */
  outside<T>(run: () => T): T {
    return this.#watch.outside(() => this.#asked.run(undefined, run));
  }

  /** A run begins to use an engine of the plugin. The returned function says, once or more often, that it no longer does. */
  use(): () => void {
    const user = Promise.withResolvers<void>();
    this.#users.add(user.promise);
    return () => {
      this.#users.delete(user.promise);
      user.resolve();
    };
  }

  get isInUse(): boolean {
    return this.#users.size > 0;
  }

  /** Resolves when no run uses an engine of the plugin. */
  async unused(): Promise<void> {
    while (this.isInUse) await Promise.all(this.#users);
  }

  onEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Calls the functions that were left with `onEnd`, the latest first, each within a time limit. Never rejects. */
  async end(): Promise<void> {
    this.#stopping.abort();
    const failed = (error: unknown) => this.log.warn("plugin failed at its end", { error });
    for (const end of this.#ends.toReversed()) {
      try {
        const work = Promise.resolve().then(async () => void (await end()));
        if (!(await withinTold(work, END_MS, this.ports.clock, failed)))
          this.log.warn("plugin is late", { call: "end", ms: END_MS });
      } catch (error) {
        failed(error);
      }
    }
  }

  /** Registers one part. When the gateway does not take it, that is logged and noted, and the rest of the plugin is loaded. */
  addPart(what: string, add: () => void): void {
    try {
      add();
    } catch (error) {
      if (this.signal.aborted) throw error;
      const why = errorText(error);
      this.refusedParts.add(`${what}: ${why}`);
      this.log.warn("a part of a plugin is not taken", { part: what, why });
    }
  }

  /** Throws for a part of the API that this gateway does not have, and remembers that the plugin asked for it. */
  refuse(member: string, why?: string): never {
    this.notServed.add(member);
    throw new Error(`this gateway does not have ${member}${why === undefined ? "" : `: ${why}`}`);
  }
}

/** A call of the plugin's code in a conversation. */
interface Asked {
  readonly requester: SubagentRequester | undefined;
  hasEnded: boolean;
}

/** Who a hook or an engine works for: nobody can say whether an owner wrote, so a subagent gets a guest's rights. */
export const conversationOf = (sessionKey: SessionKey | undefined): SubagentRequester | undefined =>
  sessionKey === undefined ? undefined : { sessionKey, isOwner: false };

/** The conversation that a hook's event or the parameters of an engine's method name. */
export function sessionKeyIn(value: unknown): SessionKey | undefined {
  const key = isFields(value) ? value["sessionKey"] : undefined;
  return typeof key === "string" ? sessionKey(key) : undefined;
}

/** A connected account of a plugin's channel. */
export interface ConnectedAccount {
  readonly channel: string;
  readonly account: string;
  readonly host: ChannelHost;
  /** The typing indicator of each chat that wrote lately. */
  readonly typing: Map<string, TypingCallbacks>;
  /** The events whose runs the account's plugin follows. */
  readonly followed: Set<string>;
  /** Called when a chat has one. */
  showTyping(): void;
}

/** The connected accounts of one plugin. */
class ConnectedAccounts {
  readonly #accounts = new Map<string, ConnectedAccount>();

  /** The returned function removes the account. */
  add(account: ConnectedAccount): () => void {
    const key = keyOf(account.channel, account.account);
    this.#accounts.set(key, account);
    return () => {
      if (this.#accounts.get(key) === account) this.#accounts.delete(key);
    };
  }

  /** Whether the account is still connected. */
  has(account: ConnectedAccount): boolean {
    return this.#accounts.get(keyOf(account.channel, account.account)) === account;
  }

  /** The account that a message names; the only one where it names none. Throws without one. */
  find(channel: string | undefined, account: string | undefined): ConnectedAccount {
    const all = [...this.#accounts.values()];
    const found = all.filter(
      (one) => (channel === undefined || one.channel === channel) && (account === undefined || one.account === account),
    );
    const [only] = found;
    if (only && found.length === 1) return only;
    const named = `${channel ?? "any channel"}, ${account ?? "any account"}`;
    throw new Error(`the message of ${named} belongs to ${found.length} connected accounts instead of one`);
  }
}

const keyOf = (channel: string, account: string): string => `${channel}\n${account}`;

export interface TypingCallbacks {
  onReplyStart(): unknown;
  onIdle(): unknown;
  onCleanup(): unknown;
}

/** The typing indicator that the options of a dispatcher have, if any: in `typingCallbacks`, or among the options themselves. */
export function typingOf(options: Fields): TypingCallbacks | undefined {
  const given = isFields(options["typingCallbacks"]) ? options["typingCallbacks"] : options;
  const start = optionalMethodIn(given, "onReplyStart");
  const idle = optionalMethodIn(given, "onIdle");
  const cleanup = optionalMethodIn(given, "onCleanup");
  return start && { onReplyStart: () => start(), onIdle: () => idle?.(), onCleanup: () => cleanup?.() };
}

/**
 * A dispatcher of the field: messages that the plugin itself puts into it go to its `deliver`, in order. Answers of
 * agents do not pass through it: they are in the gateway's outbox and leave by `outbound`.
 */
export function createDispatcher(options: Fields) {
  const deliver = optionalMethodIn(options, "deliver");
  const onError = optionalMethodIn(options, "onError");
  const counts = { tool: 0, block: 0, final: 0 };
  let queue: Promise<unknown> = Promise.resolve();
  const put = (kind: keyof typeof counts) => (payload: unknown) => {
    counts[kind]++;
    queue = queue.then(() => deliver?.(payload, { kind })).catch((error: unknown) => onError?.(error, { kind }));
    return true;
  };
  return {
    sendToolResult: put("tool"),
    sendBlockReply: put("block"),
    sendFinalReply: put("final"),
    waitForIdle: async () => void (await queue),
    getQueuedCounts: () => ({ ...counts }),
    getFailedCounts: () => ({ tool: 0, block: 0, final: 0 }),
    markComplete: () => undefined,
  };
}
