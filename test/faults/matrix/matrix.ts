import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { startFakeModel, type FakeModel, type ModelCall, type ModelReply } from "../../fakes/model.ts";
import { isUp, makeHome, type GatewayUnderTest, type Home } from "../../kit/gateway/process.ts";
import { STEPS, type Cell, type Row, type Step } from "./matrix-table.ts";
import type { KilledPlatform } from "../platforms/platform.ts";
import { journalRows, readTranscript, textOf } from "../fixture.ts";

const PATIENCE_MS = 30_000;
const LABEL = "(possible repeat) ";
const CHATS = [0, 1] as const;

interface Said {
  readonly mark: string;
  readonly chat: 0 | 1;
  readonly step: Step;
}

/** What the chat must show of a message. In parts where the answer has several blocks. */
function piecesOf(said: Said): readonly string[] {
  const { mark, step } = said;
  if (isPreview(step)) return [`${headOf(said)} the rest of it is written END`];
  if (!isInBlocks(step)) return [`answer to ${mark} END`];
  return ["one", "two", "three"].map((part) => `part ${part} of the long answer that was given to ${mark} END`);
}

/** What a preview shows of its answer. */
const headOf = ({ mark }: Said): string => `of the answer to ${mark} this much is read while`;

/** The pieces that the first part of an answer does not have. */
function restBehind(before: string, all: readonly Said[]): string {
  const half = all.findLast((said) => isPreview(said.step) && before.includes(headOf(said)));
  if (half) return piecesOf(half)[0]?.replace(headOf(half), "") ?? "";
  const said = all.findLast(({ mark }) => before.includes(`${mark} END`));
  return said
    ? piecesOf(said)
        .filter((piece) => !before.includes(piece))
        .join("\n\n")
    : "nothing was said before";
}

const isPreview = (step: Step): boolean => step === "preview sent" || step === "preview shown";
const isInBlocks = (step: Step): boolean => step === "first block sent" || step === "last block sent";

type Streaming = { readonly mode: "partial" | "block"; readonly nativeTransport?: boolean };

/** As it is unless it is set otherwise, with previews that are messages everywhere, and without previews. */
const ROUNDS: readonly { readonly streaming: Streaming; has(step: Step): boolean }[] = [
  { streaming: { mode: "partial" }, has: (step) => !isInBlocks(step) && step !== "preview sent" },
  { streaming: { mode: "partial", nativeTransport: false }, has: isPreview },
  { streaming: { mode: "block" }, has: isInBlocks },
];

/** One platform and one state directory; gateways come, are killed and are followed by others. */
export class Matrix {
  readonly #platform: KilledPlatform;
  readonly #model: FakeModel;
  readonly #home: Home;
  readonly #said: Said[] = [];
  #gateway: GatewayUnderTest | undefined;
  /** The kill has struck: from now on the model answers all that it is asked. */
  #isOver = true;
  #strike: (text: string) => void = () => undefined;

  constructor(platform: KilledPlatform, model: FakeModel, home: Home) {
    this.#platform = platform;
    this.#model = model;
    this.#home = home;
    model.answer((call) => this.#answer(call));
    platform.onShown((text) => this.#strike(text));
  }

  /** Kills at each step that the platform has. */
  async run(row: Row): Promise<Row> {
    const found: Partial<Record<Step, Cell>> = {};
    for (const [round, { streaming, has }] of ROUNDS.entries()) {
      if (round > 0) expect(await this.#gateway?.kill("SIGTERM")).toBe(0);
      await this.#configure(streaming);
      await this.#start();
      if (round === 0) await this.#warmUp();
      for (const step of STEPS.filter((each) => has(each) && row[each] !== "n.a.")) {
        const cell = await this.#kill(step);
        found[step] = found[step] === "labelled" ? "labelled" : cell;
      }
    }
    expect(await this.#gateway?.kill("SIGTERM")).toBe(0);
    await this.#expectTranscripts();
    return { ...row, ...found };
  }

  /** What came while nobody listened is asked for in chats that were heard before. */
  async #warmUp(): Promise<void> {
    this.#isOver = true;
    for (const chat of CHATS) this.#say(chat, "update received");
    await this.#settled();
  }

  async #configure(streaming: Streaming): Promise<void> {
    const { id, channel } = this.#platform;
    const open = { enabled: true, dmPolicy: "open", allowFrom: ["*"], streaming };
    const provider = {
      baseUrl: this.#model.url,
      apiKey: "x",
      api: "openai-completions",
      models: [{ id: "fake-1", contextWindow: 100_000, maxTokens: 4096 }],
    };
    await this.#home.writeConfig({
      models: { providers: { fake: provider } },
      agents: {
        defaults: {
          model: { primary: "fake/fake-1" },
          // What its tools change is counted outside of a sandbox.
          sandbox: { mode: "off" },
          blockStreamingChunk: { minChars: 40, maxChars: 200, breakPreference: "paragraph" },
        },
      },
      messages: { queue: { mode: "followup", debounceMs: 0 } },
      tools: { exec: { security: "full", ask: "off" } },
      session: { dmScope: "per-channel-peer" },
      ...(channel && { channels: { [id]: { ...channel, ...open } } }),
    });
  }

