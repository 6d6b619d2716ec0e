import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { OpenClawError } from "../../../../types/errors.ts";
import { packageRoot } from "../../../package-root.ts";
import type { Io } from "../../io.ts";
import { readState } from "../../state.ts";
import { awaitHealth } from "./health.ts";

/**
 * A gateway that runs for as long as the set-up needs one, where no other runs on the state directory. It ends with this process in
 * whatever way that ends, because the pipe between them closes then.
 */
export class Companion {
  #child: ChildProcess | undefined;

  /** Starts it unless a gateway runs. Throws GATEWAY_UNREACHABLE when it does not get well. */
  async start(io: Io): Promise<void> {
    if ((await readState(io)).owner !== undefined) return;
    const child = spawn(
      process.execPath,
      [join(packageRoot, "bin", "openclaw.mjs"), "gateway", "run", "--end-with", "stdin"],
      {
        env: { ...io.env },
        stdio: ["pipe", "ignore", "ignore"],
      },
    );
    this.#child = child;
    // It closes when the gateway ends first, which the wait below tells of.
    child.stdin.on("error", () => undefined);
    const failed = new Promise<never>((_resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => reject(notStarted(`it ended with code ${code ?? "none"}`)));
    });
    // The gateway may also end later, when nobody waits for its start any more.
    failed.catch(() => undefined);
    const health = await Promise.race([awaitHealth(io, START_MS), failed]);
    if (health.kind !== "ok") throw notStarted(health.kind === "ill" ? health.why : "it did not start");
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Ends it in order, if it was started here. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill();
    await ended;
  }
}

/** Milliseconds in which it takes the state directory. */
const START_MS = 30_000;

const notStarted = (why: string): OpenClawError =>
  new OpenClawError("GATEWAY_UNREACHABLE", {
    message: `The gateway did not start for the set-up: ${why}.`,
    fix: "See openclaw doctor, or start it in another terminal: openclaw gateway run",
  });
