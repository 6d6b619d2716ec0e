import { z } from "zod";

const chunk = z
  .strictObject({
    minChars: z.int().min(1).default(800).meta({
      title: "Smallest block",
      description: "Least characters of a block while the reply is still written.",
    }),
    maxChars: z.int().min(16).default(1200).meta({
      title: "Largest block",
      description: "Most characters of a block; code fences are closed and opened again.",
    }),
    breakPreference: z.enum(["paragraph", "newline", "sentence"]).default("paragraph").meta({
      title: "Break preference",
      description: "Preferred end of a block: at a blank line, at the end of a line or at the end of a sentence.",
    }),
  })
  .prefault({});

const coalesce = z
  .strictObject({
    minChars: z.int().min(1).optional().meta({
      title: "Enough to send",
      description:
        "Characters after which a joined block is sent without waiting; as in `blockStreamingChunk` when unset.",
    }),
    maxChars: z.int().min(1).optional().meta({
      title: "Largest joined block",
      description: "Most characters of a joined block; as in `blockStreamingChunk` when unset.",
    }),
    idleMs: z.int().min(0).default(1000).meta({
      title: "Waiting time",
      description: "Milliseconds without a new block after which waiting blocks are sent.",
    }),
  })
  .prefault({});

const pauseMode = z.enum(["off", "natural", "custom"]);

const humanDelay = z
  .strictObject({
    mode: pauseMode.default("off").meta({
      title: "Pause mode",
      description:
        "`natural` pauses 800 to 2500 ms between blocks, `custom` between `minMs` and `maxMs`, `off` not at all.",
    }),
    minMs: z.int().min(0).default(800).meta({
      title: "Shortest pause",
      description: "Milliseconds, for `mode: custom`.",
    }),
    maxMs: z.int().min(0).default(2500).meta({
      title: "Longest pause",
      description: "Milliseconds, for `mode: custom`.",
    }),
  })
  .prefault({});

/** Pauses in the config of one agent. */
export const ownHumanDelayConfig = z.strictObject({
  mode: pauseMode.optional().meta({ title: "Pause mode", description: "As in `agents.defaults.humanDelay`." }),
  minMs: z.int().min(0).optional().meta({
    title: "Shortest pause",
    description: "Milliseconds, for `mode: custom`.",
  }),
  maxMs: z.int().min(0).optional().meta({
    title: "Longest pause",
    description: "Milliseconds, for `mode: custom`.",
  }),
});

/** The keys of `agents.defaults` for cutting a reply into blocks, for its pace, and for the signs shown before it. */
export const replyDefaultsShape = {
  blockStreamingDefault: z.enum(["off", "on"]).default("off").meta({
    title: "Block streaming",
    description: "Whether a reply is sent in blocks while it is written; a channel's `streaming.mode` has priority.",
  }),
  blockStreamingBreak: z.enum(["text_end", "message_end"]).default("text_end").meta({
    title: "Block streaming break",
    description:
      "`text_end` sends blocks while a text is written, `message_end` only after the model has ended its message.",
  }),
  blockStreamingChunk: chunk.meta({
    title: "Block size",
    description: "How a reply is cut into blocks.",
  }),
  blockStreamingCoalesce: coalesce.meta({
    title: "Joining of blocks",
    description: "How small blocks that follow each other quickly are joined into one message.",
  }),
  humanDelay: humanDelay.meta({
    title: "Pause between blocks",
    description: "Pause before each block after the first, like that of a person.",
  }),
  typingMode: z
    .enum(["never", "instant", "thinking", "message"])
    .optional()
    .meta({
      title: "Typing",
      description:
        "When a chat begins to show that the agent types. `instant`: when the turn begins. `thinking`: when the model " +
        "thinks or writes. `message`: when the model writes. `never`: not at all. When unset: `message` for a message of a " +
        "group that does not address the agent, which may say nothing about it, and `instant` for all others.",
    }),
  typingIntervalSeconds: z.int().min(1).max(60).default(4).meta({
    title: "Typing interval",
    description: "Seconds after which the typing signal is repeated; platforms show it for about five.",
  }),
};
