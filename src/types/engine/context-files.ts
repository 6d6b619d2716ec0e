/** Files of a workspace that are part of the system prompt, in their order there. */
export const CONTEXT_FILES = [
  "AGENTS.md",
  "SOUL.md",
  "TOOLS.md",
  "IDENTITY.md",
  "USER.md",
  "HEARTBEAT.md",
  "BOOTSTRAP.md",
  "MEMORY.md",
  "CLAUDE.md",
] as const;

/** The file that only owners' private conversations have. */
export const PRIVATE_FILE = "MEMORY.md";