  async #start(): Promise<void> {
    this.#platform.reconnect();
    const gateway = await this.#home.start(this.#platform.env ? { env: { ...this.#platform.env } } : {});
    this.#gateway = gateway;
    await this.#platform.started?.(gateway);
    if (this.#platform.channel) await gateway.logged(isUp(this.#platform.id), PATIENCE_MS);
    await this.#until("listening", () => this.#platform.isListening());
  }

  /** The step is reached, the gateway killed and started again, and all is as it must be. */
  async #kill(step: Step): Promise<Cell> {
    const offsets = step === "update received" ? [0, 3, 9] : [0];
    const cells: Cell[] = [];
    for (const offset of offsets) {
      const aimed = await this.#strikeAt(step, offset);
      this.#platform.reconnect();
      await this.#start();
      await this.#settled();
      cells.push(await this.#judge(aimed));
    }
    return cells.includes("labelled") ? "labelled" : "once";
  }

  /** Three messages in two chats; the first is the one that the kill is aimed at. */
  async #strikeAt(step: Step, offset: number): Promise<Said> {
    this.#isOver = false;
    const gateway = this.#running;
    const from = gateway.lines.length;
    const next = (msg: string) =>
      gateway.logged((line) => line["msg"] === msg && gateway.lines.indexOf(line) >= from, PATIENCE_MS);
    const calls = this.#model.calls.length;
    if (step === "committed") this.#platform.deafen();
    const [aimed, other, last] = ([0, 1, 0] as const).map((chat) => this.#say(chat, step));
    if (!aimed || !other || !last) throw new Error("nothing said");
    const seen = (words: string): Promise<void> =>
      new Promise((resolve) => {
        this.#strike = (text) => {
          if (!text.includes(words)) return;
          gateway.signal("SIGKILL");
          resolve();
        };
      });
    const moments: Readonly<Record<Step, () => Promise<unknown>>> = {
      "update received": () => new Promise((resolve) => setTimeout(resolve, offset)),
      committed: () => this.#until("committed", () => this.#rowsWith(aimed.mark) > 0),
      acknowledged: () => this.#until("acknowledged", () => this.#platform.unacknowledged?.() === 0),
      admitted: () => next("received"),
      "run started": () => this.#model.called(calls + 1, PATIENCE_MS),
      "tool run": () => this.#until("tool run", () => existsSync(this.#file(`began-${aimed.mark}`))),
      "preview sent": () => seen(headOf(aimed)),
      "preview shown": () => this.#until("preview shown", () => this.#showsHalf(aimed)),
      "first block sent": () =>
        this.#platform.channel ? next("delivered") : seen(piecesOf(aimed)[0] ?? "").then(() => undefined),
      "last block sent": () => seen(piecesOf(aimed).at(-1) ?? ""),
      "row marked": () => next("delivered"),
    };
    await moments[step]();
    if (step === "committed") expect(this.#platform.unacknowledged?.()).not.toBe(0);
    await gateway.kill("SIGKILL");
    this.#strike = () => undefined;
    this.#isOver = true;
    return aimed;
  }

