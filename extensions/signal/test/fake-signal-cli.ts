/**
 * `link` shows an address and is linked at once; with LINK=refused the phone says no.
 * A program that takes signal-cli's arguments (man page signal-cli(1)) and serves the fake: `-a ACCOUNT daemon --http
 * HOST:PORT …`. `-a ACCOUNT listDevices` waits with SIGNAL_LOCK=held and
 * fails with SIGNAL_DEVICES=network. Accounts that end in 0000 are unknown. The daemon says hello with its process id; with SIGNAL_SERVER
 * it receives from a `SignalServer` instead. While the file that SIGNAL_HANGS names exists, it starts and never listens. With
 * SIGNAL_VERSION=old its events have no ids. SIGNAL_LAST is what arrives as it is asked to end.
 */
import { existsSync } from "node:fs";
import { startFakeSignal, SELF } from "./fake-signal.ts";
import type { FakeSignal } from "./fake-signal.ts";
import { receiver, register } from "./signal-server.ts";

// Like Java, it does not end when its error output is closed.
process.stderr.on("error", () => undefined);

const isOld = process.env["SIGNAL_VERSION"] === "old";

const [flag, account = ""] = process.argv.slice(2);
if (flag === "--version") {
  process.stdout.write(`signal-cli ${isOld ? "0.13.18" : "0.14.1"}\n`);
} else if (flag === "link") {
  process.stdout.write("sgnl://linkdevice?uuid=X&pub_key=X\n");
  if (process.env["LINK"] === "refused") process.stderr.write("Link request error: Connection closed!\n");
  else process.stdout.write(`Associated with: ${SELF.number}\n`);
} else if (account.endsWith("0000")) {
  process.stderr.write("INFO  AccountHelper - looking\n");
  process.stderr.write(`User ${account} is not registered.\n`);
  process.exitCode = 1;
} else if (process.argv.includes("listDevices")) {
  if (process.env["SIGNAL_LOCK"] === "held") {
    process.stderr.write("INFO  SignalAccount - Config file is in use by another instance, waiting…\n");
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
  const isBroken = process.env["SIGNAL_DEVICES"] === "network";
  process.stderr.write(isBroken ? "Failed to get linked devices: Connection refused\n" : "");
  process.exitCode = isBroken ? 3 : 0;
} else if (existsSync(process.env["SIGNAL_HANGS"] ?? "")) {
  setInterval(() => undefined, 60_000);
} else {
  const address = process.argv[process.argv.indexOf("--http") + 1] ?? "";
  const server = process.env["SIGNAL_SERVER"];
  if (server !== undefined) await register(Number(server));
  const receiving =
    server === undefined ? undefined : receiver(Number(server), () => (envelope) => fake.emit(envelope));
  const fake: FakeSignal = await startFakeSignal({
    port: Number(address.split(":").at(-1)),
    keepAliveMs: 1000,
    withoutIds: isOld,
    ...(receiving && { receiving }),
  });
  process.stderr.write(`INFO  HttpServerHandler - Started HTTP server on ${address}\n`);
  const last = process.env["SIGNAL_LAST"];
  process.once("SIGTERM", () => {
    if (last !== undefined) fake.say(last, {}, { account: SELF.number });
    void fake.end().then(() => process.exit(143));
  });
  if (server === undefined) {
    fake.say(`hello from ${process.pid} with ${process.argv.slice(2).join(" ")}`, {}, { account: SELF.number });
  } else if (process.argv.includes("on-start")) receiving?.(true);
}
