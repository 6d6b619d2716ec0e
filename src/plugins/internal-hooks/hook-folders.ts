import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { HookName } from "../../types/hook/hook-table.ts";
import type { Clock } from "../../types/clock.ts";
import type { Log } from "../../types/log.ts";
import { background } from "../../utils/background.ts";
import { withinTold } from "../../utils/within.ts";
import type { KeyNames } from "../../sessions/shown/wire-keys.ts";
import type { SessionKey } from "../../types/ids.ts";
import { hookForPlugin } from "../exchanged-keys.ts";
import type { Contributions } from "../contributions.ts";
import type { AddedHook } from "../hook-table.ts";
import { ownCopy } from "../hook-event.ts";
import { approvedCopy, removeCopies } from "./approved.ts";
import { eventNameIn, handlerFor, hooksTelling, type InternalEvent, type SaidByHook } from "./event.ts";
import { type HookScene, judgeHooks, type JudgedHook, type JudgedHooks } from "./judge-hooks.ts";
import { isFields } from "../../utils/fields.ts";
import { errorText } from "../../utils/text/error-text.ts";
import { importFile } from "../load/import-entry.ts";

/** Parts of the gateway for hooks that are folders. */
export interface HookFolderPorts {
  readonly contributions: Contributions;
  readonly clock: Clock;
  readonly log: Log;
  /** Where copies of approved hooks are kept. */
  readonly copies: string;
  /** Hooks and settings by the present config. */
  scene(): HookScene;
  /** `hooks.internal.entries.<key>` with its secrets as text. */
  settingsOf(key: string): unknown;
  /** The config as the hook with this key may see it. */
  cfg(key: string): unknown;
  /** Whether the operator lets the hook of a plugin listen to this. */
  mayListen(plugin: string, hook: HookName): boolean;
  agentOf(sessionKey: string): string;
  /** The two forms of session keys: hooks see the form of clients. */
  readonly keys: KeyNames;
  /** Gives hooks the environment variables that the config has for their keys. */
  lend(keys: readonly string[]): void;
  say(owner: string, said: SaidByHook<SessionKey>): void;
}

const STARTUP_MS = 30_000;

interface Active {
  readonly hook: FolderHook;
  /** Changes with anything that the hook is made of. */
  readonly made: string;
}

/** The hooks that are folders: listens for the hooks that the config wants, and reports the state of each. */
export class HookFolders {
  readonly #ports: HookFolderPorts;
  readonly #active = new Map<string, Active>();
  #judged: JudgedHooks = { hooks: [], leftOut: [] };

  constructor(ports: HookFolderPorts) {
    this.#ports = ports;
  }

