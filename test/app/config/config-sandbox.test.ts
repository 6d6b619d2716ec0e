import { describe, expect, it } from "vitest";
import { backendsOf, confinedIn } from "../../../src/app/compose/sandbox/sandboxing.ts";
import { loadConfigText } from "../../kit/config-text.ts";
import { resolveAgents } from "../../../src/app/config/settings.ts";
import { OPERATOR_KEY } from "../../../src/sessions/keys.ts";
import { SandboxMachine, type BackendProbe } from "../../../src/tools/sandbox/machine.ts";
import { sessionKey } from "../../../src/types/ids.ts";
import { OPERATOR, type Acting } from "../../../src/types/run/principal.ts";

const firstAgent = async (config: object) => {
  const { config: read } = await loadConfigText(JSON.stringify(config), { path: "/x/openclaw.json", env: {} });
  const [agent] = resolveAgents(read, { home: "/home/ada", stateDir: "/state" });
  if (!agent) throw new Error("no agent");
  return agent;
};

/** A value for each key that is not its default. */
const OTHER = {
  mode: "all",
  scope: "shared",
  workspaceAccess: "rw",
  sessionToolsVisibility: "all",
  workspaceRoot: "/folders",
  backend: "podman",
  bwrap: {
    network: "host",
    binds: ["/data"],
    processes: 9,
    memoryMb: 65,
    totalMemoryMb: 66,
    totalWriteMb: 67,
    cpuSeconds: 3,
    fileSizeMb: 4,
    tmpMb: 5,
  },
  prune: { idleHours: 1, maxAgeDays: 2 },
};
const DOCKER = {
  image: "mine",
  containerPrefix: "p-",
  network: "apart",
  user: "1:1",
  readOnlyRoot: false,
  tmpfs: ["/t"],
  capDrop: ["NET_RAW"],
  pidsLimit: 9,
  memory: "1g",
  cpus: 2,
  binds: ["/a:/a:ro"],
  env: { A: "b" },
};

describe("the sandbox of the config", () => {
  it("reaches its agents with every key", async () => {
    const { sandbox } = await firstAgent({ agents: { defaults: { sandbox: { ...OTHER, docker: DOCKER } } } });
    expect(sandbox).toEqual({ ...OTHER, docker: DOCKER });
  });

  it("is overridden by an agent's own, key by key", async () => {
    const own = { ...OTHER, scope: "session", docker: DOCKER };
    const plain = { mode: "off", prune: { idleHours: 9, maxAgeDays: 9 }, bwrap: { tmpMb: 77 } };
    const list = [{ id: "a", sandbox: own }];
    expect((await firstAgent({ agents: { defaults: { sandbox: plain }, list } })).sandbox).toEqual(own);
    const part = [{ id: "a", sandbox: { prune: { maxAgeDays: 2 } } }];
    const { sandbox } = await firstAgent({ agents: { defaults: { sandbox: plain }, list: part } });
    expect(sandbox).toMatchObject({ mode: "off", prune: { idleHours: 9, maxAgeDays: 2 }, bwrap: { tmpMb: 77 } });
  });

  it("keeps the containers of a shared sandbox as the defaults say", async () => {
    const list = [{ id: "a", sandbox: { scope: "shared", docker: { image: "own" } } }];
    const { sandbox } = await firstAgent({ agents: { defaults: { sandbox: { docker: DOCKER } }, list } });
    expect(sandbox?.docker.image).toBe("mine");
  });
});

const guest = { kind: "sender", id: "g" } as const;
const DIRECT = sessionKey("telegram:default:direct:7");
const GROUP = sessionKey("telegram:default:group:-1");
const works: BackendProbe = {
  ok: true,
  facts: { backend: "docker", program: "/d", user: "1:1", keepsId: false, holdsLimits: true, profile: "/p" },
};
const broken: BackendProbe = { ok: false, why: "", fix: "" };

