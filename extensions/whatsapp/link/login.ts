import type { ConnectionState } from "@whiskeysockets/baileys";
import { backoff, BoundedMap, OpenClawError, wait } from "openclaw/plugin-sdk";
import type { LoginHost, LoginStep } from "openclaw/plugin-sdk";
import { openAuth } from "./auth.ts";
import type { Auth } from "./auth.ts";
import { loadBaileys } from "../baileys.ts";
import type { Baileys } from "../baileys.ts";
import type { WhatsAppConfig } from "../config.ts";
import { codeOf } from "./connection.ts";
import { endingOf } from "./endings.ts";
import type { Ending } from "./endings.ts";
import { openSocket } from "./socket.ts";
import type { WaSocket } from "./port.ts";

interface LoginAttempt {
  readonly baileys: Baileys;
  readonly config: WhatsAppConfig;
  readonly host: LoginHost;
  /** A code was shown that no phone has accepted yet. */
  hasOpenCode: boolean;
}

interface Account {
  readonly id: string;
  readonly name: string;
}

/** How many connections may end before a login is given up; a successful pairing always ends one. */
const MOST_ENDINGS = 5;

/** Shows codes until the phone has accepted one. Throws `CHANNEL_AUTH` when it accepts none, or the signal aborts. */
export async function login(config: WhatsAppConfig, host: LoginHost): Promise<Account> {
  return withAuth(config, host, async (attempt, auth) => {
    for (let failures = 0; ; failures++) {
      const end = await connectOnce({ attempt, auth }, async (socket) => accountOf(socket));
      if (end.kind === "open") return end.value;
      host.signal.throwIfAborted();
      const ending = endingOf(end.code, failures);
      if (failures + 1 >= MOST_ENDINGS || isLast(end.code, ending, attempt)) throw notLinked(ending, attempt);
      if (end.code === 401) auth.forget();
      else if (ending.kind === "pause") await pauseAfter(ending, failures, host);
    }
  });
}

/** Whether another attempt within seconds would fail in the same way. */
function isLast(code: number | undefined, ending: Ending, { hasOpenCode }: LoginAttempt): boolean {
  if (code === 401) return false;
  // The library uses 408 when its codes are used up, and for every failed connection.
  if (code === 408) return hasOpenCode;
  return ending.kind === "dead" || (ending.kind === "pause" && ending.firstMs !== undefined);
}

async function pauseAfter({ reason }: Ending, failures: number, host: LoginHost): Promise<void> {
  host.show({ kind: "text", text: `Not linked yet: ${reason}. Trying again.` });
  await wait(backoff(failures), host.signal);
  host.signal.throwIfAborted();
}

/** Ends the link on WhatsApp's side if that can be reached, and deletes its keys here. */
export async function logout(config: WhatsAppConfig, host: LoginHost): Promise<void> {
  await withAuth(config, host, async (attempt, auth) => {
    if (auth.creds.me) {
      const end = await connectOnce({ attempt, auth }, (socket) => socket.unlink());
      if (end.kind === "ended" && end.code !== 401) {
        host.show({ kind: "text", text: "WhatsApp could not be reached; remove the device on the phone as well." });
      }
    }
    auth.forget();
  });
}

async function withAuth<T>(
  config: WhatsAppConfig,
  host: LoginHost,
  act: (attempt: LoginAttempt, auth: Auth) => Promise<T>,
): Promise<T> {
  const baileys = await loadBaileys(host);
  const auth = await openAuth(await host.folder(), baileys, host.log);
  try {
    return await act({ baileys, config, host, hasOpenCode: false }, auth);
  } catch (error) {
    if (error instanceof OpenClawError || !host.signal.aborted) throw error;
    throw failed("the login was cancelled", "Try again when the phone is at hand.", error);
  } finally {
    auth.close();
  }
}

type End<T> =
  | { readonly kind: "open"; readonly value: T }
  | { readonly kind: "ended"; readonly code: number | undefined };

/** Opens one connection and waits until it is open and `act` is done, or it ends. */
async function connectOnce<T>(
  { attempt, auth }: { attempt: LoginAttempt; auth: Auth },
  act: (socket: WaSocket) => Promise<T>,
): Promise<End<T>> {
  const { baileys, config, host } = attempt;
  const end = Promise.withResolvers<End<T>>();
  const ended = (error: unknown): void => end.resolve({ kind: "ended", code: codeOf(error) });
  const showCode = codes(attempt, (phone) => socket.pairingCode(phone), ended);
  const changed = (state: Partial<ConnectionState>): void => {
    if (state.connection === "close") ended(state.lastDisconnect?.error);
    if (state.connection === "open") {
      act(socket).then((value) => end.resolve({ kind: "open", value }), end.reject);
    }
    if (state.isNewLogin) {
      attempt.hasOpenCode = false;
      host.show({ kind: "text", text: "The phone accepted the code. Connecting again." });
    }
    if (state.qr !== undefined) showCode(state.qr);
  };
  const nothing = (): void => undefined;
  // The gateway must get the messages: they are not acknowledged here, so WhatsApp delivers them again.
  const over = Promise.withResolvers<never>();
  over.promise.catch(nothing);
  const quiet = { alive: nothing, answered: nothing, groupChanged: nothing, unreadable: nothing, untaken: nothing };
  const events = { ...quiet, changed, take: () => over.promise, unsaved: end.reject };
  const socket = openSocket({ baileys, auth, config, events, opened: new BoundedMap(0), knownGroup: () => undefined });
  const abort = (): void => ended(undefined);
  host.signal.addEventListener("abort", abort, { once: true });
  if (host.signal.aborted) abort();
  try {
    return await end.promise;
  } finally {
    host.signal.removeEventListener("abort", abort);
    await socket.close();
    over.reject(new Error("nothing is received during a login"));
  }
}

/** Shows each QR code that WhatsApp makes, or requests one code to type. */
function codes(
  attempt: LoginAttempt,
  ask: (phone: string) => Promise<string>,
  onError: (error: unknown) => void,
): (qr: string) => void {
  const { host } = attempt;
  const { phone } = host;
  const shown = (step: LoginStep): void => {
    attempt.hasOpenCode = true;
    host.show(step);
  };
  let asked = false;
  return (qr) => {
    if (phone === undefined) return shown({ kind: "qr", text: qr });
    if (asked) return;
    asked = true;
    ask(phone).then((code) => shown({ kind: "code", code }), onError);
  };
}

function accountOf(socket: WaSocket): Account {
  const self = socket.self();
  if (!self) throw failed("WhatsApp did not say which account it linked", AGAIN);
  return { id: `+${self.jid.split(/[:@]/)[0]}`, name: self.name };
}

const AGAIN = "Try again: WhatsApp on the phone, Linked devices, Link a device.";
const UNREACHED = "Check the network of this machine, or channels.whatsapp.waWebSocketUrl where that is set.";

function notLinked(ending: Ending, { hasOpenCode }: LoginAttempt): OpenClawError {
  if (ending.kind === "dead") return failed(ending.reason, ending.fix);
  if (ending.kind === "pause" && ending.fix !== undefined) return failed(ending.reason, ending.fix);
  if (hasOpenCode) return failed("the phone accepted no code in time", AGAIN);
  return failed(ending.reason, UNREACHED);
}

const failed = (why: string, fix: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", { message: `WhatsApp was not linked: ${why}.`, fix, cause });
