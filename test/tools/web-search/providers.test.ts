import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PROVIDERS } from "../../../src/tools/web/search/table.ts";
import { FakeInternet, inside, searchWith, type Got } from "./kit.ts";

let internet: FakeInternet;
beforeEach(async () => {
  internet = await FakeInternet.open();
});
afterEach(() => internet.close());

const KEY = "key-of-the-provider-0123456789";

interface Row {
  readonly id: string;
  /** Where its key or address is. */
  readonly env: Readonly<Record<string, string>>;
  /** Host and path. */
  readonly at: string;
  /** As its documentation shows it. */
  readonly answer: unknown;
  readonly input?: object;
  readonly settings?: object;
  /** What it is asked. */
  readonly asked: object;
  readonly found?: readonly object[];
  readonly content?: string;
  readonly citations?: readonly string[];
}

const bearer = { authorization: `Bearer ${KEY}` };
const DDG = `<html><body><div id="links" class="results">
  <div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x.test">Buy lamps</a></h2>
    <a class="result__snippet" href="https://duckduckgo.com/y.js">An advertisement</a></div></div>
  <div class="result results_links results_links_deep web-result "><div class="links_main links_deep result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Flamps.example%2Fa%3Fb%3D1&amp;rut=abc">The <b>Lamp</b> &amp; I</a></h2>
    <a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">All about <b>lamps</b> &#x27;here&#x27;</a></div></div>
  <div class="result results_links results_links_deep web-result "><h2 class="result__title">
    <a class="result__a" href="https://second.example/">Second</a></h2><div class="result__snippet">Two</div></div>
  </div></body></html>`;