  #say(chat: 0 | 1, step: Step): Said {
    const said: Said = { mark: `no${this.#said.length}.`, chat, step };
    this.#said.push(said);
    this.#platform.say(chat, `please ${said.mark}`);
    return said;
  }

  #answer(call: ModelCall): ModelReply {
    const lastAnswer = call.messages.findLastIndex(({ role, tool_calls: calls }) => role === "assistant" && !calls);
    const asked = JSON.stringify(call.messages.slice(lastAnswer + 1).filter(({ role }) => role === "user"));
    const before = JSON.stringify(call.messages[lastAnswer]?.content ?? "");
    if (asked.includes("Go on exactly")) return { text: restBehind(before, this.#said) };
    const said = this.#said.findLast(({ mark }) => asked.includes(mark));
    if (!said) return { text: `nothing was asked: ${asked}` };
    const pieces = piecesOf(said);
    if (!this.#isOver && this.#isAimed(said)) return this.#answerAimed(said, call.isAfterTool);
    if (!this.#isOver) return "hang";
    if (said.step === "tool run" && !call.isAfterTool) return run(`echo ${said.mark} >> ran.txt`);
    return { text: pieces.join("\n\n") };
  }

  #answerAimed(said: Said, isAfterTool: boolean): ModelReply {
    const [first = "", ...others] = piecesOf(said);
    switch (said.step) {
      case "tool run":
        if (isAfterTool) return "hang";
        return run(`echo ${said.mark} >> ran.txt && touch began-${said.mark} && sleep 2`);
      case "preview sent":
      case "preview shown":
        return { text: headOf(said), ending: "stall", pingMs: 20 };
      case "first block sent":
        return { text: `${first}\n\n${others[0] ?? ""}`, ending: "stall", pingMs: 20 };
      case "last block sent":
      case "row marked":
        return { text: [first, ...others].join("\n\n") };
      default:
        return "hang";
    }
  }

  /** The first message of the last three. */
  #isAimed(said: Said): boolean {
    return said === this.#said.at(-3);
  }

  async #settled(): Promise<void> {
    await this.#until("answered", async () => {
      for (const said of this.#said.slice(-3)) {
        const shown = await this.#platform.shown(said.chat);
        if (!piecesOf(said).every((piece) => shown.some((text) => text.includes(piece)))) return false;
      }
      return this.#openRows() === 0 && (this.#platform.unacknowledged?.() ?? 0) === 0;
    });
  }

  /** Nothing lost, nothing doubled without its label, nothing out of order. Gives what became of the one that was aimed at. */
  async #judge(aimed: Said): Promise<Cell> {
    let cell: Cell = "once";
    for (const chat of CHATS) {
      const shown = await this.#platform.shown(chat);
      const wanted = this.#said.filter((said) => said.chat === chat).flatMap((said) => piecesOf(said));
      const plain = wanted.map((piece) => shown.filter((text) => text.includes(piece) && !text.startsWith(LABEL)));
      expect(
        wanted.filter((_piece, at) => (plain[at]?.length ?? 0) > 1),
        `chat ${chat}: twice without a label`,
      ).toEqual([]);
      const places = wanted.map((piece) => shown.findIndex((text) => text.includes(piece)));
      expect(places, `chat ${chat}: order of ${JSON.stringify(shown)}`).toEqual(places.toSorted((a, b) => a - b));
      const isLabelled = piecesOf(aimed).some((piece) =>
        shown.some((text) => text.startsWith(LABEL) && text.includes(piece)),
      );
      if (chat === aimed.chat && isLabelled) cell = "labelled";
    }
    if (isPreview(aimed.step)) await this.#expectNoHalf(aimed);
    for (const { mark } of this.#said) expect(this.#rowsWith(mark), `${mark} in the journal`).toBe(1);
    if (aimed.step === "tool run") await this.#expectToolsRanOnce();
    return cell;
  }

  /** A message that the gateway knows, or what goes away by itself. */
  async #showsHalf(said: Said): Promise<boolean> {
    const half = headOf(said);
    if (this.#platform.growing?.(said.chat)?.includes(half)) return true;
    const shown = await this.#platform.shown(said.chat);
    const noted = "SELECT count(*) AS n FROM preview JOIN inbox ON inbox.id = inbox_id";
    const isNoted = this.#count(`${noted} WHERE message_id <> '' AND instr(message, ?) > 0`, `please ${said.mark}`);
    return isNoted > 0 && shown.some((text) => text.includes(half));
  }

  /** Beside the whole answer there is no part of it, unless the whole says that it may repeat. */
  async #expectNoHalf(said: Said): Promise<void> {
    const shown = (await this.#platform.shown(said.chat)).filter((text) => text.includes(headOf(said)));
    const plain = shown.filter((text) => !text.startsWith(LABEL));
    expect(plain.length, `one answer in two texts: ${JSON.stringify(shown)}`).toBeLessThanOrEqual(1);
    expect(this.#platform.growing?.(said.chat)).toBeUndefined();
  }

  async #expectToolsRanOnce(): Promise<void> {
    const ran = (await readFile(this.#file("ran.txt"), "utf8")).trim().split("\n");
    expect(ran.toSorted()).toEqual(
      this.#said
        .filter(({ step }) => step === "tool run")
        .map(({ mark }) => mark)
        .toSorted(),
    );
  }

  /** Every message is one turn, in the order in which its chat wrote it. */
  async #expectTranscripts(): Promise<void> {
    const dir = join(this.#home.stateDir, "sessions");
    const marks: string[] = [];
    for (const name of (await readdir(dir)).filter((each) => each.endsWith(".jsonl"))) {
      const messages = await readTranscript(join(dir, name));
      const own = messages
        .filter(({ role }) => role === "user")
        .flatMap((message) => textOf(message).match(/\bno\d+\./g) ?? []);
      expect(own).toEqual(own.toSorted(byNumber));
      marks.push(...own);
    }
    expect(marks.toSorted(byNumber)).toEqual(this.#said.map(({ mark }) => mark));
  }

  #file(name: string): string {
    return join(this.#home.stateDir, "workspace", name);
  }

  #rowsWith(mark: string): number {
    return this.#count("SELECT count(*) AS n FROM inbox WHERE instr(message, ?) > 0", `please ${mark}`);
  }

  #openRows(): number {
    return (
      this.#count("SELECT count(*) AS n FROM inbox WHERE state <> 'done'") +
      this.#count("SELECT count(*) AS n FROM outbox WHERE state IN ('planned', 'sending', 'unknown')")
    );
  }

  #count(sql: string, ...values: readonly string[]): number {
    const db = new DatabaseSync(join(this.#home.stateDir, "state", "journal.sqlite"), { readOnly: true });
    try {
      return Number(db.prepare(sql).get(...values)?.["n"]);
    } finally {
      db.close();
    }
  }

  get #running(): GatewayUnderTest {
    if (!this.#gateway) throw new Error("no gateway yet");
    return this.#gateway;
  }

  async #until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await isSo())) {
      if (performance.now() > deadline) throw new Error(`not ${what} in time: ${await this.#account()}`);
      await new Promise((look) => setTimeout(look, 2));
    }
  }

  async #account(): Promise<string> {
    const shown = await Promise.all(CHATS.map(async (chat) => this.#platform.shown(chat)));
    const rows = journalRows(this.#home, "SELECT id, state, attempts, outcome FROM inbox WHERE state <> 'done'");
    const lines = this.#gateway?.lines.slice(-25).map((line) => JSON.stringify(line)) ?? [];
    return [JSON.stringify(this.#said.slice(-3)), JSON.stringify(shown), JSON.stringify(rows), ...lines].join("\n");
  }
}

const run = (command: string): ModelReply => ({ tool: "exec", args: { command } });
const byNumber = (a: string, b: string): number => Number(a.slice(2, -1)) - Number(b.slice(2, -1));

/** Kills the gateway at every step that the platform has. */
export async function killAtEveryStep(platform: KilledPlatform, row: Row): Promise<Row> {
  const [model, home] = await Promise.all([startFakeModel(), makeHome({})]);
  try {
    await platform.prepare?.(home.stateDir);
    return await new Matrix(platform, model, home).run(row);
  } finally {
    await home.remove();
    await platform.close();
    await model.close();
  }
}
