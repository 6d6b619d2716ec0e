import { KEYED_PROVIDERS } from "../../providers/keys.ts";

/** A provider that takes a key, as `openclaw onboard` names it. */
export interface KeyChoice {
  /** The value of `--auth-choice`. */
  readonly choice: string;
  readonly provider: string;
  readonly label: string;
  /** The flag that gives the key, without dashes. */
  readonly flag: string;
  /** The model that is asked unless another is named. */
  readonly model: string;
  /** Address, where it is not the one of the provider's catalogue. */
  readonly baseUrl?: string;
}

const usualModel = (provider: string): string => KEYED_PROVIDERS.find((row) => row.provider === provider)?.model ?? "";

/** A provider whose flag has the name of its choice. */
const plain = (choice: string, provider: string, label: string, model = usualModel(provider)): KeyChoice => ({
  choice,
  provider,
  label,
  flag: choice,
  model,
});

const zai = (choice: string, label: string, baseUrl?: string): KeyChoice => ({
  ...plain(choice, "zai", label),
  flag: "zai-api-key",
  ...(baseUrl !== undefined && { baseUrl }),
});

const xiaomi = (region: string): KeyChoice => ({
  ...plain(`xiaomi-token-plan-${region}`, `xiaomi-token-plan-${region}`, `Xiaomi token plan (${region})`, "mimo-v2.5"),
  flag: "xiaomi-token-plan-api-key",
});

const KIMI = "kimi-k2.6";

/** In the order in which they are offered. */
export const KEY_CHOICES: readonly KeyChoice[] = [
  { ...plain("apiKey", "anthropic", "Anthropic"), flag: "anthropic-api-key" },
  plain("openai-api-key", "openai", "OpenAI"),
  plain("gemini-api-key", "google", "Google Gemini"),
  plain("openrouter-api-key", "openrouter", "OpenRouter"),
  plain("xai-api-key", "xai", "xAI"),
  plain("groq-api-key", "groq", "Groq"),
  plain("mistral-api-key", "mistral", "Mistral"),
  plain("deepseek-api-key", "deepseek", "DeepSeek"),
  plain("cerebras-api-key", "cerebras", "Cerebras"),
  zai("zai-api-key", "Z.AI"),
  zai("zai-global", "Z.AI, by use", "https://api.z.ai/api/paas/v4"),
  zai("zai-coding-global", "Z.AI coding plan"),
  zai("zai-cn", "Z.AI in China, by use", "https://open.bigmodel.cn/api/paas/v4"),
  zai("zai-coding-cn", "Z.AI coding plan in China", "https://open.bigmodel.cn/api/coding/paas/v4"),
  plain("moonshot-api-key", "moonshotai", "Moonshot", KIMI),
  { ...plain("moonshot-api-key-cn", "moonshotai-cn", "Moonshot in China", KIMI), flag: "moonshot-api-key" },
  plain("kimi-code-api-key", "kimi-coding", "Kimi Code", "kimi-for-coding"),
  { ...plain("minimax-global-api", "minimax", "MiniMax", "MiniMax-M2.7"), flag: "minimax-api-key" },
  { ...plain("minimax-cn-api", "minimax-cn", "MiniMax in China", "MiniMax-M2.7"), flag: "minimax-api-key" },
  plain("fireworks-api-key", "fireworks", "Fireworks", "accounts/fireworks/models/kimi-k2p6"),
  plain("huggingface-api-key", "huggingface", "Hugging Face", "moonshotai/Kimi-K2.6"),
  { ...plain("opencode-zen", "opencode", "OpenCode Zen", "claude-sonnet-4-6"), flag: "opencode-zen-api-key" },
  { ...plain("opencode-go", "opencode-go", "OpenCode Go", KIMI), flag: "opencode-go-api-key" },
  plain("ai-gateway-api-key", "vercel-ai-gateway", "Vercel AI Gateway", "anthropic/claude-haiku-4.5"),
  plain("xiaomi-api-key", "xiaomi", "Xiaomi MiMo", "mimo-v2.5"),
  ...["cn", "ams", "sgp"].map(xiaomi),
];

/** A server on this machine or another one, as `openclaw onboard` names it. */
export interface ServerChoice {
  /** The values of `--auth-choice`. */
  readonly choices: readonly string[];
  readonly provider: string;
  readonly label: string;
  /** The address unless `--custom-base-url` names one. */
  readonly baseUrl: string;
  /** The flag that gives a key, without dashes. Most servers need none. */
  readonly flag?: string;
}

