import { z } from "zod";
import { about, secretField } from "../../../utils/config.ts";

const apiKey = (variables: string) =>
  secretField.optional().meta(about("Key", `Key of the provider; ${variables} of the environment when unset.`));
const baseUrl = (usual: string) =>
  z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(about("Address", `Base address of the provider, which may be private; ${usual} when unset.`));
const model = (usual: string) =>
  z
    .string()
    .min(1)
    .optional()
    .meta(about("Model", `The model that answers; ${usual} when unset.`));

const section = (name: string, fields: z.core.$ZodShape) =>
  z
    .strictObject(fields)
    .prefault({})
    .meta(about(name, `The provider ${name}.`));

/** `tools.web.search` */
export const webSearchConfig = z.strictObject({
  enabled: z.boolean().default(true).meta(about("Enabled", "Gives agents the tool `web_search`.")),
  provider: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Provider",
        "The only provider that is asked, by its id. When unset, the providers that have a key are asked in a fixed order, and after them those that need none, until one answers.",
      ),
    ),
  maxResults: z.int().min(1).max(10).default(5).meta(about("Results", "Results of a call that names no number.")),
  timeoutSeconds: z
    .number()
    .positive()
    .max(300)
    .default(30)
    .meta(about("Timeout", "Seconds for the answer of one provider; one that runs a model gets at least 60.")),
  cacheTtlMinutes: z
    .number()
    .min(0)
    .default(15)
    .meta(about("Cache", "Minutes for which an answer is kept; 0 for never.")),
  apiKey: secretField.optional().meta(about("Key", "The older place of `brave.apiKey`.")),
  brave: section("Brave", {
    apiKey: apiKey("`BRAVE_API_KEY`"),
    baseUrl: baseUrl("`https://api.search.brave.com`"),
    mode: z
      .enum(["web", "llm-context"])
      .optional()
      .meta(about("Mode", "`llm-context` gets passages of the pages in place of descriptions; `web` when unset.")),
  }),
  minimax: section("MiniMax", {
    apiKey: apiKey("`MINIMAX_CODE_PLAN_KEY`, `MINIMAX_CODING_API_KEY` or `MINIMAX_API_KEY`"),
    baseUrl: baseUrl("the address of its region"),
    region: z
      .enum(["global", "cn"])
      .optional()
      .meta(about("Region", "`global` is `api.minimax.io`, `cn` is `api.minimaxi.com`; `global` when unset.")),
  }),
  gemini: section("Gemini", {
    apiKey: apiKey("`GEMINI_API_KEY`"),
    baseUrl: baseUrl("`https://generativelanguage.googleapis.com/v1beta`"),
    model: model("`gemini-2.5-flash`"),
  }),
  grok: section("Grok", {
    apiKey: apiKey("`XAI_API_KEY`"),
    baseUrl: baseUrl("`https://api.x.ai/v1`"),
    model: model("`grok-4-1-fast`"),
  }),
  kimi: section("Kimi", {
    apiKey: apiKey("`KIMI_API_KEY` or `MOONSHOT_API_KEY`"),
    baseUrl: baseUrl("`https://api.moonshot.ai/v1`"),
    model: model("`kimi-k2.6`"),
  }),
  perplexity: section("Perplexity", {
    apiKey: apiKey("`PERPLEXITY_API_KEY` or `OPENROUTER_API_KEY`"),
    baseUrl: baseUrl("the address that fits the key"),
    model: z
      .string()
      .min(1)
      .optional()
      .meta(
        about(
          "Model",
          "The model that answers. With it, with a base address, or with a key of OpenRouter a model answers; else there is a list of pages.",
        ),
      ),
  }),
  firecrawl: section("Firecrawl", {
    apiKey: apiKey("`FIRECRAWL_API_KEY`"),
    baseUrl: baseUrl("`https://api.firecrawl.dev`"),
  }),
  exa: section("Exa", { apiKey: apiKey("`EXA_API_KEY`"), baseUrl: baseUrl("`https://api.exa.ai`") }),
  tavily: section("Tavily", { apiKey: apiKey("`TAVILY_API_KEY`"), baseUrl: baseUrl("`https://api.tavily.com`") }),
  duckduckgo: section("DuckDuckGo", {
    baseUrl: baseUrl("`https://html.duckduckgo.com`"),
    region: z
      .string()
      .regex(/^[a-z]{2}-[a-z]{2}$/, "a region such as us-en")
      .optional()
      .meta(about("Region", "Region of a call that names no country, such as `us-en`.")),
  }),
  ollama: section("Ollama", {
    apiKey: apiKey("`OLLAMA_API_KEY`"),
    baseUrl: baseUrl("`OLLAMA_HOST` of the environment or `http://127.0.0.1:11434`"),
  }),
  searxng: section("SearXNG", { baseUrl: baseUrl("`SEARXNG_BASE_URL` of the environment") }),
});
export type WebSearchSettings = z.output<typeof webSearchConfig>;
