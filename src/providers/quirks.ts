/** Forms of tool call ids that a provider accepts. */
export type CallIdStyle = "any" | "anthropic" | "openai" | "responses" | "mistral";

/**
 * The part of a model's own thinking that its provider accepts in a request: none, all, blocks with a signature, blocks
 * whose signature names the field that they came in, or whole reasoning items. The thinking of other models is never
 * sent.
 */
export type OwnThinking = "drop" | "keep" | "signed" | "field" | "item";

export interface ImageLimits {
  /** The limits for the images of one request. */
  readonly count: number;
  /** Base64 characters of one image, and of all together. */
  readonly each: number;
  readonly total: number;
  /** Pixels of the longest side. */
  readonly side?: number;
  /** Accepted MIME types. When unset, all types whose size can be measured. */
  readonly types?: readonly string[];
}

interface AskedModel {
  readonly api: string;
  readonly provider: string;
  readonly id: string;
  /** Milliseconds up to which answers have thinking that the provider signed and now refuses. */
  readonly refusedThinking?: number | undefined;
}

/** Rules of the next model, so that a transcript becomes a valid request for it. */
export interface TranscriptPolicy {
  /** The model that is asked. Only its own messages keep their signatures. */
  readonly model: AskedModel;
  readonly images: boolean;
  /** Why images are left out; the model cannot see any when unset. */
  readonly whyNoImages?: string | undefined;
  /** False: images of earlier turns are left out. */
  readonly earlierImages?: boolean | undefined;
  readonly imageLimits: ImageLimits;
  /** False: images of tool results follow their results as a user turn. */
  readonly toolResultImages: boolean;
  readonly callIds: CallIdStyle;
  readonly ownThinking: OwnThinking;
  /** The first call of an answer must have a signature. */
  readonly signedCalls: boolean;
  /** The first turn must be a user's. */
  readonly userTurnFirst: boolean;
  /** Consecutive answers are merged. */
  readonly validateGeminiTurns: boolean;
  /** Consecutive user turns are merged. */
  readonly validateAnthropicTurns: boolean;
  /** A user turn must not follow tool results, so an answer is put between the two. */
  readonly bridgeToolResults: boolean;
  /**
   * The provider caches the beginning of a request for some minutes, at a price. Pruning by `cache-ttl` applies only to these
   * providers.
   */
  readonly promptCache: boolean;
  /** Calls and results are accepted only in a request that offers tools. */
  readonly toolBlocksNeedTools: boolean;
  /** Calls and their results are sent as text. */
  readonly plainTools?: boolean | undefined;
  /** Only what every provider accepts: text and images in turns that alternate. */
  readonly strict?: boolean | undefined;
  /** The number of earlier user turns; all when 0 or unset. */
  readonly earlierTurns?: number | undefined;
}

/** Facts about a model that need no call. */
export interface QuirkModel {
  readonly api: string;
  readonly provider: string;
  readonly id: string;
  readonly input: readonly ("text" | "image")[];
}

export interface Quirk {
  readonly id: string;
  readonly why: string;
  when(model: QuirkModel): boolean;
  readonly transcript: Partial<Omit<TranscriptPolicy, "model" | "images" | "earlierTurns" | "plainTools" | "strict">>;
}

const speaks =
  (...apis: readonly string[]) =>
  ({ api }: QuirkModel) =>
    apis.includes(api);
const speaksGoogle = speaks("google-generative-ai", "google-vertex", "google-gemini-cli");
const speaksResponses = speaks("openai-responses", "azure-openai-responses", "openai-codex-responses");
const WEB_IMAGES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const GOOGLE_IMAGES = [...WEB_IMAGES, "image/heic", "image/heif"];

