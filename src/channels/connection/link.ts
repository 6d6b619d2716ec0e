import type { ChannelLink } from "../../types/chat/channel.ts";

/** When something was last received or sent, and when the platform last proved that it is reachable; epoch milliseconds. */
export interface Times {
  inbound: number | undefined;
  outbound: number | undefined;
  transport: number | undefined;
}

export const emptyTimes = (): Times => ({ inbound: undefined, outbound: undefined, transport: undefined });

/** Called with the results of a link's calls. */
export interface LinkWatch {
  /** The platform took a message. */
  sent(): void;
  /** The platform refuses the account until a person does what `fix` says. */
  refused(reason: string, fix: string): void;
}

/**
 * The same link with every method that it has, also one that a later version of `ChannelLink` adds. `watch` is called after
 * each successful `send`, and when any call, or any call of a stream, meets a refusal of the account.
 */
export function watchedLink(link: ChannelLink, watch: LinkWatch): ChannelLink {
  return watched(link, (method, result) => {
    if (method === "send" && isResult(result, "sent")) watch.sent();
    if (isResult(result, "retry") && result.fix !== undefined) watch.refused(result.reason, result.fix);
  });
}

type Inspect = (method: PropertyKey, result: unknown) => void;

/**
 * Passes the resolved result of each call of the object to `inspect`, and the results of objects that its calls return.
 */
function watched<T extends object>(original: T, inspect: Inspect): T {
  return new Proxy(original, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      // Such as the link's `actions`.
      if (typeof value !== "function") return isObject(value) ? watched(value, inspect) : value;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, args);
        if (!(result instanceof Promise)) return isObject(result) ? watched(result, inspect) : result;
        return result.then((resolved: unknown) => {
          inspect(name, resolved);
          return resolved;
        });
      };
    },
  });
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

type Result = { readonly kind: string; readonly reason: string; readonly fix?: string };
const isResult = (value: unknown, kind: "sent" | "retry"): value is Result =>
  isObject(value) && "kind" in value && value.kind === kind;

/** Methods that every link has, and methods that only the core uses. */
const NO_CAPABILITY = new Set(["constructor", "send", "close", "commandForm", "clearPending", "chatId", "endTyping"]);

/** The names of the optional methods that a link and its actions have, sorted. */
export const capabilitiesIn = (link: ChannelLink): readonly string[] =>
  [...methodsOf(link).filter((name) => !NO_CAPABILITY.has(name)), ...methodsOf(link.actions ?? {})].toSorted();

function methodsOf(object: object): readonly string[] {
  const names = new Set<string>();
  for (let at: unknown = object; isObject(at) && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  return [...names].filter((name) => typeof Reflect.get(object, name) === "function");
}
