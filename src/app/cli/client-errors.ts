import { ERROR_CODES, OpenClawError, type ErrorCode } from "../../types/errors.ts";
import type { Address } from "./address.ts";
import type { ErrorShape } from "../../server/transport/frames.ts";

export function unreachable(url: string, why: string): OpenClawError {
  const isRefused = why.includes("ECONNREFUSED");
  return new OpenClawError("GATEWAY_UNREACHABLE", {
    message: isRefused ? nobodyAt(url) : `The gateway at ${url} does not answer: ${why}.`,
    fix: whatToDo(url, isRefused),
  });
}

function whatToDo(url: string, isRefused: boolean): string {
  if (isElsewhere(url))
    return "Check the address, and that the gateway runs on that machine and can be reached from here.";
  return isRefused
    ? "Start it: openclaw gateway run (as a service: openclaw gateway start)"
    : "Look at it: openclaw gateway status, openclaw logs";
}

/** Whether it is not on this machine. */
const isElsewhere = (url: string): boolean =>
  !/^(?:127\.|\[::1\]$|localhost$)/.test(URL.parse(url)?.hostname ?? "localhost");

/** With port 0 the system chooses a port, which is unknown without a gateway. */
const nobodyAt = (url: string): string =>
  url.endsWith(":0") ? "No gateway runs on this state directory." : `No gateway answers at ${url}.`;

/** The same for a gateway of this state directory that has not reported its address yet; other errors are returned unchanged. */
export function whileStarting({ startingPid, url }: Address, error: unknown): unknown {
  const isAway = error instanceof OpenClawError && error.code === "GATEWAY_UNREACHABLE";
  if (startingPid === undefined || !isAway) return error;
  return new OpenClawError("GATEWAY_UNREACHABLE", {
    message: `A gateway (pid ${startingPid}) is starting on this state directory and does not listen at ${url} yet.`,
    fix: "Try again in a moment. What it does: openclaw logs",
  });
}

/** The gateway at the port of this state directory's config has another state directory. */
export const otherState = (url: string, stateDir: string, theirs: string): OpenClawError =>
  new OpenClawError("GATEWAY_UNREACHABLE", {
    message: `No gateway runs on ${stateDir}: the one at ${url} has the state directory ${theirs}.`,
    fix: "Give this one its own gateway.port and start it, or set OPENCLAW_STATE_DIR to the other.",
  });

/** Why the gateway refused the connection. */
export function connectError(address: Address, error: ErrorShape): OpenClawError {
  const code = detailOf(error, "code");
  if (code === "AUTH_RATE_LIMITED") {
    return unauthorized(
      `${address.url} has seen too many wrong tokens from here.`,
      "Wait five minutes, then try again.",
    );
  }
  if (code?.startsWith("AUTH_") !== true) {
    return new OpenClawError("GATEWAY_UNREACHABLE", {
      message: `The gateway at ${address.url} refused: ${error.message}.`,
      fix: "Use the openclaw of the gateway's own version.",
    });
  }
  const where = address.isElsewhere
    ? "Give the token of that gateway: --token, OPENCLAW_GATEWAY_TOKEN, or gateway.remote.token for one of the config."
    : "Restart the gateway if its token was changed, or give it: OPENCLAW_GATEWAY_TOKEN.";
  return unauthorized(`${address.url} did not take the token${address.token ? "" : ", for there was none"}.`, where);
}

/** The operator's error for an error of the gateway. */
export function callError(method: string, error: ErrorShape): Error {
  const { message } = error;
  const own = detailOf(error, "code");
  const fix = detailOf(error, "fix");
  if (own !== undefined && isErrorCode(own)) return new OpenClawError(own, withoutFix(error));
  const how = { method, message, fix };
  // A kind says more than the code, where it is one of those that the command line tells apart.
  return errorOf(detailOf(error, "kind"), how) ?? errorOf(error.code, how) ?? new Error(`${method}: ${message}`);
}

interface Refused {
  readonly method: string;
  readonly message: string;
  readonly fix: string | undefined;
}

/** The commands that list what methods take, by the beginning of a method's name. */
const LISTS: readonly (readonly [begin: string, command: string])[] = [
  ["approval", "openclaw approvals get"],
  ["channels.", "openclaw channels list --all"],
  ["cron.", "openclaw cron list"],
  ["device.", "openclaw devices list"],
  ["hooks.", "openclaw hooks list"],
  ["inbox.", "openclaw inbox list --all"],
  ["models.", "openclaw models list"],
  ["outbox.", "openclaw outbox list --all"],
  ["pairing.", "openclaw pairing list"],
  ["plugins.", "openclaw plugins list"],
  ["runs.", "openclaw runs list"],
  ["session", "openclaw sessions list"],
  ["tasks.", "openclaw tasks list"],
];

const listOf = (method: string): string =>
  LISTS.find(([begin]) => method.startsWith(begin))?.[1] ?? "openclaw agents list";

function errorOf(name: string | undefined, { method, message, fix }: Refused): OpenClawError | undefined {
  switch (name) {
    case "NOT_FOUND":
      return new OpenClawError("NOT_FOUND", {
        message: sentence(message),
        fix: fix ?? `See what there is: ${listOf(method)}`,
      });
    case "INVALID_REQUEST":
      return new OpenClawError("USAGE", { message: sentence(message), fix: fix ?? "See the command's --help." });
    case "FORBIDDEN":
      return unauthorized(`The gateway does not allow ${method}: ${message}.`, "Use the gateway's own token.");
    case "RATE_LIMITED":
      return new OpenClawError("GATEWAY_BUSY", { message: sentence(message), fix: "Try again in a moment." });
    default:
      return undefined;
  }
}

/** The message also contains the fix, for clients that show only the message. */
function withoutFix(error: ErrorShape): { readonly message: string; readonly fix: string } {
  const { message } = error;
  const fix = detailOf(error, "fix");
  if (fix === undefined) return { message, fix: "See docs/reference/errors.md." };
  return { message: message.endsWith(` ${fix}`) ? message.slice(0, -fix.length - 1) : message, fix };
}

const unauthorized = (message: string, fix: string) => new OpenClawError("GATEWAY_UNAUTHORIZED", { message, fix });

const sentence = (text: string): string => {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
};

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CODES, code);

function detailOf({ details }: ErrorShape, name: "code" | "fix" | "kind"): string | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const value: unknown = Reflect.get(details, name);
  return typeof value === "string" ? value : undefined;
}