/** The rows of special cases. Later rows take precedence. */
export const QUIRKS: readonly Quirk[] = [
  {
    id: "anthropic-call-ids",
    why: "Anthropic and Bedrock refuse ids beyond 64 letters, digits, underscores and hyphens.",
    when: speaks("anthropic-messages", "bedrock-converse-stream"),
    transcript: { callIds: "anthropic" },
  },
  {
    id: "anthropic-signed-thinking",
    why: "Thinking without its signature is refused, and the SDK would send it as answer text.",
    when: speaks("anthropic-messages", "bedrock-converse-stream"),
    transcript: { ownThinking: "signed" },
  },
  {
    id: "anthropic-images",
    why: "Anthropic takes 5 MiB of base64 and 8,000 pixels per image (2,000 where there are more than 20), 32 MB per request, and four types.",
    when: speaks("anthropic-messages"),
    transcript: { imageLimits: { count: 20, each: 5_242_880, total: 24_000_000, side: 8000, types: WEB_IMAGES } },
  },
  {
    id: "bedrock-images",
    why: "Converse takes 20 images of 3.75 MB and 8,000 pixels in a request, and four types.",
    when: speaks("bedrock-converse-stream"),
    transcript: { imageLimits: { count: 20, each: 4_900_000, total: 18_000_000, side: 8000, types: WEB_IMAGES } },
  },
  {
    id: "bedrock-alternation",
    why: "Converse refuses two user turns in a row, and tool results are a user turn.",
    when: speaks("bedrock-converse-stream"),
    transcript: { bridgeToolResults: true },
  },
  {
    id: "tool-blocks-need-tools",
    why: "Converse and Anthropic refuse calls and results in a request without tools; with them the SDK sends an empty list, which OpenAI refuses.",
    when: speaks("anthropic-messages", "bedrock-converse-stream", "openai-completions"),
    transcript: { toolBlocksNeedTools: true },
  },
  {
    id: "paid-prompt-cache",
    why: "Writing Anthropic's cache costs more than reading it, wherever its models are called; the others' need no care.",
    when: (model) => speaks("anthropic-messages")(model) || isClaude(model),
    transcript: { promptCache: true },
  },
  {
    id: "openai-images",
    why: "OpenAI takes four types of images; what speaks its API seldom takes more.",
    when: (model) => speaks("openai-completions")(model) || speaksResponses(model),
    transcript: { imageLimits: { count: 50, each: 20_000_000, total: 40_000_000, types: WEB_IMAGES } },
  },
  {
    id: "responses-items",
    why: "The Responses API takes reasoning back as whole items, in front of the items they led to.",
    when: speaksResponses,
    transcript: { callIds: "responses", ownThinking: "item" },
  },
  {
    id: "responses-turns",
    why: "The Responses API takes items in any order of roles; joined answers would lose their items.",
    when: speaksResponses,
    transcript: { userTurnFirst: false, validateGeminiTurns: false },
  },
  {
    id: "google-call-ids",
    why: "Gemini pairs calls and results by name and place.",
    when: speaksGoogle,
    transcript: { callIds: "any" },
  },
  {
    id: "google-other-models-ids",
    why: "Claude and gpt-oss behind Google's API pair by id, in Anthropic's pattern.",
    when: (model) => speaksGoogle(model) && /^(?:claude|gpt-oss)-/.test(model.id),
    transcript: { callIds: "anthropic" },
  },
  {
    id: "google-thinking",
    why: "Gemini takes thoughts with and without a signature.",
    when: (model) => speaksGoogle(model) && !model.id.startsWith("claude-"),
    transcript: { ownThinking: "keep" },
  },
  {
    id: "gemini-signed-calls",
    why: "From Gemini 3 on an answer whose first call has no signature is refused; the newest are meant by `latest`.",
    when: (model) => speaksGoogle(model) && /gemini-(?:live-)?(?:[3-9]|\d\d|.*latest)/.test(model.id),
    transcript: { signedCalls: true },
  },
  {
    id: "google-images",
    why: "A request with inline data may have 20 MB, and HEIC in it.",
    when: speaksGoogle,
    transcript: { imageLimits: { count: 50, each: 7_000_000, total: 14_000_000, types: GOOGLE_IMAGES } },
  },
  {
    id: "gemini-result-images",
    why: "Before Gemini 3 a function response has no images; a turn between two responses tears them apart.",
    when: (model) => speaksGoogle(model) && /gemini-(?:live-)?[12]/.test(model.id),
    transcript: { toolResultImages: false },
  },
  {
    id: "mistral-call-ids",
    why: "Mistral refuses ids that are not nine letters and digits.",
    when: isMistral,
    transcript: { callIds: "mistral" },
  },
  {
    id: "mistral-turns",
    why: "Mistral refuses a user turn behind tool results.",
    when: isMistral,
    transcript: { bridgeToolResults: true },
  },
  {
    id: "mistral-images",
    why: "Mistral takes 8 images of 10 MB in a request, and four types.",
    when: isMistral,
    transcript: { imageLimits: { count: 8, each: 10_000_000, total: 40_000_000, types: WEB_IMAGES } },
  },
  {
    id: "mistral-thinking",
    why: "Mistral's thinking has no signature.",
    when: speaks("mistral-conversations"),
    transcript: { ownThinking: "keep" },
  },
  {
    id: "claude-behind-openai",
    why: "Proxies hand the ids of OpenAI's API on to Anthropic, which refuses other characters.",
    when: (model) => speaks("openai-completions")(model) && isClaude(model),
    transcript: { callIds: "anthropic" },
  },
];

function isClaude({ provider, id }: QuirkModel): boolean {
  return /claude|anthropic/i.test(`${provider}/${id}`);
}

function isMistral({ api, provider, id }: QuirkModel): boolean {
  if (api === "mistral-conversations" || provider === "mistral") return true;
  return (
    api === "openai-completions" && /(?:^|\/)(?:open-)?(?:mi[sx]tral|codestral|devstral|magistral|ministral)/i.test(id)
  );
}

/** Policy that nearly every server with OpenAI's Chat API accepts. */
const PLAIN: Omit<TranscriptPolicy, "model" | "images"> = {
  imageLimits: { count: 50, each: 5_000_000, total: 20_000_000 },
  toolResultImages: true,
  callIds: "openai",
  ownThinking: "field",
  signedCalls: false,
  userTurnFirst: true,
  validateGeminiTurns: true,
  validateAnthropicTurns: true,
  bridgeToolResults: false,
  promptCache: false,
  toolBlocksNeedTools: false,
};

/** The policy by which a transcript becomes a request for this model. */
export function policyFor(model: QuirkModel): TranscriptPolicy {
  const { api, provider, id, input } = model;
  const rows = QUIRKS.filter((quirk) => quirk.when(model)).map((quirk) => quirk.transcript);
  return Object.assign({ ...PLAIN, model: { api, provider, id }, images: input.includes("image") }, ...rows);
}

/** The policy of a request that offers this many tools. */
export const policyWithTools = (policy: TranscriptPolicy, tools: number): TranscriptPolicy =>
  policy.toolBlocksNeedTools && tools === 0 ? { ...policy, plainTools: true } : policy;

/** The policy of a last try, whose requests are valid for every provider. */
export const strictly = (policy: TranscriptPolicy): TranscriptPolicy => ({
  ...policy,
  strict: true,
  plainTools: true,
  userTurnFirst: true,
  validateGeminiTurns: true,
  validateAnthropicTurns: true,
});
