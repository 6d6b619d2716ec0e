import { SILENT_TOKEN } from "../../reply/directives.ts";
import { HEARTBEAT_TOKEN } from "../../reply/heartbeat-token.ts";
import type { RunEvent, RunStream } from "../../types/run/events.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { Peer } from "../../types/chat/message.ts";
import type { AgentSettings, TypingSettings } from "../../types/settings.ts";
import type { DispatchPorts } from "../ports.ts";
import { background } from "../../utils/background.ts";

/** A quick answer shows no "typing…", and nobody waits for a sign for longer than an eighth of a second. */
const TYPING_AFTER_MS = 100;
/** Telegram shows it for five seconds. */
const DEFAULT: TypingSettings = { mode: "instant", everyMs: 4000 };

type TypingPorts = Pick<DispatchPorts, "link" | "clock" | "log">;

/** Shows a chat that its message is being processed. */
export interface TypingIndicator {
  /** Called when the turn's run has started. */
  follow(stream: RunStream): void;
  /** Stops the signal for good. */
  stop(): void;
}

/** Shows "typing…" in the chat of a turn, from the moment that the agent's settings name until it is stopped. Never throws. */
export function startTyping(rows: readonly InboxRow[], agent: AgentSettings, ports: TypingPorts): TypingIndicator {
  const { mode, everyMs } = agent.typing ?? DEFAULT;
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

/** Events in addition to text that start the signal. A running tool starts it in every mode, because people wait for it. */
const BEGINS: Readonly<Record<"thinking" | "message", ReadonlySet<RunEvent["type"]>>> = {
  thinking: new Set(["thinking_delta", "tool_start"]),
  message: new Set(["tool_start"]),
};

async function beginWith(stream: RunStream, mode: "thinking" | "message", begin: () => void): Promise<void> {
  for await (const event of stream.watch()) if (isText(event) || BEGINS[mode].has(event.type)) return begin();
}

/** Text that does not only begin a silent answer. */
const isText = (event: RunEvent): boolean =>
  event.type === "text_delta" && ![SILENT_TOKEN, HEARTBEAT_TOKEN].some((token) => token.startsWith(event.text.trim()));

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

  /** Adapters promise not to throw. One that does must not crash the gateway over a typing signal. */
  async #type(): Promise<void> {
    const { link, log } = this.#ports;
    try {
      await link(this.#to)?.typing?.(this.#to);
    } catch (error) {
      log.warn("typing signal not shown", { error });
    }
  }
}
