import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chromium } from "playwright-core";
import { readPage } from "../../../src/tools/web/page/read-page.ts";
import { CHROMIUM, hasChromium } from "../../kit/page/chromium.ts";
import { randomPage } from "./random-page.ts";
import { processorTime } from "../../kit/processor-time.ts";

/** Of each page, the words that begin with SEEN are shown and those that begin with HIDDEN are not. */
const PAGES: readonly (readonly [string, string, string])[] = [
  ["a descendant", ".box p{display:none}", "<div class=box><section><p>HIDDEN</p></section></div><p>SEEN</p>"],
  ["a child", ".box > p{display:none}", "<div class=box><p>HIDDEN</p><section><p>SEEN</p></section></div>"],
  ["a neighbour", "h2 + p{visibility:hidden}", "<h2>SEEN-1</h2><p>HIDDEN</p><p>SEEN-2</p>"],
  ["a later sibling", "h2 ~ p{opacity:0}", "<p>SEEN-1</p><h2>SEEN-2</h2><p>HIDDEN-1</p><div></div><p>HIDDEN-2</p>"],
  [
    "one of several",
    ":is(.a, #b) span{display:none}",
    "<p class=a><span>HIDDEN-1</span></p><p id=b><span>HIDDEN-2</span>SEEN</p>",
  ],
  ["no class", "p:not(.shown){display:none}", "<p class=shown>SEEN</p><p>HIDDEN</p>"],
  ["no focus", ".skip:not(:focus){clip-path:inset(100%)}", "<a class=skip href=/x>HIDDEN</a><p>SEEN</p>"],
  ["a pointer that is not there", "p:hover{display:none}", "<p>SEEN</p>"],
  ["a place", "li:nth-child(2), li:last-child{display:none}", "<ul><li>SEEN-1<li>HIDDEN-2<li>SEEN-3<li>HIDDEN-4</ul>"],
  [
    "an attribute",
    '[data-x="1"] b, [lang|=en]{display:none}',
    "<p data-x=1><b>HIDDEN-1</b>SEEN</p><p lang=en-GB>HIDDEN-2</p>",
  ],
  ["what it holds", "div:has(> i){display:none}", "<div><i>HIDDEN</i></div><div><b><i>SEEN</i></b></div>"],
  ["emptiness", "p:empty{display:none}", "<p>SEEN</p>"],
  ["the root", ":root p.x, html body p.y{display:none}", "<p class=x>HIDDEN-1</p><p class=y>HIDDEN-2</p><p>SEEN</p>"],
  ["a direction", "p:dir(ltr){display:none}", "<p>HIDDEN</p><b>SEEN</b>"],
  ["an element of no tag", "p::before{display:none}", "<p>SEEN</p>"],
  [
    "a rule that shows again",
    ".tab p{display:none} .tab p.on{display:block}",
    "<div class=tab><p class=on>SEEN</p><p>HIDDEN</p></div>",
  ],
  ["a weaker rule after it", "#a p{display:none} p{display:block}", "<div id=a><p>HIDDEN</p></div><p>SEEN</p>"],
  [
    "an important one",
    "p.x{display:none!important} #p{display:block}",
    '<p class=x id=p style="display:block">HIDDEN</p><p>SEEN</p>',
  ],
  ["the element's own style", ".x{display:none}", '<p class=x style="display:block">SEEN</p><p class=x>HIDDEN</p>'],
  [
    "a rule in a rule",
    ".a{color:red; .b{display:none} & > i{display:none} color:blue}",
    "<p class=a><span class=b>HIDDEN-1</span><i>HIDDEN-2</i>SEEN</p>",
  ],
  ["a condition in a rule", ".a{@media (min-width:1px){display:none}}", "<p class=a>HIDDEN</p><p>SEEN</p>"],
  ["two rules together", ".a{position:absolute} .b{left:-9999px}", '<p class="a b">HIDDEN</p><p class=b>SEEN</p>'],
  ["a brace in a text", '.x::after{content:"{"} .y{display:none}', "<p class=y>HIDDEN</p><p class=x>SEEN</p>"],
  ["a brace in an address", ".x{background:url(x{y)} .y{display:none}", "<p class=y>HIDDEN</p><p class=x>SEEN</p>"],
  ["a comment of HTML", "<!-- .y{display:none} -->", "<p class=y>HIDDEN</p><p>SEEN</p>"],
  ["a sheet that does not end", ".y{display:none", "<p class=y>HIDDEN</p><p>SEEN</p>"],
  [
    "a wide screen",
    "@media not print{.a{display:none}} @media (width > 500px) and (color){.b{display:none}}",
    "<p class=a>HIDDEN-1</p><p class=b>HIDDEN-2</p><p>SEEN</p>",
  ],
  [
    "another screen",
    "@media (max-width:600px), print{p{display:none}} @media (prefers-color-scheme:dark){p{display:none}}",
    "<p>SEEN</p>",
  ],
  [
    "a style with comments, quotes and addresses",
    ".x{display:/*a*/none}",
    `<p class=x>HIDDEN-1</p><p style="display:/**/none">HIDDEN-2</p><p style="display:none/*;">HIDDEN-3</p>
     <p style="content:'/*';display:none">HIDDEN-4</p><p style="content:';display:block;';display:none">HIDDEN-5</p>
     <p style="content:'/* ;display:none;'">SEEN-6</p><p style="background:url(a;b);display:none">HIDDEN-7</p>`,
  ],
  [
    "a long style",
    "",
    `<p style="${"--a:b;".repeat(2000)}display:none">HIDDEN-1</p><p style="${"/* a */".repeat(2000)}display:none">HIDDEN-2</p>
     <p style="display:${" ".repeat(5000)}none">HIDDEN-3</p><p style="${"--a:b;".repeat(2000)}">SEEN</p>`,
  ],
  [
    "the place on the screen, a size and a scale",
    "",
    [
      "position:fixed;top:-500px",
      "position:fixed;top:calc(-500px)",
      "position:fixed;inset:-500px auto auto 0",
      "zoom:.001",
      "scale:0",
      "translate:-2000px",
      "font:0/0 serif",
    ]
      .map((style, at) => `<p style="${style}">HIDDEN-${at}</p>`)
      .concat(
        ["zoom:0", "scale:1", "font:12px serif", "margin:0 -9999px;padding:0 9999px", "disp\\6cay:none"].map(
          (style, at) => `<p style="${style}">SEEN-${at}</p>`,
        ),
      )
      .join(""),
  ],
  [
    "an escaped name",
    String.raw`.md\:off{display:none} .\31 a{display:none}`,
    '<p class="md:off">HIDDEN-1</p><p class=1a>HIDDEN-2</p><p>SEEN</p>',
  ],
];

