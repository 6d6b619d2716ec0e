import type { ConnectionState } from "@whiskeysockets/baileys";
import { backoff, BoundedMap, OpenClawError, wait } from "openclaw/plugin-sdk";
import type { LoginHost, LoginStep } from "openclaw/plugin-sdk";
import { openAuth } from "./auth.ts";
import type { Auth } from "./auth.ts";
import { loadBaileys } from "./baileys.ts";
import type { Baileys } from "./baileys.ts";
import type { WhatsAppConfig } from "../config.ts";
import { codeOf } from "./connection.ts";
import { endingOf } from "./endings.ts";
import type { Ending } from "./endings.ts";
import { openSocket } from "./socket.ts";
import type { WaSocket } from "./port.ts";

interface Room {
  readonly baileys: Baileys;
  readonly config: WhatsAppConfig;
  readonly host: LoginHost;
  /** A code was shown that no phone has taken yet. */
  hasOpenCode: boolean;
}

interface Account {
  readonly id: string;
  readonly name: string;
}

/** How often a connection may end before a login is given up; the first pairing always ends with one. */
const MOST_ENDINGS = 5;

/** Shows codes until the phone has taken one. Throws `CHANNEL_AUTH` when none was taken, or the signal aborted. */
export async function login(config: WhatsAppConfig, host: LoginHost): Promise<Account> {
  return withRoom(config, host, async (room, auth) => {
    for (let failures = 0; ; failures++) {
      const end = await meet({ room, auth }, async (socket) => accountOf(socket));
      if (end.kind === "open") return end.value;
      host.signal.throwIfAborted();
      const ending = endingOf(end.code, failures);
      if (failures + 1 >= MOST_ENDINGS || isLast(end.code, ending, room)) throw notLinked(ending, room);
      if (end.code === 401) auth.forget();
      else if (ending.kind === "pause") await rest(ending, failures, host);
    }
  });
}

/** Another try within seconds would end as this one did. */
function isLast(code: number | undefined, ending: Ending, { hasOpenCode }: Room): boolean {
  if (code === 401) return false;
  // The library gives 408 when its codes are used up, and for every connection that fails.
  if (code === 408) return hasOpenCode;
  return ending.kind === "dead" || (ending.kind === "pause" && ending.firstMs !== undefined);
}

async function rest({ reason }: Ending, failures: number, host: LoginHost): Promise<void> {
  host.show({ kind: "told", text: `Not linked yet: ${reason}. It is tried again.` });
  await wait(backoff(failures), host.signal);
  host.signal.throwIfAborted();
}

/** Ends the link on WhatsApp's side where that can be reached, and forgets its keys here. */
export async function logout(config: WhatsAppConfig, host: LoginHost): Promise<void> {
  await withRoom(config, host, async (room, auth) => {
    if (auth.creds.me) {
      const end = await meet({ room, auth }, (socket) => socket.unlink());
      if (end.kind === "ended" && end.code !== 401) {
        host.show({ kind: "told", text: "WhatsApp could not be told; remove the device on the phone as well." });
      }
    }
    auth.forget();
  });
}

async function withRoom<T>(
  config: WhatsAppConfig,
  host: LoginHost,
  act: (room: Room, auth: Auth) => Promise<T>,
): Promise<T> {
  const baileys = await loadBaileys(host);
  const auth = await openAuth(await host.folder(), baileys, host.log);
  try {
    return await act({ baileys, config, host, hasOpenCode: false }, auth);
  } catch (error) {
    if (error instanceof OpenClawError || !host.signal.aborted) throw error;
    throw failed("it was given up", "Begin again when the phone is at hand.", error);
  } finally {
    auth.close();
  }
}

type End<T> =
  | { readonly kind: "open"; readonly value: T }
  | { readonly kind: "ended"; readonly code: number | undefined };

/** One connection: until it stands and `act` is done, or it ends. */
async function meet<T>(
  { room, auth }: { room: Room; auth: Auth },
  act: (socket: WaSocket) => Promise<T>,
): Promise<End<T>> {
  const { baileys, config, host } = room;
  const end = Promise.withResolvers<End<T>>();
  const ended = (error: unknown): void => end.resolve({ kind: "ended", code: codeOf(error) });
  const showCode = codes(room, (phone) => socket.pairingCode(phone), ended);
  const changed = (state: Partial<ConnectionState>): void => {
    if (state.connection === "close") ended(state.lastDisconnect?.error);
    if (state.connection === "open") {
      act(socket).then((value) => end.resolve({ kind: "open", value }), end.reject);
    }
    if (state.isNewLogin) {
      room.hasOpenCode = false;
      host.show({ kind: "told", text: "The phone agrees. WhatsApp connects anew." });
    }
    if (state.qr !== undefined) showCode(state.qr);
  };
  const nothing = (): void => undefined;
  // Messages are for the gateway: not acknowledged here, they come again there.
  const over = Promise.withResolvers<never>();
  over.promise.catch(nothing);
  const quiet = { alive: nothing, answered: nothing, groupChanged: nothing, unreadable: nothing };
  const events = { ...quiet, changed, take: () => over.promise, unsaved: end.reject };
  const socket = openSocket({ baileys, auth, config, events, opened: new BoundedMap(0), knownGroup: () => undefined });
  const abort = (): void => ended(undefined);
  host.signal.addEventListener("abort", abort, { once: true });
  try {
    return await end.promise;
  } finally {
    host.signal.removeEventListener("abort", abort);
    await socket.close();
    over.reject(new Error("nothing is received during a login"));
  }
}

/** Shows each code as WhatsApp makes it, or the one to type that is asked for once. */
function codes(
  room: Room,
  ask: (phone: string) => Promise<string>,
  unasked: (error: unknown) => void,
): (qr: string) => void {
  const { host } = room;
  const { phone } = host;
  const shown = (step: LoginStep): void => {
    room.hasOpenCode = true;
    host.show(step);
  };
  let asked = false;
  return (qr) => {
    if (phone === undefined) return shown({ kind: "qr", text: qr });
    if (asked) return;
    asked = true;
    ask(phone).then((code) => shown({ kind: "code", code }), unasked);
  };
}

function accountOf(socket: WaSocket): Account {
  const self = socket.self();
  if (!self) throw failed("WhatsApp did not say whom it has linked", AGAIN);
  return { id: `+${self.jid.split(/[:@]/)[0]}`, name: self.name };
}

const AGAIN = "Begin again: WhatsApp on the phone, Linked devices, Link a device.";
const UNREACHED = "Check the network of this machine, or channels.whatsapp.waWebSocketUrl where that is set.";

function notLinked(ending: Ending, { hasOpenCode }: Room): OpenClawError {
  if (ending.kind === "dead") return failed(ending.reason, ending.fix);
  if (ending.kind === "pause" && ending.fix !== undefined) return failed(ending.reason, ending.fix);
  if (hasOpenCode) return failed("no code was taken in time", AGAIN);
  return failed(ending.reason, UNREACHED);
}

const failed = (why: string, fix: string, cause?: unknown): OpenClawError =>
  new OpenClawError("CHANNEL_AUTH", { message: `WhatsApp was not linked: ${why}.`, fix, cause });
