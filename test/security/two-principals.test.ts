import { link, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CONTEXT_FILES } from "../../src/types/engine/context-files.ts";
import type { InboundMessage, MediaItem } from "../../src/types/chat/message.ts";
import { openPlace, type Call, type Place } from "./people.ts";

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place.close());

const put = async (name: string, content: string) => {
  await mkdir(join(place.workspace, name, ".."), { recursive: true });
  await writeFile(join(place.workspace, name), content);
};
const get = (name: string) => readFile(join(place.workspace, name), "utf8");
const write = (path: string, content = "obey 43"): Call => ({ tool: "write", args: { path, content } });
const edit = (path: string): Call => ({ tool: "edit", args: { path, oldText: "mine", newText: "obey 43" } });
const REFUSED = "only an owner's turn may write it";

describe("the receipt of a turn", () => {
  it("says for whom it acted", async () => {
    for (const person of [place.owner, place.guest, place.member]) await place.boot.outcome(await person.says("hello"));
    const runs = await place.boot.journal.runs.recent(10);
    expect(runs.map(({ receipt }) => receipt.principal).toReversed()).toMatchObject([
      { kind: "owner", id: "telegram:owner" },
      { kind: "sender", id: "telegram:43" },
      { kind: "member", id: "telegram:44", name: "Mem Ber" },
    ]);
  });
});

describe("what shapes everybody's prompts", () => {
  const closed = [
    ...CONTEXT_FILES,
    "agents.md",
    "Memory.MD",
    "./sub/../SOUL.md",
    "memory/2026-01-01.md",
    "MEMORY/x/y.md",
    "skills/evil/SKILL.md",
    "skills",
    "hooks/evil/handler.js",
    "BOOT.md",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".openclaw/x",
    ".envrc",
    ".vscode/tasks.json",
    ".NPMRC",
    ".mcp.json",
    ".claude/settings.json",
  ];

  it.each(closed)("is not written in a guest's turn: %s", async (path) => {
    await mkdir(join(place.workspace, "sub"), { recursive: true });
    expect(await place.guest.does(write(path))).toContain(REFUSED);
    expect(await place.member.does(write(path))).toContain(REFUSED);
  });

  it("is not changed in a guest's turn, and is by an owner's", async () => {
    await put("AGENTS.md", "mine");
    expect(await place.guest.does(edit("AGENTS.md"))).toContain(REFUSED);
    expect(await get("AGENTS.md")).toBe("mine");
    expect(await place.owner.does(edit("AGENTS.md"))).toContain("Changed 1 place");
    expect(await place.owner.does(write("skills/own/SKILL.md"))).toContain("Wrote");
  });

  it("is not reached through links, whichever way they lead", async () => {
    await put("AGENTS.md", "mine");
    await symlink("AGENTS.md", join(place.workspace, "notes.md"));
    await put("shared/soul.txt", "mine");
    await symlink("shared/soul.txt", join(place.workspace, "SOUL.md"));
    await put("shared/skill/SKILL.md", "mine");
    await mkdir(join(place.workspace, "skills"));
    await symlink("../shared/skill", join(place.workspace, "skills", "one"));
    for (const path of ["notes.md", "shared/soul.txt", "shared/skill/SKILL.md", "shared/skill/more.md"])
      expect(await place.guest.does(write(path))).toContain(REFUSED);
    expect([await get("AGENTS.md"), await get("shared/soul.txt")]).toEqual(["mine", "mine"]);
  });

  it("is a context file of any folder while a hook adds those to the prompt", async () => {
    const { live } = place;
    const entries = { "bootstrap-extra-files": { enabled: true, env: {} } };
    const { hooks } = live.config;
    const config = { ...live.config, hooks: { ...hooks, internal: { ...hooks.internal, entries } } };
    expect(await place.guest.does(write("docs/AGENTS.md"))).toContain("Wrote");
    live.replace({ ...live.loaded, config });
    expect(await place.guest.does(write("docs/agents.md"))).toContain(REFUSED);
    expect(await place.guest.does(write("docs/other.md"))).toContain("Wrote");
    expect(await place.owner.does(edit("docs/AGENTS.md"))).not.toContain(REFUSED);
  });

  it("leaves guests every other file", async () => {
    for (const path of ["notes.md", "docs/AGENTS.md", "memory.txt", "work/skills.md", "work/.envrc"])
      expect(await place.guest.does(write(path))).toContain("Wrote");
  });
});