const ROWS: readonly Row[] = [
  {
    id: "brave",
    env: { BRAVE_API_KEY: KEY },
    at: "api.search.brave.com/res/v1/web/search",
    answer: {
      type: "search",
      query: { original: "lamps" },
      web: {
        type: "search",
        results: [
          {
            title: "Lamps &amp; more",
            url: "https://lamps.example/a",
            description: "All <strong>lamps</strong>",
            age: "3 days ago",
          },
        ],
      },
    },
    input: { count: 3, country: "de", search_lang: "de", ui_lang: "de-DE", freshness: "week" },
    asked: {
      method: "GET",
      query: { q: "lamps", count: "3", country: "DE", search_lang: "de", ui_lang: "de-DE", freshness: "pw" },
      headers: { "x-subscription-token": KEY },
    },
    found: [
      {
        title: "Lamps & more",
        url: "https://lamps.example/a",
        snippet: "All lamps",
        published: "3 days ago",
        siteName: "lamps.example",
      },
    ],
  },
  {
    id: "brave",
    env: { BRAVE_API_KEY: KEY },
    settings: { brave: { mode: "llm-context" } },
    at: "api.search.brave.com/res/v1/llm/context",
    answer: {
      grounding: {
        generic: [{ url: "https://lamps.example/a", title: "Lamps", snippets: ["First passage.", "Second passage."] }],
      },
      sources: { "https://lamps.example/a": { title: "Lamps", hostname: "lamps.example", age: null } },
    },
    input: { date_after: "2026-01-01", date_before: "2026-02-01" },
    asked: { query: { q: "lamps", count: "5", freshness: "2026-01-01to2026-02-01" } },
    found: [{ title: "Lamps", snippet: "First passage. Second passage." }],
  },
  {
    id: "minimax",
    env: { MINIMAX_CODE_PLAN_KEY: KEY },
    at: "api.minimax.io/v1/coding_plan/search",
    answer: {
      organic: [{ title: "Lamps", link: "https://lamps.example/a", snippet: "All lamps", date: "2026-11-02 10:00:00" }],
      related_searches: [{ query: "lamp shop" }],
      base_resp: { status_code: 0, status_msg: "success" },
    },
    asked: { method: "POST", headers: bearer, body: { q: "lamps" } },
    found: [{ title: "Lamps", url: "https://lamps.example/a", snippet: "All lamps", published: "2026-11-02" }],
  },
  {
    id: "minimax",
    env: { MINIMAX_API_KEY: KEY },
    settings: { minimax: { region: "cn" } },
    at: "api.minimaxi.com/v1/coding_plan/search",
    answer: {
      organic: [{ title: "Lamps", link: "https://lamps.example/a", snippet: "" }],
      base_resp: { status_code: 0 },
    },
    asked: { headers: bearer },
    found: [{ title: "Lamps" }],
  },
  {
    id: "gemini",
    env: { GEMINI_API_KEY: KEY },
    at: "generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    answer: {
      candidates: [
        {
          content: {
            role: "model",
            parts: [{ text: "thinking…", thought: true }, { text: "Lamps give " }, { text: "light." }],
          },
          groundingMetadata: {
            webSearchQueries: ["lamps"],
            groundingChunks: [
              {
                web: {
                  uri: "https://vertexaisearch.cloud.google.com/grounding-api-redirect/one",
                  title: "lamps.example",
                },
              },
              {
                web: {
                  uri: "https://vertexaisearch.cloud.google.com/grounding-api-redirect/lost",
                  title: "other.example",
                },
              },
            ],
          },
        },
      ],
    },
    asked: {
      headers: { "x-goog-api-key": KEY },
      body: { contents: [{ role: "user", parts: [{ text: "lamps" }] }], tools: [{ google_search: {} }] },
    },
    content: "Lamps give light.",
  },
  {
    id: "grok",
    env: { XAI_API_KEY: KEY },
    settings: { grok: { model: "grok-5" } },
    at: "api.x.ai/v1/responses",
    answer: {
      output: [
        { type: "web_search_call", status: "completed", action: { type: "search", query: "lamps" } },
        {
          type: "message",
          role: "assistant",
          content: [
            {
              type: "output_text",
              text: "Lamps give light.",
              annotations: [
                { type: "url_citation", url: "https://lamps.example/a", title: "1", start_index: 0, end_index: 5 },
              ],
            },
          ],
        },
      ],
      citations: ["https://lamps.example/a", "https://second.example/"],
    },
    input: { domain_filter: ["lamps.example"] },
    asked: {
      headers: bearer,
      body: {
        model: "grok-5",
        input: [{ role: "user", content: "lamps" }],
        tools: [{ type: "web_search", filters: { allowed_domains: ["lamps.example"] } }],
        store: false,
      },
    },
    content: "Lamps give light.",
    citations: ["https://lamps.example/a", "https://second.example/"],
  },
  {
    id: "perplexity",
    env: { PERPLEXITY_API_KEY: KEY },
    at: "api.perplexity.ai/search",
    answer: {
      id: "1",
      results: [
        {
          title: "Lamps",
          url: "https://lamps.example/a",
          snippet: "All lamps",
          date: "2026-11-02",
          last_updated: null,
        },
      ],
    },
    input: {
      count: 2,
      country: "DE",
      language: "de",
      domain_filter: ["lamps.example", "-ads.example"],
      date_after: "2026-11-01",
      max_tokens: 5000,
      max_tokens_per_page: 500,
    },
    asked: {
      headers: bearer,
      body: {
        query: "lamps",
        max_results: 2,
        country: "DE",
        search_language_filter: ["de"],
        search_domain_filter: ["lamps.example", "-ads.example"],
        search_after_date: "11/1/2026",
        search_after_date_filter: "11/1/2026",
        max_tokens: 5000,
        max_tokens_per_page: 500,
      },
    },
    found: [{ title: "Lamps", published: "2026-11-02" }],
  },
  {
    id: "perplexity",
    env: { OPENROUTER_API_KEY: `sk-or-${KEY}` },
    at: "openrouter.ai/api/v1/chat/completions",
    answer: {
      choices: [
        {
          message: {
            role: "assistant",
            content: "Lamps give light.",
            annotations: [{ type: "url_citation", url_citation: { url: "https://lamps.example/a", title: "Lamps" } }],
          },
        },
      ],
    },
    input: { freshness: "day" },
    asked: {
      headers: { authorization: `Bearer sk-or-${KEY}` },
      body: {
        model: "perplexity/sonar-pro",
        messages: [{ role: "user", content: "lamps" }],
        search_recency_filter: "day",
      },
    },
    content: "Lamps give light.",
    citations: ["https://lamps.example/a"],
  },
  {
    id: "perplexity",
    env: { PERPLEXITY_API_KEY: KEY },
    settings: { perplexity: { model: "sonar" } },
    at: "api.perplexity.ai/chat/completions",
    answer: {
      choices: [{ message: { role: "assistant", content: "Lamps give light." } }],
      citations: ["https://lamps.example/a"],
    },
    asked: { body: { model: "sonar", messages: [{ role: "user", content: "lamps" }] } },
    content: "Lamps give light.",
    citations: ["https://lamps.example/a"],
  },
  {
    id: "firecrawl",
    env: { FIRECRAWL_API_KEY: KEY },
    at: "api.firecrawl.dev/v2/search",
    answer: {
      success: true,
      data: { web: [{ url: "https://lamps.example/a", title: "Lamps", description: "All lamps", position: 1 }] },
    },
    asked: { headers: bearer, body: { query: "lamps", limit: 5 } },
    found: [{ title: "Lamps", snippet: "All lamps" }],
  },
  {
    id: "exa",
    env: { EXA_API_KEY: KEY },
    at: "api.exa.ai/search",
    answer: {
      requestId: "1",
      results: [
        {
          id: "https://lamps.example/a",
          title: "Lamps",
          url: "https://lamps.example/a",
          publishedDate: "2026-11-02T00:00:00.000Z",
          highlights: ["All lamps", "and more"],
        },
      ],
    },
    input: { date_after: "2026-11-01", date_before: "2026-11-03", domain_filter: ["-ads.example"] },
    asked: {
      headers: { "x-api-key": KEY },
      body: {
        query: "lamps",
        numResults: 5,
        type: "auto",
        contents: { highlights: true },
        startPublishedDate: "2026-11-01T00:00:00.000Z",
        endPublishedDate: "2026-11-03T23:59:59.999Z",
        excludeDomains: ["ads.example"],
      },
    },
    found: [{ title: "Lamps", snippet: "All lamps and more", published: "2026-11-02" }],
  },
  {
    id: "tavily",
    env: { TAVILY_API_KEY: KEY },
    at: "api.tavily.com/search",
    answer: {
      query: "lamps",
      answer: null,
      results: [
        { title: "Lamps", url: "https://lamps.example/a", content: "All lamps", score: 0.9, raw_content: null },
      ],
      response_time: 1.1,
    },
    input: { freshness: "month", domain_filter: ["lamps.example", "-ads.example"] },
    asked: {
      headers: bearer,
      body: {
        query: "lamps",
        max_results: 5,
        time_range: "month",
        include_domains: ["lamps.example"],
        exclude_domains: ["ads.example"],
      },
    },
    found: [{ title: "Lamps", snippet: "All lamps" }],
  },
  {
    id: "duckduckgo",
    env: {},
    at: "html.duckduckgo.com/html",
    answer: DDG,
    input: { country: "de", language: "de", freshness: "month" },
    asked: { method: "GET", query: { q: "lamps", kl: "de-de", kp: "-1", df: "m" } },
    found: [
      { title: "The Lamp & I", url: "https://lamps.example/a?b=1", snippet: "All about lamps 'here'" },
      { title: "Second", url: "https://second.example/", snippet: "Two" },
    ],
  },
  {
    id: "duckduckgo",
    env: {},
    settings: { duckduckgo: { region: "fr-fr" } },
    at: "html.duckduckgo.com/html",
    answer: DDG,
    asked: { query: { q: "lamps", kl: "fr-fr", kp: "-1" } },
    found: [{ title: "The Lamp & I" }, {}],
  },
  {
    id: "ollama",
    env: { OLLAMA_HOST: "https://ollama.com", OLLAMA_API_KEY: KEY },
    at: "ollama.com/api/web_search",
    answer: { results: [{ title: "Lamps", url: "https://lamps.example/a", content: "All lamps" }] },
    asked: { headers: bearer, body: { query: "lamps", max_results: 5 } },
    found: [{ title: "Lamps", snippet: "All lamps" }],
  },
];

