import { once } from "node:events";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { processStart } from "openclaw/plugin-sdk";
import { sender } from "./fake-signal.ts";
import type { FakeSignal } from "./fake-signal.ts";
import type { Params } from "./signal-account.ts";

/** Signal itself, which outlives every signal-cli: it keeps what no signal-cli has acknowledged. */
export class SignalServer {
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #queue: { readonly number: number; readonly envelope: Params }[] = [];
  readonly #open = new Set<Socket>();
  readonly #pids = new Set<number>();
  #number = 0;
  #changed: () => void = () => undefined;

  static async start(): Promise<SignalServer> {
    const server = new SignalServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  /** For the fake program. */
  get env(): Record<string, string> {
    return { SIGNAL_SERVER: String((this.#server.address() as AddressInfo).port) };
  }

  /** The number of messages that no signal-cli has acknowledged. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** The process ids of the signal-clis that were started for it and are running. */
  async signalClis(): Promise<readonly number[]> {
    // A process that has ended stays in the list of the system until its parent, which may be anybody, asks for its exit code.
    const running = await Promise.all([...this.#pids].map(async (pid) => ((await processStart(pid)) ? pid : [])));
    return running.flat();
  }

  /** Ada writes. */
  say(text: string): void {
    const timestamp = Date.now() + this.#number;
    const dataMessage = { timestamp, message: text, expiresInSeconds: 0, viewOnce: false };
    const message = { number: ++this.#number, envelope: { ...sender(timestamp), dataMessage } };
    this.#queue.push(message);
    for (const socket of this.#open) socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Resolves when a signal-cli has acknowledged so many messages. */
  async acknowledged(count: number): Promise<void> {
    while (this.#number - this.#queue.length < count) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Ends the signal-clis too, which outlive a killed gateway. */
  async close(): Promise<void> {
    for (const pid of await this.signalClis()) if (isAlive(pid)) process.kill(pid, "SIGKILL");
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#open.add(socket);
    socket.on("close", () => this.#open.delete(socket));
    socket.on("error", () => socket.destroy());
    for (const message of this.#queue) socket.write(`${JSON.stringify(message)}\n`);
    createInterface({ input: socket }).on("line", (line) => {
      const pid = /^pid (\d+)$/.exec(line)?.[1];
      if (pid !== undefined) return void this.#pids.add(Number(pid));
      const at = this.#queue.findIndex(({ number }) => number === Number(line));
      if (at !== -1) this.#queue.splice(at, 1);
      this.#changed();
    });
  }
}

/** Tells the server that this signal-cli was started. */
export async function register(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  // What is waiting is sent to each connection; this one takes nothing.
  socket.resume();
  socket.end(`pid ${process.pid}\n`);
  await once(socket, "close");
}

/** What a signal-cli does to receive: it acknowledges a message to Signal when it has it in its memory. */
export function receiver(port: number, emit: () => FakeSignal["emit"]): (isReceiving: boolean) => void {
  let socket: Socket | undefined;
  return (isReceiving) => {
    socket?.destroy();
    socket = undefined;
    if (!isReceiving) return;
    const opened = connect(port, "127.0.0.1");
    socket = opened;
    opened.on("error", () => opened.destroy());
    createInterface({ input: opened }).on("line", (line) => {
      const { number, envelope } = JSON.parse(line) as { number: number; envelope: Params };
      emit()(envelope);
      opened.write(`${number}\n`);
    });
  };
}

/** Writes an executable that runs the fake program. Gives its path. */
export async function writeFakeProgram(folder: string): Promise<string> {
  const file = path.join(folder, "signal-cli");
  const program = path.join(import.meta.dirname, "fake-signal-cli.ts");
  await writeFile(file, `#!/bin/sh\nexec "${process.execPath}" --no-warnings "${program}" "$@"\n`);
  await chmod(file, 0o700);
  return file;
}

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
