import { AsyncLocalStorage } from "node:async_hooks";
import type { BaileysEventMap, ConnectionState, proto } from "@whiskeysockets/baileys";
import type { Baileys } from "../baileys.ts";
import { bare, isNoChat } from "../jid.ts";
import { NoAnswer } from "./port.ts";
import type { ServerAnswer, Opening, SocketEvents, WaSocket } from "./port.ts";
import { silenceSignalLogs, silent } from "./log-filter.ts";
import { interceptDecryption } from "./decryption.ts";

const ANSWER_MS = 15_000;

/** Connects to WhatsApp. A message is only acknowledged after `take` has resolved. The socket saves its keys itself. */
export function openSocket(opening: Opening): WaSocket {
  const { baileys, auth, config, events } = opening;
  silenceSignalLogs();
  const interceptor = interceptDecryption(opening);
  const leaving = new AsyncLocalStorage<Leaving>();
  const version = config.waVersion?.split(".").map(Number);
  const [major = 2, minor = 0, patch = 0] = version ?? baileys.DEFAULT_CONNECTION_CONFIG.version;
  const sock = baileys.makeWASocket({
    auth: { creds: auth.creds, keys: auth.keys },
    version: [major, minor, patch],
    waWebSocketUrl: config.waWebSocketUrl,
    connectTimeoutMs: config.connectTimeoutMs,
    keepAliveIntervalMs: config.keepAliveMs,
    logger: silent,
    emitOwnEvents: false,
    // An active linked device would silence the phone's notifications.
    markOnlineOnConnect: false,
    syncFullHistory: false,
    shouldIgnoreJid: isNoChat,
    cachedGroupMetadata: async (jid) => opening.knownGroup(jid),
    makeSignalRepository: interceptor.repository,
    patchMessageBeforeSending: (message) => {
      keep(opening, leaving.getStore(), message);
      return message;
    },
    getMessage: async ({ id }) => {
      const content = id ? auth.kept(id) : undefined;
      return content && baileys.proto.Message.decode(content);
    },
    // SQLite itself waits for a locked file.
    transactionOpts: { maxCommitRetries: 3, delayBetweenTriesMs: 200 },
  });
  interceptor.listen(sock.ws);
  sock.ev.on("creds.update", () => save(opening));
  sock.ev.on("connection.update", events.changed);
  sock.ev.on("messages.upsert", ({ messages }) => {
    interceptor.takeOthers(messages).catch(events.untaken);
  });
  listenToGroups(sock.ev, events);
  sock.ws.on("frame", events.alive);
  return calls(sock, leaving, events);
}

const SAVE_AGAIN_MS = 5000;

/** Retries later when it fails: the library calls this during its work, which a full disk must not stop. */
function save(opening: Opening): void {
  try {
    opening.auth.save();
  } catch (error) {
    opening.events.unsaved(error);
    setTimeout(() => save(opening), SAVE_AGAIN_MS).unref();
  }
}

/** A message of ours that is being sent. */
interface Leaving {
  readonly id: string;
  isKept: boolean;
}

/**
 * Keeps a message before it is sent, because devices may request it again. The library first passes the content for its
 * readers, then the content for our own devices. Throws when it cannot be written; nothing was sent then.
 */
function keep({ baileys, auth }: Opening, leaving: Leaving | undefined, message: proto.IMessage): void {
  if (!leaving || leaving.isKept) return;
  auth.keep(leaving.id, baileys.proto.Message.encode(message).finish());
  leaving.isKept = true;
}

type Sock = ReturnType<Baileys["makeWASocket"]>;

interface Listening {
  on<E extends keyof BaileysEventMap>(event: E, listener: (value: BaileysEventMap[E]) => void): void;
}

function listenToGroups(ev: Listening, { groupChanged }: SocketEvents): void {
  const each = (groups: readonly { id?: string }[]): void => {
    for (const { id } of groups) if (id !== undefined) groupChanged(id);
  };
  ev.on("groups.upsert", each);
  ev.on("groups.update", each);
  ev.on("group-participants.update", (change) => groupChanged(change.id));
}

function calls(sock: Sock, leaving: AsyncLocalStorage<Leaving>, { answered }: SocketEvents): WaSocket {
  return {
    self() {
      const me = sock.user;
      if (!me) return undefined;
      return {
        jid: me.id,
        name: me.name ?? me.notify ?? bare(me.id),
        ...(me.lid && { lid: me.lid }),
      };
    },
    async send(to, content, options) {
      const id = options.messageId ?? "";
      const answer = listenForAnswer(sock, id);
      try {
        await leaving.run({ id, isKept: id === "" }, () => sock.sendMessage(to, content, options));
        const result = await answer.wait();
        answered();
        return result;
      } finally {
        answer.stop();
      }
    },
    markRead: (keys) => sock.readMessages(keys),
    composing: (to) => sock.sendPresenceUpdate("composing", to),
    paused: (to) => sock.sendPresenceUpdate("paused", to),
    group: (jid) => sock.groupMetadata(jid),
    async phoneOf(lid) {
      const jid = await sock.signalRepository.lidMapping.getPNForLID(lid);
      return jid ? `+${jid.split(/[:@]/)[0]}` : undefined;
    },
    pairingCode: (phone) => sock.requestPairingCode(phone.replaceAll(/\D/g, "")),
    unlink: () => sock.logout(),
    async close() {
      await sock.end(undefined);
    },
  };
}

/** Waits for the server's answer, which has the message's id. The library itself only reports refusals, with a delay. */
function listenForAnswer({ ws, ev }: Sock, id: string): { wait(): Promise<ServerAnswer>; stop(): void } {
  const { promise, resolve, reject } = Promise.withResolvers<ServerAnswer>();
  // The promise may reject before anybody awaits it.
  promise.catch(() => undefined);
  const onAnswer = ({ attrs }: { attrs: Readonly<Record<string, string>> }): void => {
    const error = Number(attrs["error"] ?? 0);
    resolve(error === 0 ? { kind: "taken" } : { kind: "refused", error });
  };
  const onChange = ({ connection }: Partial<ConnectionState>): void => {
    if (connection === "close") reject(new NoAnswer("the connection ended before WhatsApp answered"));
  };
  const event = `CB:ack,id:${id}`;
  let timer: NodeJS.Timeout | undefined;
  ws.on(event, onAnswer);
  ev.on("connection.update", onChange);
  return {
    wait() {
      if (!ws.isOpen) onChange({ connection: "close" });
      timer = setTimeout(() => reject(new NoAnswer("WhatsApp did not answer in time")), ANSWER_MS);
      return promise;
    },
    stop() {
      clearTimeout(timer);
      ws.off(event, onAnswer);
      ev.off("connection.update", onChange);
    },
  };
}