export const SERVER_CHOICES: readonly ServerChoice[] = [
  { choices: ["ollama"], provider: "ollama", label: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  {
    choices: ["lmstudio"],
    provider: "lmstudio",
    label: "LM Studio",
    baseUrl: "http://127.0.0.1:1234/v1",
    flag: "lmstudio-api-key",
  },
  {
    choices: ["llama-cpp", "llama-cpp-existing-server"],
    provider: "llamacpp",
    label: "llama.cpp",
    baseUrl: "http://127.0.0.1:8080/v1",
    flag: "llama-server-api-key",
  },
  { choices: ["vllm"], provider: "vllm", label: "vLLM", baseUrl: "http://127.0.0.1:8000/v1" },
  { choices: ["sglang"], provider: "sglang", label: "SGLang", baseUrl: "http://127.0.0.1:30000/v1" },
];

const LOGIN = "A login needs a terminal: openclaw models auth login --provider";
const NOT_BUILT_IN =
  "This gateway has no provider of that name. Use --auth-choice custom-api-key with --custom-base-url, --custom-model-id and --custom-api-key.";

/** Values of `--auth-choice` that other gateways of this kind know, and the reason why they are refused here. */
export const REFUSED_CHOICES: ReadonlyMap<string, string> = new Map([
  ["openai", `${LOGIN} openai-codex`],
  ["openai-device-code", `${LOGIN} openai-codex`],
  ["github-copilot", `${LOGIN} github-copilot`],
  ["github-copilot-enterprise", `${LOGIN} github-copilot`],
  [
    "anthropic-cli",
    "The login of Claude Code is its own. Run `claude setup-token`, and give its token with --auth-choice setup-token --token.",
  ],
  ...["openrouter-oauth", "xai-oauth", "xai-device-code", "minimax-cn-oauth", "minimax-global-oauth", "chutes"].map(
    (choice) =>
      [choice, "This gateway has no login for it: use its key, such as --auth-choice openrouter-api-key."] as const,
  ),
  ["google-vertex-api-key", "Set it up by hand: docs/guides/models.md."],
  ["microsoft-foundry-apikey", "Set it up by hand as azure-openai-responses: docs/guides/models.md."],
  ["cloudflare-ai-gateway-api-key", "Give the address of that gateway with --auth-choice custom-api-key."],
]);

/** Flags of other gateways of this kind that are refused here, in commander's form, each with the reason. */
export const REFUSED_FLAGS: readonly (readonly [usage: string, reason: string])[] = [
  ["--team", "Agents are added one by one: openclaw agents add"],
  [
    "--tui",
    "There is no chat in the terminal. Chat on the page (openclaw dashboard) or with: openclaw agent -m <text>",
  ],
  ["--node-manager <name>", "No skill here is installed by a package manager."],
  ["--import-from <provider>", "Take over an OpenClaw with: openclaw import"],
  ["--import-source <path>", "Take over an OpenClaw with: openclaw import <dir>"],
  ["--import-secrets", "Take over an OpenClaw, its keys too, with: openclaw import"],
  [
    "--github-copilot-token <token>",
    "Set COPILOT_GITHUB_TOKEN, or run: openclaw models auth login --provider github-copilot",
  ],
  ["--cloudflare-ai-gateway-account-id <id>", "Give the whole address with --auth-choice custom-api-key."],
  ["--cloudflare-ai-gateway-gateway-id <id>", "Give the whole address with --auth-choice custom-api-key."],
  ...[
    "alibaba-model-studio arceeai baseten byteplus chutes clawrouter cloudflare-ai-gateway cohere comfy deepinfra fal",
    "featherless gmi kilocode litellm longcat meta modelstudio modelstudio-standard novita nvidia ollama-cloud pixverse",
    "qianfan qwen-token-plan radius runway stepfun synthetic together tokenhub tokenplan venice volcengine vydra",
  ]
    .flatMap((names) => names.split(" "))
    .map((name) => [`--${name}-api-key <key>`, NOT_BUILT_IN] as const),
  ...["modelstudio", "modelstudio-standard", "qwen-token-plan"].map(
    (name) => [`--${name}-api-key-cn <key>`, NOT_BUILT_IN] as const,
  ),
];