const resultsOf = (told: Readonly<Record<string, unknown>>) =>
  (told["results"] as readonly Record<string, unknown>[]).map((one) => ({
    ...one,
    title: inside(one["title"]),
    snippet: inside(one["snippet"]),
  }));

const withoutNames = ({ method, at, query, headers, body }: Got) => ({ method, at, query, headers, body });

describe("each provider", () => {
  it.each(ROWS)("$id is asked at $at, and its answer is read", async (row) => {
    if (typeof row.answer === "string") internet.text(row.at, row.answer);
    else internet.json(row.at, row.answer);
    const { call } = searchWith({
      settings: { provider: row.id, ...row.settings },
      env: row.env,
      internet,
    });
    const { told, text, result } = await call({ query: "lamps", ...row.input });
    expect(result.isError, text).not.toBe(true);
    const [first] = internet.got;
    expect(first && withoutNames(first)).toMatchObject({ at: row.at, ...row.asked });
    if ("body" in row.asked) expect(first?.body).toEqual(row.asked.body);
    if ("query" in row.asked) expect(first?.query).toEqual(row.asked.query);
    expect(told).toMatchObject({ query: "lamps", provider: row.id, cached: false, tookMs: expect.any(Number) });
    expect(told["externalContent"]).toEqual({
      untrusted: true,
      source: "web_search",
      provider: row.id,
      wrapped: true,
    });
    if (row.found) {
      expect(resultsOf(told)).toMatchObject(row.found);
      expect(told["count"]).toBe(row.found.length);
    } else expect(inside(told["content"])).toBe(row.content);
    if (row.citations) expect(told["citations"]).toEqual(row.citations);
    expect(text + JSON.stringify(result.details)).not.toContain(KEY);
  });

  it("has a row here", () => {
    const tested = new Set([...ROWS.map(({ id }) => id), "kimi", "searxng"]);
    expect(PROVIDERS.map(({ id }) => id).filter((id) => !tested.has(id))).toEqual([]);
  });

  it("finds its key and its address in the config, in a plugin's entry, and in the environment", async () => {
    const list = { title: "T", url: "https://a.example/", link: "https://a.example/", snippet: "s", content: "s" };
    const message = { content: "text", tool_calls: [] };
    const answer = {
      web: { results: [list] },
      data: { web: [list] },
      organic: [list],
      results: [list],
      candidates: [{ content: { parts: [{ text: "text" }] } }],
      output: [{ type: "message", content: [{ type: "output_text", text: "text" }] }],
      choices: [{ message }],
      search_results: [list],
    };
    for (const { id, plugin, keyVariables, needs } of PROVIDERS) {
      const base = `/own-${id}`;
      const baseUrl = `${internet.url}${base}`;
      internet.answers[base] = () => undefined;
      const sections = [
        { settings: { [id]: { baseUrl, ...(needs === "key" && { apiKey: KEY }) } } },
        { entries: { [plugin]: { config: { webSearch: { baseUrl, ...(needs === "key" && { apiKey: KEY }) } } } } },
        {
          settings: { [id]: { baseUrl } },
          env: Object.fromEntries(keyVariables.slice(-1).map((name) => [name, KEY])),
        },
      ];
      for (const section of sections) {
        internet.got.length = 0;
        for (const path of [
          "/res/v1/web/search",
          "/v1/coding_plan/search",
          "/models/gemini-2.5-flash:generateContent",
          "/responses",
          "/chat/completions",
          "/v2/search",
          "/search",
          "/api/experimental/web_search",
        ])
          internet.json(`${base}${path}`, answer);
        internet.text(`${base}/html`, DDG);
        const { call } = searchWith({ ...section, settings: { ...section.settings, provider: id } });
        const { result, text } = await call({ query: "lamps" });
        expect([id, result.isError ?? false, text]).toEqual([id, false, text]);
        const [got] = internet.got;
        expect(got?.at.startsWith(base), id).toBe(true);
        if (needs === "key") expect(JSON.stringify(got?.headers), id).toContain(KEY);
        expect(text).not.toContain(KEY);
      }
    }
  });

  it("takes the older place of Brave's key, and a model that the config names", async () => {
    internet.json("api.search.brave.com/res/v1/web/search", { type: "search", web: { results: [] } });
    const { call } = searchWith({ settings: { provider: "brave", apiKey: KEY }, internet });
    expect((await call({ query: "x" })).told).toMatchObject({ count: 0, results: [] });
    expect(internet.got[0]?.headers["x-subscription-token"]).toBe(KEY);
    for (const [id, at, env] of [
      ["gemini", "generativelanguage.googleapis.com/v1beta/models/mine:generateContent", { GEMINI_API_KEY: KEY }],
      ["kimi", "api.moonshot.ai/v1/chat/completions", { KIMI_API_KEY: KEY }],
    ] as const) {
      internet.got.length = 0;
      internet.json(at, {});
      await searchWith({ settings: { provider: id, [id]: { model: "mine" } }, env, internet }).call({ query: "x" });
      expect(internet.got[0]?.at).toBe(at);
      if (id === "kimi") expect(internet.got[0]?.body).toMatchObject({ model: "mine" });
    }
  });
});

