import { isDiskError } from "../../../store/disk.ts";
import type { Clock } from "../../../types/clock.ts";
import type { OpenClawError } from "../../../types/errors.ts";
import type { Log } from "../../../types/log.ts";

/**
 * Milliseconds without a failed write before the disk counts as writable again: a waiting turn tries every two seconds.
 */
const QUIET_MS = 5000;

export interface DiskStatePorts {
  /**
   * Tests the state directory with a write. Resolves with the reason why it cannot be written now, else undefined.
   * Never rejects.
   */
  probe(): Promise<OpenClawError | undefined>;
  readonly log: Pick<Log, "info" | "error">;
  readonly clock: Pick<Clock, "now">;
}

/** State of the disk. Messages wait for the disk from a failed write until a probe succeeds after a quiet moment. */
export class DiskState {
  readonly #ports: DiskStatePorts;
  #refusal: { readonly error: OpenClawError; readonly at: number } | undefined;

  constructor(ports: DiskStatePorts) {
    this.#ports = ports;
  }

  /** Notes a failed write. Errors that do not concern the disk change nothing. */
  refused(error: unknown): void {
    if (!isDiskError(error)) return;
    if (!this.#refusal) this.#ports.log.error("the disk takes no writes", { error });
    this.#refusal = { error, at: this.#ports.clock.now() };
  }

  get takesWrites(): boolean {
    return this.#refusal === undefined;
  }

  /** The problem and its fix in one line; undefined while the disk can be written. */
  get problem(): string | undefined {
    if (!this.#refusal) return undefined;
    const { message, fix } = this.#refusal.error;
    return `Messages wait for the disk: ${message} ${fix}`;
  }

  /** Tests the disk with a write. Never rejects. */
  async look(): Promise<void> {
    const error = await this.#ports.probe();
    if (error) return this.refused(error);
    if (!this.#refusal || this.#ports.clock.now() - this.#refusal.at < QUIET_MS) return;
    this.#refusal = undefined;
    this.#ports.log.info("the disk takes writes again");
  }
}
