import net from "node:net";
import type { AddressInfo } from "node:net";

/** A line between the gateway and a platform that a test can spoil. Bytes go through as they are. */
export interface Relay {
  readonly port: number;
  /** While true, nothing that the gateway says arrives, now or later. */
  isDeaf: boolean;
  /** Milliseconds that each piece of an answer is held back. */
  delayMs(): number;
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

export async function openRelay(target: number | (() => number), delayMs: () => number = () => 0): Promise<Relay> {
  const ends = new Set<net.Socket>();
  const targetPort = typeof target === "number" ? () => target : target;
  const server = net.createServer((gateway) => {
    const platform = net.connect(targetPort(), "127.0.0.1");
    join(gateway, platform, ends);
    gateway.on("data", (bytes) => {
      if (!wire.isDeaf) platform.write(bytes);
    });
    carry(platform, gateway, wire);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const end of ends) end.destroy();
  };
  const wire: Relay = {
    port: (server.address() as AddressInfo).port,
    isDeaf: false,
    delayMs,
    cut,
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return wire;
}

/** The end of one is the end of the other. */
function join(gateway: net.Socket, platform: net.Socket, ends: Set<net.Socket>): void {
  for (const [end, other] of [
    [gateway, platform],
    [platform, gateway],
  ] as const) {
    ends.add(end);
    end.setNoDelay(true);
    // Either side may break; that is what the line is for.
    end.on("error", () => undefined);
    end.on("end", () => other.end());
    end.on("close", () => {
      ends.delete(end);
      other.destroySoon();
    });
  }
}

/** Answers in their order, however long each is held back. */
function carry(platform: net.Socket, gateway: net.Socket, wire: Pick<Relay, "delayMs">): void {
  let last: Promise<unknown> = Promise.resolve();
  let held = 0;
  platform.on("data", (bytes) => {
    const delay = wire.delayMs();
    if (delay === 0 && held === 0) {
      gateway.write(bytes);
      return;
    }
    held += 1;
    last = last
      .then(() => new Promise((resolve) => setTimeout(resolve, delay)))
      .then(() => {
        held -= 1;
        if (!gateway.destroyed) gateway.write(bytes);
      });
  });
}
