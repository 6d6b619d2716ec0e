import { spawn, type IPty } from "@lydell/node-pty";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished, vi } from "vitest";
import type { Home } from "../../kit/gateway/process.ts";
import { COMPILED } from "../../kit/gateway/compiled.ts";
import { PATIENCE } from "../../kit/gateway/process.ts";

const BIN = join(import.meta.dirname, "../../../bin/openclaw.mjs");

/** A person at a terminal: reads what a command shows, and types. */
export class Person {
  readonly #pty: IPty;
  #shown = "";
  #read = 0;
  /** Keys that were pressed. A pasted text is one. */
  keys = 0;
  code: number | undefined;
  readonly begun = performance.now();

  constructor(home: Home, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
    this.#pty = spawn(process.execPath, [BIN, ...args], {
      name: "xterm-256color",
      cols: 120,
      rows: 40,
      cwd: home.dir,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: home.dir,
        OPENCLAW_STATE_DIR: home.stateDir,
        OPENCLAW_CONFIG_PATH: home.configPath,
        TERM: "xterm-256color",
        ...COMPILED,
        ...more,
      },
    });
    this.#pty.onData((text) => (this.#shown += text));
    this.#pty.onExit(({ exitCode }) => (this.code = exitCode));
    onTestFinished(() => this.kill());
  }

  /** Everything that was shown, without colours and movements. */
  get all(): string {
    return stripVTControlCharacters(this.#shown);
  }

  /** Waits for a text after those that were read before. */
  async reads(pattern: RegExp): Promise<string> {
    return vi.waitFor(() => {
      const unread = this.all.slice(this.#read);
      const match = pattern.exec(unread);
      if (!match) throw new Error(`not shown: ${pattern}\n${unread.slice(-1500)}`);
      this.#read += match.index + match[0].length;
      return match[0];
    }, PATIENCE);
  }

  press(key: string): void {
    this.keys += 1;
    this.#pty.write(key);
  }

  enter(): void {
    this.press("\r");
  }

  /** Pastes a text and confirms it. */
  answer(text: string): void {
    if (text !== "") this.press(text);
    this.enter();
  }

  /** Moves down to an entry of the list that is shown, and chooses it. */
  async pick(label: string): Promise<void> {
    const isAt = () => lastMark(this.all).includes(label);
    for (let moves = 0; !isAt() && moves < 40; moves += 1) {
      const before = this.#shown.length;
      this.press("\u001b[B");
      await vi.waitFor(() => {
        if (this.#shown.length === before) throw new Error(`the list does not move to ${label}`);
      }, PATIENCE);
    }
    if (!isAt()) throw new Error(`no entry ${label}:\n${this.all.slice(-1500)}`);
    this.enter();
  }

  async ended(): Promise<number> {
    return vi.waitFor(() => {
      if (this.code === undefined) throw new Error(`it goes on:\n${this.all.slice(-1500)}`);
      return this.code;
    }, PATIENCE);
  }

  kill(signal: "SIGKILL" | "SIGHUP" = "SIGKILL"): void {
    if (this.code === undefined) process.kill(this.#pty.pid, signal);
  }
}

/** The line of the entry at which the list is. */
const lastMark = (text: string): string => /.*●(.*)/s.exec(text)?.[1]?.split("\n")[0] ?? "";

export const ESCAPE = "\u001b";
export const CTRL_C = "\u0003";