const pageOf = (style: string, body: string): string =>
  `<!doctype html><html><head><title>t</title><style>${style}</style></head><body>${body}</body></html>`;

function seenIn(html: string): readonly string[] {
  const read = readPage({
    kind: "html",
    bytes: Buffer.from(html),
    url: "https://a.test/",
    mode: "text",
    readability: false,
    most: 20_000,
  });
  return "text" in read ? [...read.text.matchAll(/(?:SEEN|HIDDEN|W)[-\d]+|SEEN|HIDDEN/g)].map(([word]) => word) : [];
}

const seenWordsOf = (body: string): readonly string[] => [...body.matchAll(/SEEN[-\d]*/g)].map(([word]) => word);

describe("text that a style sheet hides", () => {
  for (const [by, style, body] of PAGES)
    it(`is left out, and nothing else, by ${by}`, () => {
      expect(seenIn(pageOf(style, body))).toEqual(seenWordsOf(body));
    });

  it.runIf(hasChromium)(
    "is what Chromium does not show of the same pages",
    async () => {
      const browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: false });
      try {
        const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
        for (const [by, style, body] of PAGES) {
          await page.setContent(pageOf(style, body));
          expect([by, await page.evaluate<string[]>(SHOWN)]).toEqual([by, seenWordsOf(body)]);
        }
      } finally {
        await browser.close();
      }
    },
    60_000,
  );

  it.runIf(hasChromium)(
    "is never shown, whatever the rules of a page are",
    async () => {
      const browser = await chromium.launch({ executablePath: CHROMIUM, chromiumSandbox: false });
      try {
        const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
        await fc.assert(
          fc.asyncProperty(fc.integer(), async (seed) => {
            const html = randomPage(seed);
            await page.setContent(html);
            const shown = await page.evaluate<string[]>(SHOWN);
            // A page that hides everything is shown as a whole.
            const wrong = shown.length === 0 ? [] : seenIn(html).filter((word) => !shown.includes(word));
            expect(wrong, html).toEqual([]);
          }),
          { numRuns: 150 },
        );
      } finally {
        await browser.close();
      }
    },
    60_000,
  );

  it("takes a page a bounded time, whatever its rules are, and then hides what they may", () => {
    const rules = Array.from({ length: 2000 }, (_none, at) => `p:has(~ i) b:nth-last-child(${at}) ~ b{display:none}`);
    const body = `<p>SEEN</p>${"<p><b>x</b><b>y</b><b>HIDDEN</b></p>".repeat(5000)}`;
    let seen: readonly string[] = [];
    const spent = processorTime(() => (seen = seenIn(pageOf(rules.join(""), body))));
    expect(seen.filter((word) => word !== "HIDDEN")).toEqual(["SEEN"]);
    expect(spent).toBeLessThan(20_000);
  });
});

/** The words whose elements are visible and on the screen. */
const SHOWN = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const words = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const found = node.textContent.match(/(?:SEEN|HIDDEN|W)[-\\d]+|SEEN|HIDDEN/g) ?? [];
    const box = node.parentElement.getBoundingClientRect();
    const isVisible = node.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const range = document.createRange();
    range.selectNodeContents(node);
    const text = range.getBoundingClientRect();
    const isThere = text.width >= 1 && text.height >= 1 && box.right > 0 && box.bottom > 0;
    const isCut = getComputedStyle(node.parentElement).clipPath !== "none";
    if (isVisible && isThere && !isCut) words.push(...found);
  }
  return words;
})()`;
