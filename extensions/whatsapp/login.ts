import type { ConnectionState } from "@whiskeysockets/baileys";
import { OpenClawError } from "openclaw/plugin-sdk";
import type { LoginDesk } from "openclaw/plugin-sdk";
import { openAuth } from "./auth.ts";
import type { Auth } from "./auth.ts";
import { loadBaileys } from "./baileys.ts";
import type { Baileys } from "./baileys.ts";
import type { WhatsAppConfig } from "./config.ts";
import { codeOf } from "./connection.ts";
import { endingOf } from "./endings.ts";
import { openSocket } from "./socket.ts";
import type { WaSocket } from "./port.ts";

interface Room {
  readonly baileys: Baileys;
  readonly config: WhatsAppConfig;
  readonly desk: LoginDesk;
}

interface Account {
  readonly id: string;
  readonly name: string;
}

/** How often a connection may end before a login is given up; the first pairing always ends with one. */
const MOST_ENDINGS = 5;

/** Shows codes until the phone has taken one. Throws `CHANNEL_AUTH` when none was taken, or the signal aborted. */
export async function login(config: WhatsAppConfig, desk: LoginDesk): Promise<Account> {
  return withRoom(config, desk, async (room, auth) => {
    for (let endings = 0; endings < MOST_ENDINGS; endings++) {
      const end = await meet({ room, auth }, async (socket) => accountOf(socket));
      if (end.kind === "open") return end.value;
      desk.signal.throwIfAborted();
      if (end.code === 401) auth.forget();
      else if (end.code !== 515 && endingOf(end.code, 0).kind !== "pause") throw failed(end.code);
      else if (end.code === 408) throw failed(end.code);
    }
    throw failed(undefined);
  });
}

/** Ends the link on WhatsApp's side where that can be reached, and forgets its keys here. */
export async function logout(config: WhatsAppConfig, desk: LoginDesk): Promise<void> {
  await withRoom(config, desk, async (room, auth) => {
    if (auth.creds.me) {
      const end = await meet({ room, auth }, (socket) => socket.unlink());
      if (end.kind === "ended" && end.code !== 401) {
        desk.show({ kind: "told", text: "WhatsApp could not be told; remove the device on the phone as well." });
      }
    }
    auth.forget();
  });
}

async function withRoom<T>(
  config: WhatsAppConfig,
  desk: LoginDesk,
  act: (room: Room, auth: Auth) => Promise<T>,
): Promise<T> {
  const baileys = await loadBaileys();
  const auth = await openAuth(await desk.folder(), baileys);
  try {
    return await act({ baileys, config, desk }, auth);
  } catch (error) {
    if (error instanceof OpenClawError || !desk.signal.aborted) throw error;
    throw failed(undefined, error);
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
  const { baileys, config, desk } = room;
  const end = Promise.withResolvers<End<T>>();
  let asked = false;
  const changed = (state: Partial<ConnectionState>): void => {
    if (state.connection === "close") end.resolve({ kind: "ended", code: codeOf(state.lastDisconnect?.error) });
    if (state.connection === "open") {
      act(socket).then((value) => end.resolve({ kind: "open", value }), end.reject);
    }
    if (state.isNewLogin) desk.show({ kind: "told", text: "The phone agrees. WhatsApp connects anew." });
    if (state.qr === undefined) return;
    if (desk.phone === undefined) return desk.show({ kind: "qr", text: state.qr });
    if (asked) return;
    asked = true;
    socket.pairingCode(desk.phone).then((code) => desk.show({ kind: "code", code }), end.reject);
  };
  const nothing = (): void => undefined;
  // Messages are for the gateway: not acknowledged here, they come again there.
  const over = Promise.withResolvers<never>();
  over.promise.catch(nothing);
  const quiet = { alive: nothing, groupChanged: nothing, unreadable: nothing };
  const events = { ...quiet, changed, take: () => over.promise, unsaved: end.reject };
  const socket = openSocket({ baileys, auth, config, events, knownGroup: () => undefined });
  const abort = (): void => end.resolve({ kind: "ended", code: undefined });
  desk.signal.addEventListener("abort", abort, { once: true });
  try {
    return await end.promise;
  } finally {
    desk.signal.removeEventListener("abort", abort);
    await socket.close();
    over.reject(new Error("nothing is received during a login"));
  }
}

function accountOf(socket: WaSocket): Account {
  const self = socket.self();
  if (!self) throw failed(undefined);
  return { id: `+${self.jid.split(/[:@]/)[0]}`, name: self.name };
}

function failed(code: number | undefined, cause?: unknown): OpenClawError {
  const ending = endingOf(code, 0);
  const nobody = code === 408 || code === undefined;
  return new OpenClawError("CHANNEL_AUTH", {
    message: nobody
      ? "WhatsApp was not linked: no code was taken in time."
      : `WhatsApp was not linked: ${ending.reason}.`,
    fix: ending.kind === "dead" ? ending.fix : "Begin again: WhatsApp on the phone, Linked devices, Link a device.",
    cause,
  });
}
