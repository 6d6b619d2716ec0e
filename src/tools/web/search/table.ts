import type { SearchProvider } from "./providers/provider.ts";
import { brave } from "./providers/brave.ts";
import { duckduckgo } from "./providers/duckduckgo.ts";
import { exa } from "./providers/exa.ts";
import { firecrawl } from "./providers/firecrawl.ts";
import { gemini } from "./providers/gemini.ts";
import { grok } from "./providers/grok.ts";
import { kimi } from "./providers/kimi.ts";
import { minimax } from "./providers/minimax.ts";
import { ollama } from "./providers/ollama.ts";
import { perplexity } from "./providers/perplexity.ts";
import { searxng } from "./providers/searxng.ts";
import { tavily } from "./providers/tavily.ts";

/** The providers of `web_search`, in the order of the automatic choice. Providers at the end need no key. */
export const PROVIDERS: readonly SearchProvider[] = [
  brave,
  minimax,
  gemini,
  grok,
  kimi,
  perplexity,
  firecrawl,
  exa,
  tavily,
  duckduckgo,
  ollama,
  searxng,
];