describe("what of a turn is in the sandbox", () => {
  const ask = async (config: object, acting: Partial<Acting> = {}, probe: BackendProbe = works) => {
    const { commands, files } = confinedIn(
      await firstAgent(config),
      { principal: OPERATOR, sessionKey: OPERATOR_KEY, ...acting },
      { known: () => probe },
    );
    return [...(commands ? ["commands"] : []), ...(files ? ["files"] : [])];
  };
  const mode = (name: string) => ({ agents: { defaults: { sandbox: { mode: name } } } });

  it("follows the mode", async () => {
    expect(await ask(mode("all"))).toEqual(["commands", "files"]);
    expect(await ask(mode("non-main"))).toEqual([]);
    expect(await ask(mode("non-main"), { sessionKey: DIRECT })).toEqual(["commands", "files"]);
    expect(await ask(mode("off"), { principal: guest, sessionKey: GROUP })).toEqual([]);
  });

  it("stays in the sandbox that the mode demands where it does not work", async () => {
    expect(await ask(mode("all"), {}, broken)).toEqual(["commands", "files"]);
  });

  it.each([
    ["auto", mode("auto")],
    ["unset", {}],
  ])("is commands of guests and in groups with the mode %s, where the sandbox works", async (_name, auto) => {
    expect(await ask(auto)).toEqual([]);
    expect(await ask(auto, { sessionKey: DIRECT })).toEqual([]);
    expect(await ask(auto, { principal: guest, sessionKey: DIRECT })).toEqual(["commands"]);
    expect(await ask(auto, { sessionKey: GROUP })).toEqual(["commands"]);
    expect(await ask(auto, { sessionKey: sessionKey(`${GROUP}::main`) })).toEqual(["commands"]);
    expect(await ask(auto, { principal: guest, sessionKey: DIRECT }, broken)).toEqual([]);
  });

  const backendsFor = async (config: object, acting: Partial<Acting> = {}) => {
    const agent = await firstAgent(config);
    const host = { settings: agent, rights: "owner", deniedPaths: [] } as const;
    const who: Acting = { principal: OPERATOR, sessionKey: GROUP, ...acting };
    const machine = new SandboxMachine({ env: {}, dir: "/nonexistent", contributions: { sandboxEngines: [] } });
    return backendsOf(agent, who, { host, machine, warn: () => {} });
  };

  it("is said to the model, the same to everybody who writes in a session", async () => {
    expect((await backendsFor(mode("off"))).sandbox).toBeUndefined();
    expect((await backendsFor({ tools: { exec: { host: "sandbox" } } })).sandbox?.text).toMatch(
      /^Commands work in a sandbox/,
    );
    const { sandbox } = await backendsFor(mode("all"));
    expect(sandbox?.text).toMatch(/^Commands and file tools work in a sandbox/);
    expect((await backendsFor(mode("all"), { elevated: "full", principal: guest })).sandbox).toEqual(sandbox);
  });

  it("can be left by commands of a turn that may, unless tools.exec.host or the conversation wants all of them in it", async () => {
    const elevated = async (config: object, acting: Partial<Acting>) =>
      (await backendsFor(config, acting)).elevation?.level;
    expect(await elevated(mode("all"), {})).toBeUndefined();
    expect(await elevated(mode("all"), { elevated: "full" })).toBe("full");
    expect(await elevated({ tools: { exec: { host: "sandbox" } } }, { elevated: "full" })).toBeUndefined();
  });

  it("is commands where tools.exec.host says so, and none of them where it says gateway", async () => {
    expect(await ask({ tools: { exec: { host: "sandbox" } } })).toEqual(["commands"]);
    expect(await ask({ tools: { exec: { host: "gateway" } }, ...mode("all") })).toEqual(["files"]);
    const list = [{ id: "a", tools: { exec: { host: "sandbox" } } }];
    expect(await ask({ agents: { list }, tools: { exec: { host: "gateway" } } })).toEqual(["commands"]);
  });
});
