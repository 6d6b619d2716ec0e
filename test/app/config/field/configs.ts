import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The configs that people of the field may have, one file each; `parts/` has what they include. */
const CORPUS = join(import.meta.dirname, "fixtures");

/** The names of all configs of the corpus. */
export const FIELD_CONFIGS: readonly string[] = readdirSync(CORPUS)
  .filter((file) => file.endsWith(".json5"))
  .map((file) => file.slice(0, -".json5".length))
  .toSorted();

/** The variables that the configs of the corpus refer to; none of the values is a secret. */
export const FIELD_VARIABLES: Readonly<Record<string, string>> = {
  TELEGRAM_BOT_TOKEN: "123456789:AAE-not-a-real-token-of-any-bot-00",
  TELEGRAM_ALERTS_TOKEN: "987654321:AAE-not-a-real-token-of-any-bot-01",
  DISCORD_BOT_TOKEN: "not-a-real-token-of-discord",
  SLACK_BOT_TOKEN: "xoxb-not-real",
  SLACK_APP_TOKEN: "xapp-not-real",
  SLACK_USER_TOKEN: "xoxp-not-real",
  SLACK_SIGNING_SECRET: "not-a-real-secret",
  MATRIX_TOKEN: "not-real-matrix",
  TEAMS_PASSWORD: "not-real-teams",
  LINE_TOKEN: "not-real-line",
  LINE_SECRET: "not-real-line-secret",
  MATTERMOST_TOKEN: "not-real-mattermost",
  ZULIP_KEY: "not-real-zulip",
  HOOK_TOKEN: "a-long-text-that-only-callers-know-0001",
  OPENCLAW_GATEWAY_TOKEN: "a-long-token-of-the-gateway-0001",
  GATEWAY_PASSWORD: "a-long-password-0001",
  LLM_PROXY_KEY: "sk-not-real-key",
  AZURE_KEY: "not-real-azure",
  GEMINI_KEY: "not-real-gemini",
  ELEVEN_KEY: "not-real-eleven",
  BRAVE_KEY: "not-real-brave",
  XAI_KEY: "not-real-xai",
};

/** A home with a copy of the corpus in `state/`, which only this user may read. */
export function homeWithConfigs(): string {
  const home = mkdtempSync(join(tmpdir(), "field-configs-"));
  const state = join(home, "state");
  cpSync(CORPUS, state, { recursive: true });
  for (const file of readdirSync(state, { recursive: true, withFileTypes: true }))
    chmodSync(join(file.parentPath, file.name), file.isDirectory() ? 0o700 : 0o600);
  chmodSync(state, 0o700);
  const token = FIELD_VARIABLES["TELEGRAM_BOT_TOKEN"];
  writeFileSync(join(home, "secrets.json"), JSON.stringify({ telegram: { token } }), { mode: 0o600 });
  return home;
}

/** Which configs of the corpus OpenClaw refuses, and the places that it names. It accepts the others. */
export const REAL_VERDICTS = JSON.parse(readFileSync(join(CORPUS, "verdicts.json"), "utf8")) as {
  /** The version that was asked. */
  readonly openclaw: string;
  readonly refused: Readonly<Record<string, readonly string[]>>;
};

/** A reason to judge configs otherwise than OpenClaw does. */
interface Difference {
  /** Whether the configs are accepted here. */
  readonly here: boolean;
  /** Both as the guide to migration has them. */
  readonly what: string;
  readonly why: string;
  readonly configs: readonly string[];
}

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

export const DIFFERENCES: readonly Difference[] = [
  {
    here: true,
    what: "keys and forms of older versions",
    why: "they are read; OpenClaw wants `openclaw doctor --fix` first",
    configs:
      words(`agent-defaults-many agent-model-string-2024 agents-entries-timeformat agents-list-2026-spring audio-2025
      bindings-provider-2025 browser-profiles clawdbot-2024 clawdbot-agents-2025 cron-retention-off discord-dm-section
      discord-server env-vars-2025 gateway-tailnet gateway-token-2025 googlechat heartbeat-and-cron hooks-mappings
      imessage-2025-top logging-diagnostics mcp-servers media-retention-2026 memory-2025-defaults memory-hybrid memory-qmd
      messages-many models-anthropic-profiles models-bedrock-2025 plugins-path queue-by-provider-2025
      sandbox-per-session-2025 session-many signal-cli signal-daemon skills-entries slack-http slack-socket talk-2025
      telegram-2025-streammode telegram-groups tools-media tools-policies tools-web tts-2025 type-null whatsapp-2025-top
      whatsapp-ack whatsapp-family`),
  },
  {
    here: true,
    what: "an unknown key below `channels`",
    why: "it is named in a warning: the other channels need not wait for it",
    configs: ["typo-channel"],
  },
  {
    here: true,
    what: "two agents with `default: true`",
    why: "the first is the default; a warning names the other",
    configs: ["agents-two-defaults"],
  },
  {
    here: true,
    what: "a binding to an agent that is not there",
    why: "a warning names it, and only messages for that agent fail",
    configs: ["bindings-unknown-agent"],
  },
  {
    here: true,
    what: "a program of `secrets.providers` that is missing",
    why: "it is looked for when a reference needs it",
    configs: ["secrets-exec-missing"],
  },
  { here: true, what: "`gateway.port: 0`", why: "it means any free port", configs: ["range-port-zero"] },
  {
    here: false,
    what: "a variable that is not set, of a channel or a provider that is on",
    why: "refused: the part could not work, and nobody would see why",
    configs: ["env-missing"],
  },
  {
    here: false,
    what: "`gateway.tls.enabled: true`",
    why: "refused: the gateway would send tokens and messages in plain text",
    configs: ["gateway-tls"],
  },
  {
    here: false,
    what: "`hooks.enabled` without a token",
    why: "refused; OpenClaw's check accepts it, and its gateway does not start either",
    configs: ["hooks-without-token"],
  },
  {
    here: false,
    what: 'a secret of `source: "store"`',
    why: "refused: OpenClaw's store of secrets is not read",
    configs: ["secrets-store"],
  },
  {
    here: false,
    what: "a key that is called `__proto__`",
    why: "refused: it could change what other keys mean",
    configs: ["proto-key"],
  },
];
