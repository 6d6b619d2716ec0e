import { expect, test } from "vitest";
import { Contributions } from "../../src/plugins/contributions.ts";
import { Hooks } from "../../src/plugins/hooks.ts";
import { hookedFiles } from "../../src/prompt/hooked-files.ts";
import type { ContextFile } from "../../src/prompt/system-context.ts";
import { agentId, sessionKey } from "../../src/types/ids.ts";
import { manualClock } from "../kit/clock.ts";
import { recordLog } from "../kit/log.ts";

const FILES: readonly ContextFile[] = [
  { path: "AGENTS.md", content: "Be kind.", wholeChars: 99 },
  { path: "USER.md", content: "Ada." },
];

type Handler = (event: { readonly bootstrapFiles: readonly object[] }) => unknown;

/** The files as these handlers leave them, one after the other. */
function left(handlers: readonly Handler[], limits = {}): Promise<readonly ContextFile[]> {
  const contributions = new Contributions([
    { id: "test", register: ({ addHook }) => handlers.forEach((handler) => addHook("agent:bootstrap", handler)) },
  ]);
  const hooks = new Hooks(contributions, manualClock(), recordLog());
  const scene = { workspace: "/w", agentId: agentId("main"), sessionKey: sessionKey("main"), limits };
  return hookedFiles({ files: FILES, ...scene }, hooks);
}

const file = (path: string, content: string) => ({ name: path, path: `/w/${path}`, content, missing: false });

test("hooks may add, change and remove files, each after the one before", async () => {
  const adding: Handler = ({ bootstrapFiles }) => ({
    bootstrapFiles: [...bootstrapFiles, file("sub/AGENTS.md", "Tides.")],
  });
  const changing: Handler = ({ bootstrapFiles: [first, , third] }) => ({
    bootstrapFiles: [first, { ...third, content: "High." }],
  });
  expect(await left([adding, changing])).toEqual([FILES[0], { path: "sub/AGENTS.md", content: "High." }]);
  expect(await left([])).toBe(FILES);
  expect(await left([() => ({ bootstrapFiles: [] })])).toEqual([]);
});

test.each([
  ["nothing", undefined],
  ["no list", { bootstrapFiles: "all" }],
  ["another answer", { files: [] }],
])("a hook that answers %s changes nothing", async (_what, answer) => {
  expect(await left([() => answer])).toBe(FILES);
});

test("what is no file is left out, and a path cannot begin a line of its own", async () => {
  const given = [
    null,
    7,
    { name: "x" },
    { ...file("gone.md", "x"), missing: true },
    file("empty.md", " "),
    { name: "a\nb", content: "c" },
  ];
  expect(await left([() => ({ bootstrapFiles: given })])).toEqual([{ path: "a b", content: "c" }]);
  const outside = { name: "AGENTS.md", path: "/other/AGENTS.md", content: "Outside." };
  expect(await left([() => ({ bootstrapFiles: [outside] })])).toEqual([
    { path: "/other/AGENTS.md", content: "Outside." },
  ]);
});

test("the limits of context files hold for the result, and the number of files is limited", async () => {
  const many = Array.from({ length: 500 }, (_none, at) => file(`${at}.md`, "x".repeat(100_000)));
  const files = await left([() => ({ bootstrapFiles: many })], { maxChars: 1000, totalMaxChars: 5000 });
  expect(files.length).toBeLessThanOrEqual(60);
  expect(files.reduce((sum, { content }) => sum + content.length, 0)).toBeLessThanOrEqual(5000 + 60 * 40);
  expect(files[0]).toMatchObject({ wholeChars: 100_000 });
});