describe("gemini", () => {
  it("names the pages that Google's addresses lead to, and keeps an address that leads nowhere", async () => {
    const row = ROWS.find(({ id }) => id === "gemini");
    internet.json(row?.at ?? "", row?.answer);
    const host = "vertexaisearch.cloud.google.com/grounding-api-redirect";
    internet.answers[`${host}/one`] = (_got, answer) =>
      answer.writeHead(302, { location: `${internet.url}/lamps.example/page` }).end();
    internet.answers[`${host}/lost`] = (_got, answer) => answer.destroy();
    const { told } = await searchWith({ env: { GEMINI_API_KEY: KEY }, internet }).call({ query: "lamps" });
    expect(told["citations"]).toEqual([`${internet.url}/lamps.example/page`, `https://${host}/lost`]);
    expect(
      internet.got.filter(({ method }) => method === "HEAD").every(({ headers }) => !headers["x-goog-api-key"]),
    ).toBe(true);
  });
});

describe("kimi", () => {
  const AT = "api.moonshot.ai/v1/chat/completions";
  const env = { MOONSHOT_API_KEY: KEY };
  const wanted = JSON.stringify({
    search_result: { search_id: "1" },
    search_results: [{ url: "https://lamps.example/a" }],
  });
  const call = { id: "c1", type: "function", function: { name: "$web_search", arguments: wanted } };

  it("gives the arguments of its own search back, and then has the answer", async () => {
    internet.answers[AT] = ({ body }, answer) => {
      const { messages } = body as { messages: unknown[] };
      const isAfter = messages.length > 1;
      const message = isAfter
        ? { role: "assistant", content: "Lamps give light." }
        : { role: "assistant", content: "", tool_calls: [call] };
      answer
        .writeHead(200)
        .end(JSON.stringify({ choices: [{ finish_reason: isAfter ? "stop" : "tool_calls", message }] }));
    };
    const { told } = await searchWith({ env, internet, settings: { provider: "kimi" } }).call({ query: "lamps" });
    expect(inside(told["content"])).toBe("Lamps give light.");
    expect(told["citations"]).toEqual(["https://lamps.example/a"]);
    expect(internet.got[0]?.body).toMatchObject({
      tools: [{ type: "builtin_function", function: { name: "$web_search" } }],
      thinking: { type: "disabled" },
    });
    expect(internet.got[1]?.body).toMatchObject({
      messages: [{ role: "user" }, { tool_calls: [call] }, { role: "tool", tool_call_id: "c1", content: wanted }],
    });
  });

  it("is refused when it answers from memory, and when it never ends searching", async () => {
    internet.json(AT, { choices: [{ message: { role: "assistant", content: "I think lamps…" } }] });
    const { call: search } = searchWith({ env, internet, settings: { provider: "kimi" } });
    expect((await search({ query: "lamps" })).text).toContain("without a search");
    internet.json(AT, { choices: [{ message: { role: "assistant", content: "", tool_calls: [call] } }] });
    expect((await search({ query: "lamps" })).text).toContain("searched 3 times");
    expect(internet.got).toHaveLength(4);
  });
});

