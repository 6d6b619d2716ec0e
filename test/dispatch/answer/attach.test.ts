import { link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { attach } from "../../../src/dispatch/media/attach.ts";
import { openMediaStore } from "../../../src/store/media.ts";

let dir: string;
let ports: Parameters<typeof attach>[2];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "attach-"));
  await mkdir(join(dir, "workspace"));
  ports = {
    media: openMediaStore(join(dir, "media")),
    guestOf: [],
    closedPaths: [],
    workspace: join(dir, "workspace"),
  };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

describe("what an answer names as media", () => {
  it("is sent when it is a file of the workspace, by its content's kind", async () => {
    await writeFile(join(dir, "workspace/plot.png"), PNG);
    const [block] = await attach(["plot.png"], false, ports);
    expect(block).toMatchObject({ kind: "media", media: { kind: "image", mime: "image/png", name: "plot.png" } });
    if (block?.kind !== "media" || block.media.source.at !== "store") throw new Error("not stored");
    expect(Buffer.from(await ports.media.read(block.media.source.id))).toEqual(PNG);
  });

  it("is refused when it is larger than the channel's limit", async () => {
    await writeFile(join(dir, "workspace/big.txt"), "x".repeat(2 * 1_048_576));
    expect(await attach(["big.txt"], false, { ...ports, mostBytes: 1_048_576 })).toMatchObject([
      { kind: "notice", markdown: expect.stringContaining("larger than 1 MB") },
    ]);
    expect(await attach(["big.txt"], false, ports)).toMatchObject([{ kind: "media" }]);
  });

  it("never is one of the gateway's own files, wherever the workspace lies", async () => {
    await mkdir(join(dir, "workspace/.openclaw/credentials"), { recursive: true });
    await writeFile(join(dir, "workspace/.openclaw/credentials/gateway-token"), "secret");
    await symlink(join(dir, "workspace/.openclaw/credentials"), join(dir, "workspace/harmless"));
    await link(join(dir, "workspace/.openclaw/credentials/gateway-token"), join(dir, "workspace/second-name"));
    const closed = { ...ports, closedPaths: [join(dir, "workspace/.openclaw/credentials")] };
    const refs = [".openclaw/credentials/gateway-token", "harmless/gateway-token", "second-name"];
    for (const block of await attach(refs, false, closed)) {
      expect(block).toMatchObject({ kind: "notice", markdown: expect.stringContaining("belongs to the gateway") });
    }
    expect(await attach(["."], false, ports)).toMatchObject([{ kind: "notice" }]);
  });

  it("never is what a guest may not read, and is for an owner", async () => {
    const { workspace } = ports;
    const names = ["MEMORY.md~", "sub/memory/2026-05-05.md", "kept.zip", ".git/HEAD", "store/packed-refs"];
    for (const name of [...names, "store/objects/x", "store/HEAD", "plan.md"]) {
      await mkdir(join(workspace, name, ".."), { recursive: true });
      await writeFile(join(workspace, name), "of the owner");
    }
    const kindsFor = async (guestOf: readonly string[]) =>
      (await Promise.all(names.map((name) => attach([name], false, { ...ports, guestOf }))))
        .flat()
        .map(({ kind }) => kind);
    expect(new Set(await kindsFor([]))).toEqual(new Set(["media"]));
    expect(new Set(await kindsFor([workspace]))).toEqual(new Set(["notice"]));
    expect(await attach(["plan.md"], false, { ...ports, guestOf: [workspace] })).toMatchObject([{ kind: "media" }]);
  });

  it("is for a guest no second name of what guests may not read", async () => {
    for (const path of ["sub/memory/a.md", "MEMORY.md.bak", "kept.zip", ".git/objects/ab/cd", "plan.md"]) {
      await mkdir(dirname(join(ports.workspace, path)), { recursive: true });
      await writeFile(join(ports.workspace, path), path);
      await link(join(ports.workspace, path), join(ports.workspace, `${basename(path)}.txt`));
    }
    const refs = ["a.md.txt", "MEMORY.md.bak.txt", "kept.zip.txt", "cd.txt"];
    const guest = { ...ports, guestOf: [ports.workspace] };
    for (const ref of refs) expect(await attach([ref], false, guest), ref).toMatchObject([{ kind: "notice" }]);
    expect(await attach(["plan.md.txt"], false, guest)).toMatchObject([{ kind: "media" }]);
    for (const ref of refs) expect(await attach([ref], false, ports), ref).toMatchObject([{ kind: "media" }]);
  });

  it("floods no chat: what is missing is one notice, and each name counts once, up to a limit", async () => {
    const missing = Array.from({ length: 5 }, (_, at) => `x${at}.txt`);
    const [notice, ...others] = await attach(missing, false, ports);
    expect(others).toEqual([]);
    expect(notice).toMatchObject({
      kind: "notice",
      markdown: expect.stringContaining("⚠️ x2.txt could not be attached"),
    });
    expect(notice).toMatchObject({ markdown: expect.stringMatching(/⚠️ 2 more could not be attached\.$/) });
    await writeFile(join(dir, "workspace/plot.png"), PNG);
    expect(await attach(["plot.png", "plot.png"], false, ports)).toHaveLength(1);
    const links = Array.from({ length: 30 }, (_, at) => `https://example.org/${at}`);
    const told: unknown[] = [];
    const blocks = await attach(links, false, { ...ports, refused: (refusal) => told.push(refusal) });
    expect(blocks.map(({ kind }) => kind)).toEqual([...Array.from({ length: 20 }, () => "text"), "notice"]);
    expect(told).toEqual([{ file: "10 more", why: "an answer brings at most 20 files" }]);
  });

  it("stays a link when it is a web address", async () => {
    expect(await attach(["https://example.org/a.png"], false, ports)).toEqual([
      { kind: "text", markdown: "https://example.org/a.png" },
    ]);
  });

  it.each(["../secret.txt", "/etc/hostname", "link.txt", "missing.txt"])(
    "is refused and reported for %s",
    async (ref) => {
      await writeFile(join(dir, "secret.txt"), "secret");
      await symlink(join(dir, "secret.txt"), join(dir, "workspace/link.txt"));
      const [block] = await attach([ref], false, ports);
      expect(block).toMatchObject({ kind: "notice", because: "error" });
    },
  );
});
