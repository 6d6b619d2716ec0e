import { z } from "zod";

const chunk = z
  .strictObject({
    minChars: z.int().min(1).default(800).meta({
      title: "Smallest block",
      description: "Characters a block should have before it is sent while the reply is still being written.",
    }),
    maxChars: z.int().min(16).default(1200).meta({
      title: "Largest block",
      description: "Characters that no block exceeds; code fences are closed and opened again.",
    }),
    breakPreference: z.enum(["paragraph", "newline", "sentence"]).default("paragraph").meta({
      title: "Break preference",
      description: "Where a block ends by preference: at a blank line, at a line's end or at a sentence's end.",
    }),
  })
  .prefault({});

const coalesce = z
  .strictObject({
    minChars: z.int().min(1).optional().meta({
      title: "Enough to send",
      description:
        "Characters from which on a joined block is sent without waiting for more; as in `blockStreamingChunk` when unset.",
    }),
    maxChars: z.int().min(1).optional().meta({
      title: "Largest joined block",
      description: "Characters that joined blocks do not exceed; as in `blockStreamingChunk` when unset.",
    }),
    idleMs: z.int().min(0).default(1000).meta({
      title: "Waiting time",
      description: "Milliseconds without a new block after which what waits is sent with the next sign of the model.",
    }),
  })
  .prefault({});

const pauseMode = z.enum(["off", "natural", "custom"]);

const humanDelay = z
  .strictObject({
    mode: pauseMode.default("off").meta({
      title: "Pause mode",
      description:
        "`natural` pauses 800 to 2500 ms between blocks, `custom` between minMs and maxMs, `off` not at all.",
    }),
    minMs: z.int().min(0).default(800).meta({
      title: "Shortest pause",
      description: "Milliseconds, for the mode `custom`.",
    }),
    maxMs: z.int().min(0).default(2500).meta({
      title: "Longest pause",
      description: "Milliseconds, for the mode `custom`.",
    }),
  })
  .prefault({});

/** What one agent says of it. */
export const ownHumanDelayConfig = z.strictObject({
  mode: pauseMode.optional().meta({ title: "Pause mode", description: "As in `agents.defaults.humanDelay`." }),
  minMs: z.int().min(0).optional().meta({
    title: "Shortest pause",
    description: "Milliseconds, for the mode `custom`.",
  }),
  maxMs: z.int().min(0).optional().meta({
    title: "Longest pause",
    description: "Milliseconds, for the mode `custom`.",
  }),
});

/** The keys of `agents.defaults` that say how a reply is cut into blocks and paced, and what is shown before it. */
export const replyDefaultsShape = {
  blockStreamingDefault: z.enum(["off", "on"]).default("off").meta({
    title: "Block streaming",
    description: "Whether a reply is sent in blocks while it is being written, where a channel does not say.",
  }),
  blockStreamingBreak: z.enum(["text_end", "message_end"]).default("text_end").meta({
    title: "Block streaming break",
    description: "`text_end` sends blocks while a text grows, `message_end` only when the model has ended its message.",
  }),
  blockStreamingChunk: chunk.meta({
    title: "Block size",
    description: "How a reply is cut into blocks.",
  }),
  blockStreamingCoalesce: coalesce.meta({
    title: "Joining of blocks",
    description: "How small blocks that follow each other soon are joined into one message.",
  }),
  humanDelay: humanDelay.meta({
    title: "Pause between blocks",
    description: "A pause before each block after the first, as a person would make it.",
  }),
  typingMode: z
    .enum(["never", "instant", "thinking", "message"])
    .default("instant")
    .meta({
      title: "Typing",
      description:
        "From when on a chat shows that the agent types: when a turn begins, when the model thinks or writes, when it " +
        "writes; or never.",
    }),
  typingIntervalSeconds: z.int().min(1).max(60).default(4).meta({
    title: "Typing interval",
    description: "Seconds after which it is shown again; platforms show it for about five.",
  }),
};