  /** Reads all folders again, and follows the config. Never rejects. One call at a time. */
  async apply(): Promise<void> {
    const { contributions, copies, log } = this.#ports;
    const before = this.#judged;
    this.#judged = await judgeHooks(this.#ports.scene());
    const on = this.#judged.hooks.filter(({ state }) => state === "on");
    const made = new Map(await Promise.all(on.map(async (hook) => [hook.name, await this.#madeOf(hook)] as const)));
    for (const [name, active] of this.#active) {
      if (made.get(name) === active.made) continue;
      this.#active.delete(name);
      contributions.remove(ownerOf(name));
      log.info("hook removed", { hook: name });
    }
    this.#ports.lend(on.map(({ key }) => key));
    for (const hook of on) if (!this.#active.has(hook.name)) this.#add(hook, made.get(hook.name) ?? "");
    this.#report(before);
    const used = on.flatMap(({ integrity }) => integrity ?? []);
    await removeCopies(copies, used).catch((error: unknown) => log.warn("copies of hooks are not removed", { error }));
  }

  /** Calls the hooks that listen to the start of the gateway. Returns at once. `facts`: more for their context. */
  start(facts: Readonly<Record<string, unknown>>): void {
    const { contributions, log } = this.#ports;
    for (const hook of contributions.hooksOf("gateway_start"))
      if (this.#owns(hook)) background(`hook ${hook.owner}`, this.#startOne(hook, facts), log);
  }

  /** Removes all. */
  close(): void {
    for (const name of this.#active.keys()) this.#ports.contributions.remove(ownerOf(name));
    this.#active.clear();
    this.#ports.lend([]);
  }

  /** Every hook that was found, with its state. */
  get view(): JudgedHooks {
    const hooks = this.#judged.hooks.map((hook) => {
      const failure = this.#active.get(hook.name)?.hook.failure;
      return failure === undefined ? hook : { ...hook, state: "unfit" as const, why: failure };
    });
    return { ...this.#judged, hooks };
  }

  #owns({ owner }: AddedHook): boolean {
    return [...this.#active.keys()].some((name) => ownerOf(name) === owner);
  }

  async #startOne({ owner, handler }: AddedHook, facts: object): Promise<void> {
    const { clock, log } = this.#ports;
    const call = async () => void (await handler(ownCopy(facts), {}));
    const hook = "gateway:startup";
    const failed = (error: unknown) => log.error("hook failed", { hook, owner, error });
    try {
      const isDone = await withinTold(call(), STARTUP_MS, clock, failed);
      if (!isDone) log.warn("hook is late", { hook, owner, ms: STARTUP_MS });
    } catch (error) {
      failed(error);
    }
  }

  #add(judged: JudgedHook, made: string): void {
    const { name, events, root, key } = judged;
    const { contributions, log, clock } = this.#ports;
    const hook = new FolderHook(
      { name, exportName: judged.exportName, file: () => this.#fileOf(judged) },
      { log, clock },
    );
    const owner = ownerOf(name);
    const { keys } = this.#ports;
    const ports = {
      now: () => clock.now(),
      cfg: () => this.#ports.cfg(key),
      say: (said: SaidByHook) => this.#ports.say(owner, { ...said, sessionKey: keys.inner(said.sessionKey) }),
    };
    const call = async (event: InternalEvent) => (this.#isFor(root.agent, event) ? hook.call(event) : undefined);
    const handlers = [...new Set(events.flatMap(hooksTelling))].flatMap((listened) =>
      root.plugin !== undefined && !this.#ports.mayListen(root.plugin, listened)
        ? []
        : [[listened, hookForPlugin(handlerFor(listened, events, call, ports), keys)] as const],
    );
    contributions.add({
      id: owner,
      register(registry) {
        for (const [listened, handler] of handlers)
          registry.addHook(listened, handler, { shownAs: eventNameIn(listened) });
      },
    });
    this.#active.set(name, { hook, made });
    log.info("hook added", { hook: name, events: events.join(" "), source: root.source });
  }

  /** Whether a hook gets the event. The hook of one agent's workspace gets no events of other agents. */
  #isFor(agent: string | undefined, { sessionKey }: InternalEvent): boolean {
    return agent === undefined || sessionKey === "" || this.#ports.agentOf(sessionKey) === agent;
  }

  async #fileOf(hook: JudgedHook): Promise<{ path: string; version: string }> {
    const { folder, handler, integrity } = hook;
    if (integrity !== undefined)
      return { path: await approvedCopy(hook, integrity, this.#ports.copies), version: "approved" };
    const path = join(folder, handler);
    return { path, version: String((await stat(path)).mtimeMs) };
  }

  async #madeOf(hook: JudgedHook): Promise<string> {
    const { folder, handler, integrity, events, exportName, root, key } = hook;
    const changed = await stat(join(folder, handler)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    const granted =
      root.plugin === undefined
        ? []
        : events.flatMap(hooksTelling).map((one) => this.#ports.mayListen(root.plugin ?? "", one));
    return JSON.stringify([
      folder,
      handler,
      integrity ?? changed,
      events,
      exportName,
      this.#ports.settingsOf(key),
      granted,
    ]);
  }

  /** Logs once each hook that an operator wanted and does not get. */
  #report(before: JudgedHooks): void {
    const { log } = this.#ports;
    const told = new Set(before.hooks.map(lineOf));
    const wanted = this.#judged.hooks.filter(({ state }) => state === "unfit" || state === "unapproved");
    for (const hook of wanted) {
      if (told.has(lineOf(hook))) continue;
      const { name, why, fix = `Run: openclaw hooks info ${name}` } = hook;
      log.warn("hook is not called", { hook: name, why, fix });
    }
    const known = new Set(before.leftOut.map(({ folder }) => folder));
    for (const { folder, why } of this.#judged.leftOut)
      if (!known.has(folder)) log.warn("folder is not used as a hook", { folder, why });
  }
}

const lineOf = ({ name, state, why }: JudgedHook): string => JSON.stringify([name, state, why]);

const ownerOf = (name: string): string => `hook:${name}`;

type Handler = (event: InternalEvent) => unknown;

/** A call that takes longer is late. */
const LATE_MS = 10_000;
/** Late calls of one hook that may be under way at a time. */
const MOST_LATE = 3;

interface Code {
  readonly name: string;
  readonly exportName: string;
  /** Gives the file to load, and a name of its present version. */
  file(): Promise<{ readonly path: string; readonly version: string }>;
}

/** The code of a hook, which is loaded when the first event comes. */
class FolderHook {
  readonly #code: Code;
  readonly #log: Log;
  readonly #clock: Pick<Clock, "now">;
  /** When each call began that has not ended. */
  readonly #underWay = new Set<{ readonly at: number }>();
  #loading: Promise<Handler> | undefined;
  #isTold = false;
  /** Why the hook's code cannot be run; undefined while that is not known. */
  failure: string | undefined;

  constructor(code: Code, { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, "now"> }) {
    this.#code = code;
    this.#log = log;
    this.#clock = clock;
  }

  /** Rejects as the handler does. An event is left out when the code cannot be loaded, or while three calls are late. */
  async call(event: InternalEvent): Promise<void> {
    if (this.failure !== undefined) return;
    const begun = { at: this.#clock.now() };
    if ([...this.#underWay].filter(({ at }) => begun.at - at >= LATE_MS).length >= MOST_LATE)
      return this.#tellSkipped(event);
    this.#underWay.add(begun);
    try {
      const handler = await this.#handler();
      await handler?.(event);
    } finally {
      this.#underWay.delete(begun);
      if (this.#underWay.size === 0) this.#isTold = false;
    }
  }

  #tellSkipped({ type, action }: InternalEvent): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#log.warn("events are kept from a hook until its earlier calls end", {
      hook: this.#code.name,
      event: `${type}:${action}`,
      underWay: this.#underWay.size,
    });
  }

  /** The hook's function; undefined when its code cannot be run, which is logged once. */
  async #handler(): Promise<Handler | undefined> {
    this.#loading ??= this.#load();
    try {
      return await this.#loading;
    } catch (error) {
      if (this.failure !== undefined) return undefined;
      this.failure = errorText(error);
      const { name: hook } = this.#code;
      const fix = `Mend it and restart the gateway, or run: openclaw hooks disable ${hook}`;
      this.#log.error("the code of a hook cannot be run", { hook, error, fix });
      return undefined;
    }
  }

  async #load(): Promise<Handler> {
    const { exportName } = this.#code;
    const { path, version } = await this.#code.file();
    const loaded = await importFile(path, version);
    const found = isFields(loaded) ? handlerIn(loaded, exportName) : undefined;
    if (isHandler(found)) return found;
    throw new Error(`${path} exports no function ${exportName}`);
  }
}

/** A CommonJS module has its exports in `default`, a second time where a compiler made it from a module. */
function handlerIn(loaded: Readonly<Record<string, unknown>>, name: string): unknown {
  const inner = loaded["default"];
  const found = loaded[name];
  if (isHandler(found) || !isFields(inner)) return found;
  return inner[name];
}

const isHandler = (value: unknown): value is Handler => typeof value === "function";
