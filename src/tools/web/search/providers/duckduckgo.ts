import type { FoundPage, SearchWish } from "../../../../types/plugin/web-search.ts";
import { SearchFailure, type SearchAccess, type SearchProvider } from "./provider.ts";

const FRESHNESS = { day: "d", week: "w", month: "m", year: "y" };
/** Most results that are read of a page. */
const MOST_PAGES = 30;
const CHECKS = /anomaly-modal|challenge-form|g-recaptcha/;
const NOTHING = /class="no-results|result--no-result/;

/** The page of results for browsers without scripts. The service has no interface for programs. */
export const duckduckgo: SearchProvider = {
  id: "duckduckgo",
  order: 100,
  plugin: "duckduckgo",
  keyVariables: [],
  needs: "nothing",
  options: ["country", "language", "freshness"],
  docs: "https://duckduckgo.com/duckduckgo-help-pages/settings/params/",
  baseUrl: () => "https://html.duckduckgo.com",
  async search(wish, access, ask) {
    const query = {
      q: wish.query,
      kl: regionOf(wish, access),
      kp: "-1",
      df: wish.freshness && FRESHNESS[wish.freshness],
    };
    const page = await ask.text({ path: "/html", query, headers: { accept: "text/html" } });
    const results = await pagesIn(page);
    if (results.length === 0 && CHECKS.test(page))
      throw new SearchFailure("refused", "asks for a proof that a person searches");
    if (results.length === 0 && !NOTHING.test(page))
      throw new SearchFailure("answer", "sent a page without a list of results");
    return { results };
  },
};

const regionOf = ({ country, language }: SearchWish, { region }: SearchAccess): string | undefined =>
  country === undefined ? region : `${country.toLowerCase()}-${(language ?? "en").toLowerCase().slice(0, 2)}`;

interface Reading {
  title: string;
  url: string;
  snippet: string;
  isAd: boolean;
}

/** The results of a page, found by the names of their classes. */
async function pagesIn(html: string): Promise<readonly FoundPage[]> {
  const { Parser } = await import("htmlparser2");
  const found: Reading[] = [];
  let into: "title" | "snippet" | undefined;
  let isAd = false;
  const parser = new Parser({
    onopentag(name, { class: classes = "", href = "" }) {
      const names = classes.split(/\s+/);
      if (names.includes("result")) isAd = names.includes("result--ad");
      if (name === "a" && names.includes("result__a")) {
        found.push({ title: "", url: targetOf(href), snippet: "", isAd });
        into = "title";
      } else if (names.includes("result__snippet")) into = "snippet";
    },
    ontext(text) {
      const last = found.at(-1);
      if (last && into) last[into] += text;
    },
    onclosetag(name) {
      if (name === "a" || name === "div" || name === "td") into = undefined;
    },
  });
  parser.end(html);
  return found.filter((page) => !page.isAd).slice(0, MOST_PAGES);
}

/** The address of a result's own page, which is a parameter of the service's link. */
function targetOf(href: string): string {
  const url = URL.parse(href, "https://duckduckgo.com");
  const isLink = url !== null && url.hostname.endsWith("duckduckgo.com") && url.pathname.startsWith("/l/");
  return (isLink ? url.searchParams.get("uddg") : url?.href) ?? "";
}
