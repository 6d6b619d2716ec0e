import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import de from "../../extensions/webchat/page/words/de.json" with { type: "json" };
import en from "../../extensions/webchat/page/words/en.json" with { type: "json" };

const root = path.resolve(import.meta.dirname, "../../extensions/webchat/page");

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.d\.ts$|highlight\.ts$|icons\.tsx$/.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(root, name), "utf8") }));

/** Calls whose own texts are names, and are not shown. */
const NAMES =
  /(?:^|\.)(?:ask|dispatch|exec|test|match|split|join|startsWith|endsWith|includes|querySelector(?:All)?|getItem|setItem|removeItem|closest|replace|replaceAll|addEventListener|removeEventListener|visit|listen|matchMedia|warn|setOf)$/;
/** Attributes whose values are shown or read to a person. */
const SHOWN = new Set("aria-label title placeholder alt label sure empty hint none heading".split(" "));
/** Attributes whose values are names. */
const UNSEEN = new Set(["class", "kind", "rel", "viewBox"]);
/** Fields whose values are shown. */
const FIELDS = new Set("label title hint empty heading told problem message fix what".split(" "));
/** Commands, formats, names and what the demo model knows, which are the same in every language. */
const SAME =
  /^(?:(?:Discord|Signal|Slack|Telegram|Home|End|given back|not in the order|list the files|read README\.md|run date)$|.* – openclaw Xx$|openclaw$|openclaw |https?:|JSON5$|default$|\/\w+$|\W*$)/;
const TYPES = /^(?:Import|TS(?!As|NonNull|Satisfies))/;

const isWords = (text: string): boolean => /[A-Za-z]{2}/.test(text) && !SAME.test(text.trim());
const isPhrase = (text: string): boolean =>
  isWords(text) && (/[A-Za-z]\S* \S*[A-Za-z]/.test(text) || /^[A-Z][a-z]+[.…]?$/.test(text));
/** A text around values is one for people when a word stands at a space. */
const isTemplate = (pieces: readonly string[]): boolean =>
  isPhrase(`${pieces.join(" Xx ")} Xx`) && pieces.some((piece) => / [a-z]{2,}|[a-z]{2,} /.test(piece));

const nameOf = (node: unknown): string => String((node as Node)["name"]);

/** The texts of `t`, `rich` and `said` in a file, and its texts for a person that are in no call of these. */
class Texts {
  readonly keys: string[] = [];
  readonly outside: string[] = [];
  readonly #name: string;
  readonly #text: string;

  constructor({ name, text }: (typeof sources)[number]) {
    this.#name = name;
    this.#text = text;
    this.#visit(parseAst(text, { lang: name.endsWith("x") ? "tsx" : "ts" }, name).body, false);
  }

  #tell(node: Node, words: unknown): void {
    this.outside.push(`${this.#name}:${this.#text.slice(0, node.start).split("\n").length}: ${String(words).trim()}`);
  }

  #visit(value: unknown, isShown: boolean): void {
    if (Array.isArray(value)) return value.forEach((one) => this.#visit(one, isShown));
    if (!isNode(value) || TYPES.test(value.type)) return;
    if (value.type === "CallExpression") return this.#call(value);
    if (value.type.startsWith("JSX")) return this.#element(value, isShown);
    switch (value.type) {
      case "ConditionalExpression":
        return this.#visit([value["consequent"], value["alternate"]], isShown);
      case "LogicalExpression":
        return this.#visit([value["left"], value["right"]], isShown);
      case "BinaryExpression":
        return value["operator"] === "+" ? this.#visit([value["left"], value["right"]], isShown) : undefined;
      case "Property":
        return this.#visit(value["value"], FIELDS.has(nameOf(value["key"])));
      case "Literal":
        return this.#literal(value, isShown);
      case "TemplateLiteral": {
        const pieces = (value["quasis"] as readonly Node[]).map((one) => (one["value"] as { cooked: string }).cooked);
        if (isTemplate(pieces)) this.#tell(value, pieces.join("…"));
        return this.#visit(value["expressions"], false);
      }
      default:
        return this.#visit(Object.values(value), false);
    }
  }

  #literal(node: Node, isShown: boolean): void {
    const words = node["value"];
    if (typeof words === "string" && (isPhrase(words) || (isShown && isWords(words)))) this.#tell(node, words);
  }

  #call(node: Node): void {
    const callee = node["callee"] as Node;
    const called = this.#text.slice(callee.start, callee.end);
    const given = node["arguments"] as readonly Node[];
    if (called === "t" || called === "rich" || called === "said") {
      const key = given[0]?.["value"];
      if (typeof key === "string") this.keys.push(key);
      else this.#tell(node, "a text that is no literal");
      return this.#visit(given.slice(1), false);
    }
    this.#visit(callee, false);
    this.#visit(NAMES.test(called) ? given.filter(({ type }) => !type.endsWith("Literal")) : given, false);
  }

  #element(node: Node, isShown: boolean): void {
    switch (node.type) {
      case "JSXText":
        return isWords(String(node["value"])) ? this.#tell(node, node["value"]) : undefined;
      case "JSXAttribute":
        return UNSEEN.has(nameOf(node["name"]))
          ? undefined
          : this.#visit(node["value"], SHOWN.has(nameOf(node["name"])));
      case "JSXExpressionContainer":
        return this.#visit(node["expression"], isShown);
      case "JSXElement": {
        const opening = node["openingElement"] as Node;
        this.#visit(opening["attributes"], false);
        return nameOf(opening["name"]) === "code" ? undefined : this.#visit(node["children"], true);
      }
      default:
        return this.#visit([node["children"], node["argument"]], true);
    }
  }
}

const found = sources.filter(({ name }) => name !== path.join("words", "words.ts")).map((one) => new Texts(one));
const keys = new Set(found.flatMap((one) => one.keys));

test("every text for a person can be translated", () => {
  expect(found.flatMap(({ outside }) => outside)).toEqual([]);
});

test("the catalogue has the texts of the page", () => {
  expect(Object.keys(en).toSorted()).toEqual([...keys].toSorted());
});

const LANGUAGES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [["de", de]];
/** How often a text has each place, in all its forms. */
const placesOf = (text: string): readonly string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].toSorted();

test.each(LANGUAGES)("every text is translated, with the same places and all forms: %s", (language, texts) => {
  const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.length;
  const wrong = Object.entries(texts).filter(
    ([key, text]) =>
      placesOf(key).join() !== placesOf(text).join() ||
      text.trim() === "" ||
      text.split("|").length !== (key.includes("|") ? forms : 1),
  );
  expect(wrong).toEqual([]);
  expect([...keys].filter((key) => !(key in texts))).toEqual([]);
  expect(Object.keys(texts).filter((key) => !keys.has(key))).toEqual([]);
});
