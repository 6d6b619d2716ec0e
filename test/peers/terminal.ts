import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { PATIENCE_MS } from "../kit/gateway/process.ts";
import { until } from "../kit/until.ts";

/** The program of OpenClaw that `npm run peers` installs. */
const PROGRAM = process.env["OPENCLAW_FIELD"];
const hasTmux = spawnSync("tmux", ["-V"]).status === 0;

/** Why there is no terminal with OpenClaw's client; undefined when there is one. */
export const noTui = whyNot();

function whyNot(): string | undefined {
  if (PROGRAM === undefined) return "OpenClaw is installed by `npm run peers`";
  return hasTmux ? undefined : "tmux, in which the client runs, is not installed";
}

/** A line of the frame around the field for messages. */
const FRAME = /^─{20,}/;

/** OpenClaw's client for the terminal, in a terminal of its own. */
export class Tui {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  /** Begins, and waits for the connection. */
  static async open(url: string, token: string): Promise<Tui> {
    const tui = new Tui(await mkdtemp(join(tmpdir(), "tui-")));
    const command = [process.execPath, PROGRAM ?? "", "tui", "--url", url, "--token", token];
    tui.#tmux("new-session", "-d", "-x", "120", "-y", "50", ...command, ";", "set", "remain-on-exit", "on");
    await tui.shows(/gateway connected/);
    return tui;
  }

  #tmux(...args: readonly string[]): string {
    const env = { PATH: process.env["PATH"], HOME: this.#dir, TERM: "xterm-256color", LANG: "C.UTF-8" };
    const own = ["-S", join(this.#dir, "tmux"), "-f", "/dev/null"];
    return execFileSync("tmux", [...own, ...args], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** The text on the screen, without blanks at the ends of lines. */
  get screen(): string {
    return this.#tmux("capture-pane", "-p")
      .split("\n")
      .map((line) => line.trimEnd())
      .filter((line) => line !== "")
      .join("\n");
  }

  /** Waits until the screen fits. */
  async shows(what: RegExp | string | ((screen: string) => boolean)): Promise<string> {
    const fits = (text: string) => {
      if (typeof what === "function") return what(text);
      return typeof what === "string" ? text.includes(what) : what.test(text);
    };
    let last = "";
    const look = () => {
      last = this.screen;
      return fits(last);
    };
    try {
      await until(look, "the screen", PATIENCE_MS);
    } catch {
      throw new Error(`The screen never had ${String(what)}. It has:\n${last}`);
    }
    return last;
  }

  press(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** Writes a message and sends it. */
  async say(text: string): Promise<void> {
    this.#tmux("send-keys", "-l", text);
    await this.shows(() => unspaced(this.#written).includes(unspaced(text)));
    // Keys that come fast are taken for a text that is pasted: then Enter begins a new line, and is repeated.
    let pressed = 0;
    await this.shows(() => {
      if (this.#written === "") return true;
      if (Date.now() - pressed > ENTER_EVERY_MS) {
        this.press("Enter");
        pressed = Date.now();
      }
      return false;
    });
  }

  /** The text in the field for messages. */
  get #written(): string {
    const lines = this.screen.split("\n");
    const frame = lines.flatMap((line, at) => (FRAME.test(line) ? [at] : []));
    const [top = 0, bottom = 0] = frame.slice(-2);
    return lines
      .slice(top + 1, bottom)
      .join("\n")
      .trim();
  }

  /** Ends it as a person does, and waits for its end. */
  async leave(): Promise<void> {
    await this.say("/exit");
    await until(() => this.#tmux("list-panes", "-F", "#{pane_dead}").trim() === "1", "the client to end", PATIENCE_MS);
  }

  async close(): Promise<void> {
    try {
      this.#tmux("kill-server");
    } catch {
      // It has ended already.
    }
    await rm(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A long text has breaks where the field ends. */
const unspaced = (text: string) => text.replaceAll(/\s+/g, "");

/** Milliseconds between two presses of Enter. */
const ENTER_EVERY_MS = 1500;
