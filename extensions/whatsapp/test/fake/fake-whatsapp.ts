import { randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import * as baileys from "@whiskeysockets/baileys";
import type { BinaryNode, proto, WAMessageContent } from "@whiskeysockets/baileys";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { openAuth } from "../../link/auth.ts";
import { userOf } from "../../jid.ts";
import { DeviceKeys } from "./device-keys.ts";
import { Directory } from "./directory.ts";
import { Letters } from "./letters.ts";
import type { Saying } from "./letters.ts";
import { MediaStore } from "./media-store.ts";
import type { Located } from "./media-store.ts";
import { ServerNoise } from "./noise.ts";
import { Pairing } from "./pairing.ts";
import { Queries } from "./queries.ts";
import { Screen } from "./screen.ts";
import { DEVICE, envelopes, GROUP, seconds, SERVER } from "./stanzas.ts";
import "../trust-fake.mjs";

export { DEVICE, GROUP } from "./stanzas.ts";
export type { Saying } from "./letters.ts";

export type { Shown } from "./screen.ts";

/** `drop`: the connection breaks before anything is done; `lose`: after. `mute`: it is done, and no answer comes. */
export type Fault = { readonly kind: "refuse"; readonly code: number } | { readonly kind: "drop" | "lose" | "mute" };

interface Queued {
  readonly id: string;
  readonly stanza: BinaryNode;
}

export type FakeWhatsApp = Awaited<ReturnType<typeof startFakeWhatsapp>>;

/**
 * A WhatsApp multi-device server that real Baileys talks to: Noise, binary nodes, Signal sessions of the people in it.
 * There is no page that tells this protocol; the stanzas are those that Baileys 7.0.0-rc14 sends and reads
 * (lib/Socket/*.js, lib/Utils/decode-wa-message.js). It outlives its clients: what they have not receipted comes again,
 * and what either side could not open is sealed anew by who wrote it (`handleReceipt`, `sendRetryRequest`).
 */
export async function startFakeWhatsapp() {
  const media = new MediaStore();
  const server = http.createServer((request, response) => {
    void media.serve(request, response);
  });
  const sockets = new WebSocketServer({ server });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;

  const queue: Queued[] = [];
  const receipts: Queued[] = [];
  const screen = new Screen();
  const faults: Fault[] = [];
  const read: string[] = [];
  const unlinked: string[] = [];
  const arrived: string[] = [];
  const refusedByClient: BinaryNode[] = [];
  const askedAgain: string[] = [];
  const unopened: string[] = [];
  const passedOver: string[] = [];
  const directory = new Directory();
  const { ada, bob } = directory;
  /** What people saw of "typing…": its chat, and whether it began or ended. */
  const typed: { readonly user: string; readonly sign: string | undefined }[] = [];
  let drops = 0;
  let logins = 0;
  let wire: Wire | undefined;
  let last: BinaryNode | undefined;
  let work: Promise<unknown> = Promise.resolve();
  const pairing = new Pairing();
  const keys = new DeviceKeys();
  const letters = new Letters(keys);
  const queries = new Queries({ keys, directory, unlinked, port });
  const standing = (line: Wire): void => void (wire = line);

  class Wire {
    readonly #noise = new ServerNoise();
    readonly #socket: WebSocket;
    #steps = 0;
    #order: Promise<unknown> = Promise.resolve();
    constructor(socket: WebSocket) {
      this.#socket = socket;
      socket.on("message", (data: Buffer) => {
        for (const frame of this.#noise.frames(data)) this.#order = this.#order.then(() => this.#take(frame));
      });
    }
    send(node: BinaryNode): void {
      if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(this.#noise.seal(node));
    }
    cut(): void {
      this.#socket.terminate();
    }
    async #take(frame: Buffer): Promise<void> {
      const step = this.#steps++;
      if (step === 0) this.#socket.send(this.#noise.hello(frame));
      else if (step === 1) await this.#login(this.#noise.finish(frame));
      else await answer(this, await this.#noise.open(frame));
    }
    async #login(payload: proto.ClientPayload): Promise<void> {
      if (fake.refusal !== undefined) return this.send({ tag: "failure", attrs: { reason: String(fake.refusal) } });
      if (payload.username == null) {
        const { devicePairingData } = payload;
        return pairing.begin(this, devicePairingData!);
      }
      if (fake.loggedOut) return this.send({ tag: "failure", attrs: { reason: "401" } });
      standing(this);
      logins++;
      this.send({ tag: "success", attrs: { t: seconds(), lid: DEVICE.lid } });
      const held = [...receipts, ...queue];
      for (const { stanza } of held) this.send({ ...stanza, attrs: { ...stanza.attrs, offline: "0" } });
      const count = String(held.length);
      this.send({ tag: "ib", attrs: {}, content: [{ tag: "offline", attrs: { count } }] });
    }
  }

  sockets.on("connection", (socket) => {
    if (drops > 0) {
      drops--;
      return socket.terminate();
    }
    // It lives by the events of its socket.
    // oxlint-disable-next-line no-new
    new Wire(socket);
  });

  async function answer(from: Wire, node: BinaryNode): Promise<void> {
    const { tag, attrs } = node;
    if (tag === "iq") {
      if (attrs["type"] === "result") return pairing.signed(from, node);
      const content = queries.answer(node);
      return from.send({ tag: "iq", attrs: { id: attrs["id"]!, type: "result", from: SERVER }, content });
    }
    if (tag === "message") return written(from, node);
    if (tag === "chatstate") typed.push({ user: userOf(attrs["to"]!), sign: childTag(node) });
    if (tag === "receipt") return receipted(node);
    if (tag === "ack" && attrs["class"] === "receipt") return taken(receipts, attrs["id"]!);
    return tag === "ack" && attrs["class"] === "message" ? refused(node) : undefined;
  }

  function receipted(receipt: BinaryNode): void {
    const { id, type } = receipt.attrs;
    if (type === "retry") return anew(receipt);
    if (type === "read") read.push(id!);
    return taken(queue, id!);
  }

  function refused(node: BinaryNode): void {
    const id = node.attrs["id"]!;
    refusedByClient.push(node);
    // What was asked for again may be here already; the refusal is of what came first.
    const asked = askedAgain.indexOf(id);
    if (asked >= 0) askedAgain.splice(asked, 1);
    else taken(queue, id);
  }

  function taken(from: Queued[], id: string): void {
    const at = from.findIndex((one) => one.id === id);
    if (at >= 0) from.splice(at, 1);
  }

  /** The device could not open a message; its sender's phone seals it again, if it does. */
  function anew(receipt: BinaryNode): void {
    const id = receipt.attrs["id"]!;
    unopened.push(id);
    askedAgain.push(id);
    taken(queue, id);
    work = work.then(async () => {
      const stanza = await letters.again(receipt);
      if (stanza) deliver({ id, stanza });
    });
  }

  function deliver(letter: Queued): void {
    queue.push(letter);
    wire?.send(letter.stanza);
  }

  /** The bot sends something. */
  async function written(from: Wire, node: BinaryNode): Promise<void> {
    const id = node.attrs["id"]!;
    const fault = faults.shift();
    const reply = (error: Record<string, string> = {}): void =>
      from.send({ tag: "ack", attrs: { class: "message", id, from: node.attrs["to"]!, t: seconds(), ...error } });
    if (fault?.kind === "refuse") return reply({ error: String(fault.code) });
    if (fault?.kind === "drop") return from.cut();
    arrived.push(id);
    await show(node);
    if (fault?.kind === "lose") return from.cut();
    if (fault?.kind !== "mute") reply();
  }

  async function show(node: BinaryNode): Promise<void> {
    const { id, to } = node.attrs;
    const group = to!.endsWith("@g.us") ? to : undefined;
    const reader = group === undefined ? directory.find(to!) : ada;
    // What the device tells its own phone is for nobody here.
    if (!reader) return;
    let content: proto.IMessage | undefined = {};
    try {
      for (const sealed of envelopes(node, reader)) content = await reader.open(DEVICE.lid, sealed, group);
    } catch {
      // The reader's phone says so to the device, which it may only hear when it is back.
      const stanza = reader.askAgain(id!, group);
      if (stanza) tell({ id: id!, stanza });
      return;
    }
    if (content) screen.take(id!, group ?? userOf(reader.phone), content);
    else passedOver.push(id!);
  }

  function tell(receipt: Queued): void {
    receipts.push(receipt);
    wire?.send(receipt.stanza);
  }

  /** Somebody sends something. */
  function say(content: WAMessageContent, how: Saying = {}): string {
    const id = how.id ?? randomBytes(8).toString("hex").toUpperCase();
    const by = how.by ?? ada;
    work = work.then(async () => {
      const stanza = await letters.write({ ...how, id, by, content });
      last = stanza;
      deliver({ id, stanza });
    });
    return id;
  }

  const fake = {
    url: `ws://127.0.0.1:${port}/ws/chat`,
    mediaUrl: `http://127.0.0.1:${port}`,
    port,
    ada,
    bob,
    directory,
    pairing,
    shown: screen.shown,
    queue,
    reactions: screen.reactions,
    read,
    unlinked,
    /** Ids of the messages that came, each time that they came. */
    arrived,
    /** The person's phone could not open a message and asks for it again. */
    askAgain: (id: string, group?: string): void => tell({ id, stanza: ada.askAgain(id, group)! }),
    /** A message without its content, as when nobody sealed it for this device. */
    withhold(id: string, by = ada): void {
      const attrs = { id, t: seconds(), type: "text", notify: by.name, from: by.phone, sender_lid: by.lid };
      deliver({ id, stanza: { tag: "message", attrs, content: [{ tag: "unavailable", attrs: {} }] } });
    },
    refusedByClient,
    /** Ids that the device asked for again. */
    unopened,
    /** Ids of the bot that people never see, since their key had opened another message. */
    passedOver,
    loggedOut: false,
    /** The code that every device is turned away with, linked or not (Baileys: `CB:failure`). */
    refusal: undefined as number | undefined,
    say,
    /** Somebody changes the group; the library's `handleGroupNotification` reads it. */
    changeGroup(change: BinaryNode, by = ada): void {
      const attrs = {
        id: randomBytes(8).toString("hex"),
        type: "w:gp2",
        from: GROUP,
        participant: by.phone,
        t: seconds(),
      };
      work = work.then(() => wire?.send({ tag: "notification", attrs, content: [change] }));
    },
    /** Resolves when everything said so far has been sent. */
    async settled(): Promise<void> {
      await work;
    },
    /** The last message once more. */
    redeliver(): void {
      work = work.then(() => last && wire?.send(last));
    },
    fail: (fault: Fault, count = 1): void => void faults.push(...Array.from({ length: count }, () => fault)),
    /** Cuts the connection, and the next ones when they are made. */
    drop(count = 1): void {
      drops += count - 1;
      wire?.cut();
    },
    /** Ends the stream with a code, as the server does: 515, 440, 401 … */
    endStream(code: number): void {
      wire?.send({ tag: "stream:error", attrs: { code: String(code) } });
    },
    typed: (chat: string, sign = "composing"): number =>
      typed.filter((one) => one.user === userOf(chat) && one.sign === sign).length,
    get logins(): number {
      return logins;
    },
    /** Makes a folder that of a linked account. */
    async link(folder: string): Promise<void> {
      const auth = await openAuth(folder, baileys);
      const empty = Buffer.alloc(8);
      const account = { details: empty, accountSignature: empty, accountSignatureKey: empty, deviceSignature: empty };
      Object.assign(auth.creds, {
        me: { id: DEVICE.jid, lid: DEVICE.lid, name: DEVICE.name },
        account,
        registered: true,
      });
      auth.save();
      keys.link(auth.creds);
      auth.close();
    },
    openUpload: (file: Located, info: string): Buffer => media.openUpload(file, info),
    sealFile: (bytes: Uint8Array, info: string) => media.sealFile(bytes, info),
    async close(): Promise<void> {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

const childTag = ({ content }: BinaryNode): string | undefined =>
  Array.isArray(content) && typeof content[0] === "object" && "tag" in content[0] ? content[0].tag : undefined;