describe("ollama", () => {
  it("is asked on this machine under both of its addresses, and then in the cloud with the key", async () => {
    internet.json("ollama.com/api/web_search", { results: [{ title: "T", url: "https://a.example", content: "s" }] });
    const env = { OLLAMA_API_KEY: KEY, OLLAMA_HOST: internet.url.replace("http://", "") };
    const { told } = await searchWith({ env, internet, settings: { provider: "ollama" } }).call({ query: "lamps" });
    expect(told["count"]).toBe(1);
    expect(internet.got.map(({ at }) => at)).toEqual([
      "/api/experimental/web_search",
      "/api/web_search",
      "ollama.com/api/web_search",
    ]);
  });
});

describe("a SearXNG of one's own", () => {
  it("is asked over HTTP at its private address, which the environment names", async () => {
    internet.json("/search", {
      query: "lamps",
      number_of_results: 0,
      results: [
        {
          title: "Lamps",
          url: "https://lamps.example/a",
          content: "All lamps",
          engine: "brave",
          publishedDate: "2026-11-02T00:00:00",
        },
      ],
      answers: [],
      unresponsive_engines: [],
    });
    const { call } = searchWith({ settings: { provider: "searxng" }, env: { SEARXNG_BASE_URL: `${internet.url}/` } });
    const { told } = await call({
      query: "lamps",
      language: "de",
      freshness: "year",
      domain_filter: ["lamps.example", "-ads.example"],
    });
    expect(resultsOf(told)).toMatchObject([{ title: "Lamps", snippet: "All lamps", published: "2026-11-02" }]);
    expect(internet.got[0]?.query).toEqual({
      q: "lamps site:lamps.example -site:ads.example",
      format: "json",
      categories: "general",
      language: "de",
      time_range: "year",
    });
  });
});
