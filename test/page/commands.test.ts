import { describe, expect, test } from "vitest";
import {
  completed,
  completionsAt,
  isTyped,
  readCommands,
  withModels,
} from "../../extensions/webchat/page/model/commands.ts";

const choices = (...words: string[]) => [{ name: "choice", choices: words.map((value) => ({ value, label: value })) }];

const usual = { source: "native", description: "", acceptsArgs: true } as const;

const COMMANDS = readCommands({
  commands: [
    { ...usual, name: "new", textAliases: ["/new"], description: "Start over." },
    { ...usual, name: "stop", textAliases: ["/stop", "/abort"], description: "Stop.", acceptsArgs: false },
    { ...usual, name: "status", textAliases: ["/status"], description: "State.", acceptsArgs: false },
    { ...usual, name: "send", textAliases: ["/send"], args: choices("on", "off") },
    {
      ...usual,
      name: "model",
      textAliases: ["/model"],
      category: "options",
      args: choices("list", "default"),
    },
    {
      ...usual,
      name: "think",
      textAliases: ["/think", "/t"],
      category: "options",
      args: choices("off", "minimal", "medium", "high", "default"),
    },
    { ...usual, name: "skill", textAliases: ["/skill"], args: choices("list", "tide-table", "docs/review") },
  ],
});

/** What is offered where `|` is the cursor. */
function offered(draft: string): readonly string[] {
  const cursor = draft.indexOf("|");
  const found = completionsAt(draft.replace("|", ""), cursor, COMMANDS);
  return found?.items.map(({ word }) => word) ?? [];
}

/** The draft, with `|` at the cursor, when the first completion is taken. */
function taken(draft: string): string {
  const text = draft.replace("|", "");
  const found = completionsAt(text, draft.indexOf("|"), COMMANDS);
  const [first] = found?.items ?? [];
  if (found === undefined || first === undefined) return draft;
  const next = completed(text, found, first);
  return `${next.draft.slice(0, next.cursor)}|${next.draft.slice(next.cursor)}`;
}

describe("completion of commands", () => {
  test("a slash at the start offers every command, filtered by what is written, also by another name", () => {
    expect(offered("/|")).toEqual(["/new", "/stop", "/status", "/send", "/model", "/think", "/skill"]);
    expect(offered("/st|")).toEqual(["/stop", "/status"]);
    expect(offered("  /ST|")).toEqual(["/stop", "/status"]);
    expect(offered("/ab|")).toEqual(["/abort"]);
    expect(offered("/t|")).toEqual(["/t"]);
    expect(offered("/nothing|")).toEqual([]);
  });

  test("in the middle only directives are offered, from their first letter on, and not within a word", () => {
    expect(offered("please /th|")).toEqual(["/think"]);
    expect(offered("please /st|")).toEqual([]);
    expect(offered("either / or|")).toEqual([]);
    expect(offered("either /|")).toEqual([]);
    expect(offered("and/th|")).toEqual([]);
    expect(offered("/thi|nk")).toEqual([]);
    expect(offered("two\n/think m|")).toEqual(["minimal", "medium"]);
  });

  test("after the name the words are offered that may follow it", () => {
    expect(offered("/think |")).toEqual(["off", "minimal", "medium", "high", "default"]);
    expect(offered("/T me|")).toEqual(["medium"]);
    expect(offered("/think high|")).toEqual([]);
    expect(offered("/send |")).toEqual(["on", "off"]);
    expect(offered("please /send |")).toEqual([]);
    expect(offered("please /think |")).toEqual(["off", "minimal", "medium", "high"]);
    expect(offered("/think high |")).toEqual([]);
    expect(offered("/stop |")).toEqual([]);
    expect(offered("/skill |")).toEqual(["list", "tide-table", "docs/review"]);
    expect(offered("/skill TI|")).toEqual(["tide-table"]);
    expect(offered("/skill docs/|")).toEqual(["docs/review"]);
    expect(offered("/skill docs/review |")).toEqual([]);
    expect(offered("word |")).toEqual([]);
  });

  test("what is taken stands in place of the word, and the cursor is where one goes on writing", () => {
    expect(taken("/thi|")).toBe("/think |");
    expect(taken("/st|")).toBe("/stop|");
    expect(taken("/think m|")).toBe("/think minimal|");
    expect(taken("now /thi| this")).toBe("now /think |this");
    expect(taken("now /think h| this")).toBe("now /think high| this");
  });

  test("a name that is written in full is known as such, so that Enter sends it", () => {
    const found = completionsAt("/Stop", 5, COMMANDS);
    const [first] = found?.items ?? [];
    expect(found !== undefined && first !== undefined && isTyped(found, first)).toBe(true);
  });

  test("models are offered after the command that chooses one", () => {
    const commands = withModels(COMMANDS, ["acme/large"]);
    const words = (draft: string) => completionsAt(draft, draft.length, commands)?.items.map(({ word }) => word);
    expect(words("/model ")).toEqual(["list", "default", "acme/large"]);
    expect(words("/model a")).toEqual(["acme/large"]);
    expect(words("say hello /model ")).toEqual(["acme/large"]);
  });
});
