import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";

export interface SilentGateway {
  readonly url: string;
  /** How many there ever were. */
  readonly connections: () => number;
  readonly close: () => void;
}

/** A gateway that sends no HELLO and, unless it `answers`, not even the end of the handshake. It never closes a connection. */
export async function silentGateway(answers: boolean): Promise<SilentGateway> {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const open: Duplex[] = [];
  server.on("upgrade", (request, socket, head) => {
    open.push(socket);
    // Paused, so that it answers no CLOSE.
    if (answers) sockets.handleUpgrade(request, socket, head, () => socket.pause());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    connections: () => open.length,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