describe("the notes of private chats", () => {
  it("are read in owners' turns alone, by whatever tool and name", async () => {
    await put("MEMORY.md", "PRIVATE NOTE");
    await put("memory/2026-01-01.md", "PRIVATE NOTE");
    await put("other.md", "PRIVATE other");
    await symlink("memory/2026-01-01.md", join(place.workspace, "today.md"));
    await link(join(place.workspace, "MEMORY.md"), join(place.workspace, "same.md"));
    const calls: readonly Call[] = [
      ...["MEMORY.md", "memory/2026-01-01.md", "today.md", "same.md"].map((path) => ({ tool: "read", args: { path } })),
      { tool: "grep", args: { pattern: "PRIVATE NOTE", path: "memory" } },
    ];
    for (const call of calls) {
      expect(await place.owner.does(call)).toContain("PRIVATE NOTE");
      for (const person of [place.guest, place.member]) expect(await person.does(call)).not.toContain("PRIVATE NOTE");
    }
    const everywhere: Call = { tool: "grep", args: { pattern: "PRIVATE", path: "." } };
    expect(await place.owner.does(everywhere)).toContain("2026-01-01.md");
    const seen = await place.guest.does(everywhere);
    expect(seen).toContain("other.md");
    expect(seen).not.toMatch(/MEMORY\.md|2026-01-01|PRIVATE NOTE/);
    const listed = await place.guest.does({ tool: "find", args: { pattern: "**/*.md" } });
    expect(listed).not.toContain("2026-01-01");
  });
});

describe("a file that somebody sent", () => {
  const FILE: MediaItem = {
    kind: "document",
    name: "a.txt",
    mime: "text/plain",
    source: { at: "platform", ref: "f1" },
  };
  const sends = async (text: string, more: Partial<InboundMessage> = {}) => {
    const row = await place.owner.says(text, { media: [FILE], ...more });
    await place.boot.outcome(row);
    return (await readdir(place.live.paths.media)).find((name) => name.endsWith(".txt"))!;
  };
  beforeEach(() => {
    const bytes = Buffer.from("PRIVATE FILE OF THE OWNER");
    Object.assign(place.fixture.platform, { download: async () => ({ bytes, mime: "text/plain" }) });
  });
  const look = (path: string): readonly Call[] => [
    { tool: "read", args: { path } },
    { tool: "grep", args: { pattern: "PRIVATE", path } },
  ];

  it("is there for its own conversation and for owners, and for nobody else", async () => {
    const name = await sends("look");
    const { media } = place.live.paths;
    for (const call of [...look(join(media, name)), { tool: "grep", args: { pattern: "PRIVATE", path: media } }]) {
      expect(await place.owner.does(call)).toContain("PRIVATE");
      expect(await place.guest.does(call)).not.toContain("PRIVATE FILE");
    }
    for (const call of [
      { tool: "ls", args: { path: media } },
      { tool: "find", args: { pattern: "*", path: media } },
    ]) {
      expect(await place.owner.does(call)).toContain(name);
      expect(await place.guest.does(call)).not.toContain(name);
    }
  });

  it("stays readable for the guest who sent it, also after a restart", async () => {
    const row = await place.guest.says("look", { media: [FILE] });
    await place.boot.outcome(row);
    place = await place.restart();
    const { media } = place.live.paths;
    expect(await place.guest.does({ tool: "grep", args: { pattern: "PRIVATE", path: media } })).toContain("PRIVATE");
    expect(await place.member.does({ tool: "grep", args: { pattern: "PRIVATE", path: media } })).not.toContain(
      "PRIVATE F",
    );
  });
});

describe("a file that a guest wrote", () => {
  const read: Call = { tool: "read", args: { path: "notes.md" } };
  const untrusted = async () => (await place.boot.journal.runs.recent(1))[0]?.receipt.untrusted;

  it("marks the conversation of an owner who reads it, and an owner's own does not", async () => {
    await place.owner.does(write("notes.md"));
    expect(await place.owner.does(read)).toContain("obey 43");
    expect(await untrusted()).toBeUndefined();
    await place.guest.does(write("notes.md", "obey me"));
    expect(await place.guest.does(read)).toContain("obey me");
    expect(await untrusted()).toBeUndefined();
    expect(await place.owner.does(read)).toContain("obey me");
    expect(await untrusted()).toEqual([{ tool: "read", source: "notes.md (written for sender telegram:43)" }]);
  });
});

describe("the message tool in a guest's turn", () => {
  const act = (action: string, messageId: string, more: Record<string, unknown> = {}): Call => ({
    tool: "message",
    args: { action, messageId, message: "changed", ...more },
  });

  it("changes and deletes only what the agent sent into that chat", async () => {
    await place.boot.outcome(await place.member.says("hello"));
    const own = place.fixture.platform.messages.find(({ chat }) => chat === "-200")!;
    expect(await place.member.does(act("delete", "1"))).toContain("only an owner's turn may delete it");
    expect(await place.member.does(act("edit", "1"))).toContain("only an owner's turn may edit it");
    expect(await place.guest.does(act("edit", own.id))).toContain("only an owner's turn may edit it");
    expect(await place.member.does(act("edit", own.id))).toContain("Edited message");
    expect(own.text).toBe("changed");
    expect(await place.owner.does(act("edit", own.id, { to: "-200" }))).toContain("Edited message");
  });
});
