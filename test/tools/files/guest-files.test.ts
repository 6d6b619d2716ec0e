import { expect, it } from "vitest";
import { hiddenByName } from "../../../src/tools/host/guest-files.ts";

const list = (paths: string): readonly string[] => paths.trim().split(/\s*\n\s*/);

const HIDDEN = {
  notes: list(`
    MEMORY.md
    memory.MD
    ＭＥＭＯＲＹ.md
    .MEMORY.md.swp
    #MEMORY.md#
    .#MEMORY.md
    ._MEMORY.md
    MEMORY (1).md
    MEMORY copy.md
    Copy of MEMORY.md
    MEMORY.sync-conflict-20260101-1-AB.md
    %home%x%MEMORY.md.swp
    !home!ws!memory!2026-05-05.md~
    MEMORY_BASE_1234.md
    sub/MEMORY.md
    memory
    memory/any.bin
    memory~/any.bin
    Memory-old/any.bin
    memory.2026/any.bin
    sub/memory/2026-05-05.md~
    skills/MEMORY.md
    sub/.openclaw-01234567-89ab-4cde-8f01-23456789abcd.tmp`),
  repository: list(`
    .git
    sub/.GIT/HEAD
    sub/.hg/store
    .svn/pristine
    MEMORY.md,v
    skills/greet/.git/config`),
  archive: list(`
    kept.zip
    sub/kept.tar.zst
    kept.TGZ
    kept.bundle`),
};
const SHOWN = list(`
  AGENTS.md
  plan.md
  memory.txt
  memory-game/index.html
  memory-usage.py
  src/memory/heap.ts
  docs/memory-management.md
  data.csv.gz
  .gitignore
  .github/workflows/test.yml
  skills/greet/memory.md
  skills/greet/assets.zip`);

it.each(Object.entries(HIDDEN))("guests see no %s by name", (why, paths) => {
  expect(paths.filter((path) => hiddenByName(path.split("/")) !== why)).toEqual([]);
});

it("guests see ordinary names", () => {
  expect(SHOWN.filter((path) => hiddenByName(path.split("/")) !== undefined)).toEqual([]);
});
