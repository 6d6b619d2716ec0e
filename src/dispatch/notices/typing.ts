import { createReplyFilter, isUnseen } from "../../reply/plain-reply.ts";
import type { ChannelLink } from "../../types/chat/channel.ts";
import type { RunEvent, RunStream } from "../../types/run/events.ts";
import type { InboxRow } from "../../types/journal.ts";
import type { InboundMessage } from "../../types/chat/message.ts";
import type { AgentSettings, TypingSettings } from "../../types/settings.ts";
import type { ChatPorts, DispatchPorts } from "../ports.ts";
import type { DispatchSettings } from "../settings.ts";
import { background } from "../../utils/background.ts";

/**
 * Milliseconds before the first signal: a quick answer shows no "typing…", and nobody waits for a signal for longer
 * than an eighth of a second.
 */
const TYPING_AFTER_MS = 100;
/** Telegram shows the signal for five seconds. */
const DEFAULT: TypingSettings = { everyMs: 4000 };

interface TypingPorts extends Pick<DispatchPorts, "clock" | "log"> {
  readonly chats: Pick<ChatPorts, "link">;
  settings(): Pick<DispatchSettings, "typingMode">;
}

/** Shows a chat that its message is being processed. */
export interface TypingIndicator {
  /** Called when the turn's run has started. */
  follow(stream: RunStream): void;
  /** Stops the signal for good. */
  stop(): void;
}

/**
 * Shows "typing…" in the chat of a turn, from the moment that the agent's settings name until it is stopped. Never
 * throws.
 */
export function startTyping(
  rows: readonly InboxRow[],
  agent: Pick<AgentSettings, "typing">,
  ports: TypingPorts,
): TypingIndicator {
  const { mode: set, everyMs } = agent.typing ?? DEFAULT;
  const message = rows[0]?.message;
  if (!message || message.options?.operator === true) return NOTHING;
  const mode = set ?? modeOf(message, ports);
  if (mode === "never") return NOTHING;
  const typing = new Typing(message, everyMs, ports);
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

/**
 * The mode where the agent's settings name none. A command, such as the command of a skill, asks for an answer,
 * whomever it addresses.
 */
const modeOf = (message: InboundMessage, { settings }: TypingPorts): NonNullable<TypingSettings["mode"]> =>
  message.text.startsWith("/") ? "instant" : (settings().typingMode?.(message) ?? "instant");

/**
 * Shows "typing…" in the chat of a command while the command works; the signal begins at once. Rejects as the work
 * does.
 */
export async function typingWhile<T>(
  row: InboxRow,
  agent: Pick<AgentSettings, "typing">,
  ports: TypingPorts,
  work: () => Promise<T>,
): Promise<T> {
  const typing = startTyping([row], agent, ports);
  try {
    return await work();
  } finally {
    typing.stop();
  }
}

const NOTHING: TypingIndicator = { follow: () => undefined, stop: () => undefined };

/**
 * Events in addition to text that start the signal. A running tool starts it in every mode, because people wait for it.
 */
const BEGINS: Readonly<Record<"thinking" | "message", ReadonlySet<RunEvent["type"]>>> = {
  thinking: new Set(["thinking_delta", "tool_start"]),
  message: new Set(["tool_start"]),
};

async function beginWith(stream: RunStream, mode: "thinking" | "message", begin: () => void): Promise<void> {
  let filter = createReplyFilter();
  for await (const event of stream.watch()) {
    if (BEGINS[mode].has(event.type)) return begin();
    if (event.type === "message_start") filter = createReplyFilter();
    if (event.type !== "text_delta") continue;
    if (event.anew) filter = createReplyFilter();
    // The signal does not begin with text that may be the beginning of a silent answer.
    if (!isUnseen(filter.push(event.delta))) return begin();
  }
}

class Typing {
  readonly #message: InboundMessage;
  readonly #everyMs: number;
  readonly #ports: TypingPorts;
  #isOver = false;
  #cancel: () => void = () => undefined;
  /** The last signal that was shown. */
  #shown: Promise<void> | undefined;

  constructor(message: InboundMessage, everyMs: number, ports: TypingPorts) {
    this.#message = message;
    this.#everyMs = everyMs;
    this.#ports = ports;
  }

  begin(afterMs: number): void {
    if (!this.#isOver) this.#cancel = this.#ports.clock.after(afterMs, () => this.#show());
  }

  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel();
    if (this.#shown) background("end of a typing signal", this.#end(this.#shown), this.#ports.log);
  }

  #show(): void {
    this.begin(this.#everyMs);
    const { from, id, event } = this.#message;
    const answered = event === undefined && id !== "" ? [id] : [];
    this.#shown = this.#call("shown", (link) => link.typing?.(from, ...answered));
    background("typing signal", this.#shown, this.#ports.log);
  }

  /** Ends the signal. A signal that is still on its way must not come after its end. */
  async #end(shown: Promise<void>): Promise<void> {
    await shown;
    await this.#call("ended", (link) => link.endTyping?.(this.#message.from));
  }

  /**
   * Calls the adapter. Adapters promise not to throw; an adapter that does must not crash the gateway over a typing
   * signal.
   */
  async #call(what: "shown" | "ended", call: (link: ChannelLink) => Promise<void> | undefined): Promise<void> {
    try {
      const link = this.#ports.chats.link(this.#message.from);
      if (link) await call(link);
    } catch (error) {
      this.#ports.log.warn(`typing signal not ${what}`, { error });
    }
  }
}
