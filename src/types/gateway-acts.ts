import type { RunId, SessionKey } from "./ids.ts";

/** A change of the config: a key's path and its new value; undefined removes the key. */
export interface ConfigEdit {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

/**
 * Operations on the gateway's program for agents of owners. A path has the form that people write:
 * `agents.defaults.model`.
 */
export interface GatewayActs {
  /** A part of the config without its secrets, and the hash of the file. A string says why there is none. */
  config(path: string): Promise<{ readonly hash: string; readonly value: unknown } | string>;
  /** The JSON Schema of a key, and the names of the keys below it. A string says why there is none. */
  schema(path: string): Promise<Readonly<Record<string, unknown>> | string>;
  /**
   * Changes that `text` would make: with `whole` the text is the new config, else a JSON merge patch of it.
   * Placeholders of secrets and values that stay as they are change nothing. A string says why the text cannot be used.
   */
  edits(text: string, options: { readonly whole: boolean }): Promise<readonly ConfigEdit[] | string>;
  /** Changes the file in one step, validated as a whole, if it still has the hash. Returns why it is refused. */
  write(edits: readonly ConfigEdit[], baseHash: string): Promise<string | undefined>;
  /**
   * Restarts the gateway after `delayMs`. The session learns of it in its next turn, and the chat when the gateway is
   * back. Returns why the restart is refused. A run whose messages caused a restart causes no other one.
   */
  restart(asked: {
    readonly runId: RunId;
    readonly sessionKey: SessionKey;
    readonly note?: string;
    readonly delayMs: number;
  }): Promise<string | undefined>;
}
