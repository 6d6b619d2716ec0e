import { describe, expect, it } from "vitest";

import { parseMarkdown } from "../../src/reply/markdown/parse.ts";
import { toPlain, toTelegramHtml } from "../kit/whole-document.ts";
import type { TableMode } from "../../src/reply/markdown/table.ts";

const html = (text: string, tables?: TableMode) => toTelegramHtml(parseMarkdown(text), tables);
const plain = (text: string) => toPlain(parseMarkdown(text));

describe("toTelegramHtml", () => {
  it.each([
    ["**a** *b* ~~c~~ `d`", "<b>a</b> <i>b</i> <s>c</s> <code>d</code>"],
    ["***both***", "<i><b>both</b></i>"],
    ["# Title with **bold**\n\ntext", "<b>Title with bold</b>\n\ntext"],
    ["a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"],
    ["<u>raw</u> <script>", "raw &lt;script&gt;"],
    ["a<br>b<BR />c <!-- no **more** --> d `<br>`", "a\nb\nc  d <code>&lt;br&gt;</code>"],
    ["**注意：**请 **“重点”**内容", "<b>注意：</b>请 <b>“重点”</b>内容"],
    ["**주의(important)**는 请**“看”**", "<b>주의(important)</b>는 请<b>“看”</b>"],
    ["**a:**b", "**a:**b"],
    ["$x^*$ and $y^*$, $$a*b*c$$", "$x^*$ and $y^*$, $$a*b*c$$"],
    ["\\(a_1 * b_2 \\\\ c\\) \\[x = *y*\\]", "\\(a_1 * b_2 \\\\ c\\) \\[x = *y*\\]"],
    ["*$5* to *$6*, \\[1\\] \\(no\\)", "<i>$5</i> to <i>$6</i>, [1] (no)"],
    ["line one\nline two", "line one\nline two"],
    ["```js\nlet a = '<';\n```", "<pre><code class=\"language-js\">let a = '&lt;';</code></pre>"],
    ["```\nx\n```", "<pre>x</pre>"],
    ['```evil"lang\nx\n```', "<pre>x</pre>"],
    ["> quoted\n> more", "<blockquote>quoted\nmore</blockquote>"],
    ["> - a\n> - b", "<blockquote>• a\n• b</blockquote>"],
    ["- **a**", "• <b>a</b>"],
    ["> a\n> > b", "<blockquote>a\n\n&gt; b</blockquote>"],
    ["- a\n- b\n  - c\n  - d", "• a\n• b\n  • c\n  • d"],
    ["3. a\n4. b\n   more", "3. a\n4. b\n   more"],
    ["- a\n\n- b", "• a\n\n• b"],
    ["- run:\n  ```sh\n  ls\n  ```", '• run:\n<pre><code class="language-sh">ls</code></pre>'],
    ["a\n\n---\n\nb", "a\n\n──────────\n\nb"],
    ["[a](https://x.org/?a=1&b=%22)", '<a href="https://x.org/?a=1&amp;b=%22">a</a>'],
    ["[**a** `b`](https://x.org)", '<a href="https://x.org"><b>a</b> <code>b</code></a>'],
    ["[me](tg://user?id=1)", '<a href="tg://user?id=1">me</a>'],
    ["[a](src/a.ts) [src/b.ts](src/b.ts)", "a (src/a.ts) src/b.ts"],
    ["[page](http://localhost:18789/)", "page (http://localhost:18789/)"],
    ["<me@x.org> [write](mailto:me@x.org)", "me@x.org write (mailto:me@x.org)"],
    ["[x](javascript:alert)", "[x](javascript:alert)"],
    ["![a cat](https://x.org/c.png)", '<a href="https://x.org/c.png">a cat</a>'],
    ["![](https://x.org/c.png)", '<a href="https://x.org/c.png">https://x.org/c.png</a>'],
    ["[![logo](https://x.org/l.png)](https://x.org)", '<a href="https://x.org">logo</a>'],
    ["it was ||the *butler*||!", "it was <tg-spoiler>the <i>butler</i></tg-spoiler>!"],
    ["a || b || c, a||b||c", "a || b || c, a||b||c"],
    ["", ""],
  ])("%j becomes %j", (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it("shows tables in each mode", () => {
    const narrow = "| Name | Age |\n|---|--:|\n| *Ann* | 7 |\n| 日本 | 42 |";
    const code = "<pre>Name  Age\n────  ───\nAnn     7\n日本   42</pre>";
    expect(html(narrow)).toBe(code);
    expect(html(narrow, "code")).toBe(code);
    expect(html(narrow, "block")).toBe(code);
    expect(html(narrow, "bullets")).toBe(
      "• <b>Name:</b> <i>Ann</i>\n  <b>Age:</b> 7\n• <b>Name:</b> 日本\n  <b>Age:</b> 42",
    );
    expect(html(narrow, "off")).toBe("| Name | Age |\n| <i>Ann</i> | 7 |\n| 日本 | 42 |");
    expect(html(`| Key | Text |\n|---|---|\n| a | ${"wide ".repeat(9)} |`)).toContain("• <b>Key:</b> a\n");
    expect(html("| Site |\n|---|\n| [x](https://x.org) |")).toBe('• <b>Site:</b> <a href="https://x.org">x</a>');
  });
});

describe("toPlain", () => {
  it.each([
    ["**a** [b](https://x.org/c) <https://x.org>", "a b (https://x.org/c) https://x.org"],
    ["[x.org](https://x.org/)", "x.org"],
    ["```js\nlet a;\n```", "let a;"],
    ["- a\n- b", "• a\n• b"],
  ])("%j becomes %j", (text, expected) => {
    expect(plain(text)).toBe(expected);
  });
});
