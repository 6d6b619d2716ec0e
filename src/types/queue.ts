/** Ways to treat a message that arrives while its session is busy. */
export const QUEUE_MODES = ["collect", "followup", "steer", "steer-backlog", "interrupt"] as const;
export type QueueMode = (typeof QUEUE_MODES)[number];

/** Other names of modes, as configs, session rows and commands of the field write them. */
export const QUEUE_MODE_ALIASES = { queue: "followup", "steer+backlog": "steer-backlog" } as const;

/** Ways to treat messages over the cap. */
export const QUEUE_DROPS = ["summarize", "old", "new"] as const;
export type QueueDrop = (typeof QUEUE_DROPS)[number];

/** How messages of a session wait. */
export interface QueueSettings {
  readonly mode: QueueMode;
  /** Milliseconds without a further message before waiting messages become a turn. */
  readonly debounceMs: number;
  /** Most messages that wait; at least one. */
  readonly cap: number;
  readonly drop: QueueDrop;
}

/** A mode by its name or an alias, whatever its case. */
export function queueModeOf(word: unknown): QueueMode | undefined {
  if (typeof word !== "string") return undefined;
  const name = word.toLowerCase();
  const alias = name === "queue" || name === "steer+backlog" ? QUEUE_MODE_ALIASES[name] : name;
  return QUEUE_MODES.find((mode) => mode === alias);
}

/** A policy by its name, whatever its case. */
export const queueDropOf = (word: unknown): QueueDrop | undefined =>
  typeof word === "string" ? QUEUE_DROPS.find((drop) => drop === word.toLowerCase()) : undefined;

/** The longest debounce that a session may have, in milliseconds. */
export const MOST_DEBOUNCE_MS = 600_000;
/** The greatest cap that a session may have. */
export const MOST_CAP = 1000;

/** Milliseconds without progress of a turn. */
export interface StuckLimits {
  /** Milliseconds after which the turn is reported in the log and in the status. */
  readonly warnMs: number;
  /** Milliseconds after which the turn is ended, unless it waits for something with a limit of its own. */
  readonly endMs: number;
}
