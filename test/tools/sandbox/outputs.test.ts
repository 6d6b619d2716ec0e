import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { attach } from "../../../src/dispatch/media/attach.ts";
import { hostBackends } from "../../../src/tools/host/host.ts";
import { openMediaStore } from "../../../src/store/media.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { agentSettings } from "../../kit/tools.ts";
import { until } from "../../kit/until.ts";
import { BACKENDS, useBackend } from "./engines.ts";
import { openGround, type Ground } from "./fixture.ts";

let ground: Ground;
beforeEach(() => {
  ground = openGround();
  vi.stubEnv("HOME", ground.home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  ground.close();
});

const hostOf = (session: string) =>
  hostBackends({
    settings: agentSettings(ground.workspace),
    rights: "owner",
    deniedPaths: [],
    sessionKey: sessionKey(session),
  });

const DAY = 24 * 60 * 60;

describe("a result that is too long for the model", () => {
  it("is read by its own session, and by no other, whatever the path to it", async () => {
    const [ann, ben] = [hostOf("ann"), hostOf("ben")];
    const path = await ann.files.keep("a secret of ann");
    symlinkSync(path, join(ground.workspace, "link.log"));
    await (await ann.files.open(path, ground.workspace)).close();
    const root = dirname(dirname(path));
    for (const wanted of [path, "link.log", dirname(path), root, `${root}/../output`])
      await expect(ben.files.locate(wanted, ground.workspace, "read")).rejects.toThrow(
        "not a file of this conversation",
      );
    await expect(ben.files.open(path, ground.workspace)).rejects.toThrow("not a file of this conversation");
    await expect(
      ben.files.list(dirname(path), ground.workspace, { most: 10, signal: new AbortController().signal }),
    ).rejects.toThrow();
    await expect(ben.files.locate(path, ground.workspace, "write")).rejects.toThrow("not a file of this conversation");
  });

  it("is not found by a search of another session", async () => {
    const path = await hostOf("ann").files.keep("needle-of-ann");
    const found: string[] = [];
    const { files } = hostOf("ben");
    const query = {
      path: dirname(dirname(path)),
      pattern: "needle-of-ann",
      literal: true,
      ignoreCase: false,
      limit: 9,
    };
    const scope = { workspace: ground.workspace, signal: new AbortController().signal };
    const search = files.searchText(query, scope, (line) => (found.push(line.path), true));
    await expect(search).rejects.toThrow("not a file of this conversation");
    const link = join(ground.workspace, "all");
    symlinkSync(dirname(dirname(path)), link);
    await files.searchText({ ...query, path: "." }, scope, (line) => (found.push(line.path), true));
    expect(found).toEqual([]);
  });

  it("is attached to answers of its own session alone", async () => {
    const path = await hostOf("ann").files.keep("the log");
    const ports = {
      media: openMediaStore(join(ground.state, "media")),
      workspace: ground.workspace,
      guestOf: [],
      closedPaths: [],
    };
    const kindFor = async (key: string | undefined) =>
      (await attach([path], false, { ...ports, ...(key !== undefined && { sessionKey: sessionKey(key) }) }))[0]?.kind;
    expect(await kindFor("ann")).toBe("media");
    expect([await kindFor("ben"), await kindFor(undefined)]).toEqual(["notice", "notice"]);
  });

  it("is removed after a day, with the empty folder of its session, when any session keeps another", async () => {
    const old = await hostOf("ann").files.keep("old");
    const legacy = join(dirname(dirname(old)), "00000000-0000-4000-8000-000000000000.log");
    writeFileSync(legacy, "of an earlier version");
    const past = Date.now() / 1000 - 2 * DAY;
    for (const path of [old, legacy]) utimesSync(path, past, past);
    await hostOf("ben").files.keep("new");
    await until(() => !existsSync(old) && !existsSync(legacy), "the removal");
    utimesSync(dirname(old), past, past);
    await hostOf("ben").files.keep("newer");
    await until(() => !existsSync(dirname(old)), "the removal of the folder");
  });
});

describe.for(BACKENDS)("a command in a sandbox of %s", (name) => {
  const backend = useBackend(name);
  beforeEach(() => {
    ground.close();
    ground = openGround(backend().env, backend().config);
    vi.stubEnv("HOME", ground.home);
  });

  it("sees the long results of its own session alone", async () => {
    const own = await hostOf("s1").files.keep("of-s1");
    const other = await hostOf("s2").files.keep("of-s2");
    const said = await ground.says(
      `cat ${own}; ls ${dirname(dirname(own))}; cat ${other} 2>/dev/null; find . -name '*.log'`,
    );
    expect(said).toContain("of-s1");
    expect(said).not.toContain("of-s2");
    expect(said).not.toContain(dirname(other).split("/").at(-1));
    expect(readFileSync(other, "utf8")).toBe("of-s2");
  });

  it("sees no results that another session keeps while it runs, and cannot change its own", async () => {
    const marker = join(ground.workspace, "go");
    const running = ground.says(
      `until [ -e go ]; do sleep 0.05; done; find .openclaw/output -type f; echo x > .openclaw/output/x`,
    );
    const other = await hostOf("s2").files.keep("of-s2");
    mkdirSync(marker);
    expect(await running).not.toContain(".log");
    expect(existsSync(join(dirname(dirname(other)), "x"))).toBe(false);
  });

  it("has no results of others under a second name", async () => {
    const other = await hostOf("s2").files.keep("of-s2");
    await ground.run(`ln ${other} stolen.log; cp ${other} copied.log`);
    expect(["stolen.log", "copied.log"].filter((name) => existsSync(join(ground.workspace, name)))).toEqual([]);
    linkSync(other, join(ground.workspace, "made-outside.log"));
    expect(readFileSync(join(ground.workspace, "made-outside.log"), "utf8")).toBe("of-s2");
  });
});
