import { SILENT_TOKEN } from "../../reply/directives.ts";
import type { RunEvent, RunStream } from "../../types/run/events.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { AgentSettings, TypingSettings } from "../../types/settings.ts";
import type { DispatchPorts } from "../ports.ts";
import { background } from "../../utils/background.ts";

/** A quick answer shows no "typing…". */
const TYPING_AFTER_MS = 250;
/** Telegram shows it for five seconds. */
const USUAL: TypingSettings = { mode: "instant", everyMs: 4000 };

type TypingPorts = Pick<DispatchPorts, "link" | "clock" | "log">;

/** What shows a chat that its message is being worked on. */
export interface TypingIndicator {
  /** The turn's run is there. */
  follow(stream: RunStream): void;
  /** Nothing is shown any more. */
  stop(): void;
}

/** Shows "typing…" in the chat of a turn from when on the agent's settings say, until it is stopped. Never throws. */
export function startTyping(rows: readonly InboxRow[], agent: AgentSettings, ports: TypingPorts): TypingIndicator {
  const { mode, everyMs } = agent.typing ?? USUAL;
  const message = rows[0]?.message;
  if (!message || message.options?.operator === true || mode === "never") return NOTHING;
  const typing = new Typing(message.from, everyMs, ports);
  if (mode === "instant") typing.begin(TYPING_AFTER_MS);
  return {
    follow: (stream) => {
      if (mode !== "instant")
        background(
          "typing signal",
          beginWith(stream, mode, () => typing.begin(0)),
          ports.log,
        );
    },
    stop: () => typing.stop(),
  };
}

const NOTHING: TypingIndicator = { follow: () => undefined, stop: () => undefined };

/** Besides words. A tool that runs is work that people wait for in every mode. */
const BEGINS: Readonly<Record<"thinking" | "message", ReadonlySet<RunEvent["type"]>>> = {
  thinking: new Set(["thinking_delta", "tool_start"]),
  message: new Set(["tool_start"]),
};

async function beginWith(stream: RunStream, mode: "thinking" | "message", begin: () => void): Promise<void> {
  for await (const event of stream.watch()) if (isWord(event) || BEGINS[mode].has(event.type)) return begin();
}

/** Of a text that is no silent answer. */
const isWord = (event: RunEvent): boolean => event.type === "text_delta" && !SILENT_TOKEN.startsWith(event.text.trim());

class Typing {
  readonly #to: Peer;
  readonly #everyMs: number;
  readonly #ports: TypingPorts;
  #isOver = false;
  #cancel: () => void = () => undefined;

  constructor(to: Peer, everyMs: number, ports: TypingPorts) {
    this.#to = to;
    this.#everyMs = everyMs;
    this.#ports = ports;
  }

  begin(afterMs: number): void {
    if (!this.#isOver) this.#cancel = this.#ports.clock.after(afterMs, () => this.#show());
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #show(): void {
    this.begin(this.#everyMs);
    background("typing signal", this.#type(), this.#ports.log);
  }

  /** Adapters promise not to throw; one that does must not take the gateway down over a sign of life. */
  async #type(): Promise<void> {
    const { link, log } = this.#ports;
    try {
      await link(this.#to)?.typing?.(this.#to);
    } catch (error) {
      log.warn("sign of work not shown", { error });
    }
  }
}
