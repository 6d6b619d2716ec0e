import { z } from "zod";
import { about, secretField } from "../../utils/config.ts";

const remote = z.strictObject({
  baseUrl: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Base URL",
        "Address of the embeddings, without `/embeddings`. That of `models.providers.<provider>` or of the provider when unset.",
        "http://127.0.0.1:11434/v1",
      ),
    ),
  apiKey: secretField
    .optional()
    .meta(
      about(
        "API key",
        "Key for the address. That of `models.providers.<provider>` when neither this nor `baseUrl` is set.",
      ),
    ),
  headers: z
    .record(z.string(), secretField)
    .optional()
    .meta(about("Headers", "Additional HTTP headers of every request.")),
});

const share = z.number().min(0).max(1).optional();

const hybrid = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .meta(about("Hybrid", "Compares words and vectors. False compares words alone. True when unset.")),
  vectorWeight: share.meta(about("Vector weight", "What a hit by its vector counts; 0.3 when unset.")),
  textWeight: share.meta(about("Text weight", "What a hit by its words counts; 0.7 when unset.")),
});

const query = z.strictObject({
  maxResults: z
    .int()
    .min(1)
    .max(20)
    .optional()
    .meta(about("Results", "Results of a search when the agent does not say how many; 6 when unset.")),
  minScore: share.meta(
    about("Least score", "Leaves out results with a lower score when the agent sets none; 0 when unset."),
  ),
  hybrid: hybrid.optional().meta(about("Hybrid", "How words and vectors are joined.")),
});

const inputType = z.string().min(1).optional();

const memorySearch = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .meta(about("Enabled", "False: the agent has no tools that search its notes. True when unset.")),
  sources: z
    .array(z.enum(["memory", "sessions"]))
    .min(1)
    .optional()
    .meta(
      about(
        "Sources",
        "`memory`: the notes. `sessions`: conversations that owners had alone with the agent, too, if `experimental.sessionMemory` is set. " +
          "Only the notes when unset.",
      ),
    ),
  extraPaths: z
    .array(z.string().min(1))
    .optional()
    .meta(
      about(
        "Further notes",
        "Markdown files and folders of them that are searched too: relative to the workspace, absolute, or with `~/`. Links are left out.",
        ["~/notes"],
      ),
    ),
  experimental: z
    .strictObject({
      sessionMemory: z
        .boolean()
        .optional()
        .meta(about("Session memory", "Allows `sessions` in `sources`. False when unset.")),
    })
    .optional()
    .meta(about("Experimental", "What has to be allowed in addition.")),
  provider: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        "Provider",
        "Who makes vectors of notes and questions: `openai`, `gemini`, `voyage`, `mistral`, `deepinfra`, `ollama`, `lmstudio`, a name of " +
          "`models.providers`, or `openai-compatible` with `remote.baseUrl`. `none` or unset: nothing is sent, and words alone are compared.",
      ),
    ),
  model: z
    .string()
    .min(1)
    .optional()
    .meta(about("Model", "Model of the vectors; the provider's usual one when unset.")),
  remote: remote.optional().meta(about("Remote", "Address and key of the embeddings.")),
  outputDimensionality: z
    .int()
    .min(8)
    .max(16_384)
    .optional()
    .meta(about("Dimensions", "Numbers of a vector; as many as the model gives when unset.")),
  inputType: inputType.meta(about("Input type", "`input_type` of every request, where the provider has one.")),
  queryInputType: inputType.meta(about("Input type of questions", "`inputType` when unset.")),
  documentInputType: inputType.meta(about("Input type of notes", "`inputType` when unset.")),
  query: query.optional().meta(about("Query", "How many results there are, and how they are ordered.")),
});

export type MemorySearchConfig = z.output<typeof memorySearch>;

/** Key for the search of notes, in `agents.defaults` and in an agent's entry. */
export const memorySearchShape = {
  memorySearch: memorySearch.optional().meta(about("Memory search", "How the agent finds its notes.")),
};

/** `memory.*` */
export const memoryConfig = z.strictObject({
  citations: z
    .enum(["auto", "on", "off"])
    .default("auto")
    .meta(
      about(
        "Citations",
        "Whether results of a search have the place of each note as `Source: path#line`, which the agent is told to quote. `auto`: everywhere but in groups.",
      ),
    ),
});
