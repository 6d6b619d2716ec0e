import { OpenClawError } from "../../types/errors.ts";
import type { Env } from "../../utils/env.ts";

/** The gateway as a service manager starts it. */
export interface ServicePlan {
  /** Distinguishes the services of several state directories; unset for `~/.openclaw`. */
  readonly profile?: string;
  readonly stateDir: string;
  /** Program and arguments, absolute. */
  readonly argv: readonly string[];
  /** Variables without secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** File of `NAME=value` lines with the variables that are secrets; it need not be there. */
  readonly secretsFile: string;
}

/** A service as its manager sees it. */
export interface ServiceState {
  readonly running: boolean;
  /** It starts with the machine or the login. */
  readonly enabled: boolean;
  readonly pid?: number;
  /** The manager's own words for the state. */
  readonly detail: string;
  /** SERVICE_UNSUPPORTED: the manager takes no orders of this user, as systemd in a container. */
  readonly unheard?: OpenClawError;
}

/** A program of the service manager has ended. */
export interface Ran {
  readonly code: number;
  readonly out: string;
}

/** What a manager needs of the machine. */
export interface ServiceScene {
  readonly env: Env;
  readonly home: string;
  readonly uid: number;
  readonly user: string;
  /** Runs a program. Rejects with SERVICE_MANAGER_MISSING when it is not there. */
  run(argv: readonly string[]): Promise<Ran>;
}

/** The service manager of a system. Methods reject with `OpenClawError` SERVICE_FAILED with the manager's words. */
export interface ServiceManager {
  /** The name of the service for its manager. */
  readonly name: string;
  /** What the manager is called. */
  readonly kind: string;
  /** File in which the service is written. */
  readonly file: string;
  /** Other files that belong to it, with their modes. */
  files(plan: ServicePlan): readonly { readonly path: string; readonly mode: number; readonly text: string }[];
  /**
   * Makes the manager know the written files, and start the service with the machine or the login. Resolves with lines for a
   * person.
   */
  enable(): Promise<readonly string[]>;
  start(): Promise<void>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  disable(): Promise<void>;
  /** Makes the manager forget the service, once its files are gone. One that takes no orders knows of no service. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
  /** The command that shows why a start failed. */
  readonly logCommand: string;
}

/** Marks a file that this program has written. */
export const SERVICE_MARK = "Written by claw-gateway";

/** Throws SERVICE_FAILED with the manager's words when the program did not end with 0. */
export function must({ code, out }: Ran, argv: readonly string[], fix: string): void {
  if (code === 0) return;
  throw new OpenClawError("SERVICE_FAILED", {
    message: `\`${argv.join(" ")}\` ended with ${code}: ${out.trim() || "no message"}`,
    fix,
  });
}

/** Text of an XML document. */
export const xmlText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
