import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import JSON5 from "json5";
import { describe, expect, onTestFinished, test } from "vitest";
import { readStateLock } from "../../../src/store/lock/lock.ts";
import { startFakeModel } from "../../fakes/model.ts";
import { startFakeTelegram } from "../../fakes/telegram.ts";
import { makeHome, type Home } from "../../kit/gateway/process.ts";
import { until } from "../../kit/until.ts";
import { CTRL_C, ESCAPE, Person } from "./terminal.ts";

const KEY = "sk-walk-0123456789";
const ME = 777_001;

async function stage(config: Record<string, unknown> = {}) {
  const [model, telegram] = await Promise.all([startFakeModel(), startFakeTelegram()]);
  model.answer((call) =>
    call.key === KEY ? { text: `echo: ${call.said}` } : { status: 401, message: "Incorrect API key provided" },
  );
  const home = await makeHome({ channels: { telegram: { enabled: false, apiRoot: telegram.url } }, ...config });
  onTestFinished(async () => {
    await home.run(["gateway", "stop"]);
    await home.remove();
    await Promise.all([model.close(), telegram.close()]);
  });
  return { model, telegram, home };
}

const configOf = (home: Home) => JSON5.parse(readFileSync(home.configPath, "utf8"));
const keysPath = (home: Home) => join(home.stateDir, "credentials", "auth-profiles.json");

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Through the notice and the question about the config that is there. */
async function begin(home: Home): Promise<Person> {
  const person = new Person(home, ["onboard"]);
  await person.reads(/Go on\?/);
  person.enter();
  await person.reads(/There is a config/);
  person.enter();
  await person.reads(/What is your agent called\?/);
  return person;
}

async function typeServer(person: Person, url: string, key: string): Promise<void> {
  await person.reads(/Which model answers\?[\s\S]*None for now/);
  await person.pick("Another server");
  await person.reads(/Address of the server/);
  person.answer(url);
  await person.reads(/Which API/);
  person.enter();
  await person.reads(/Model; empty/);
  person.answer("");
  await person.reads(/Key; empty/);
  person.answer(key);
}

describe("the first three minutes", () => {
  test("a refused key, a typed one, Telegram, the own account as owner, and a message in the own chat", async ({
    expect,
  }) => {
    const { model, telegram, home } = await stage();
    const person = await begin(home);
    person.enter();
    await typeServer(person, model.url, "sk-wrong");
    await person.reads(/refuses this key[\s\S]*Nothing was saved[\s\S]*What now\?/);
    expect([existsSync(keysPath(home)), configOf(home).models]).toEqual([false, undefined]);
    await person.pick("Type the key again");
    await person.reads(/Key of/);
    person.answer(KEY);
    await person.reads(/answered within/);

    await person.reads(/Where do you want to write/);
    await person.pick("Telegram");
    await person.reads(/Bot token/);
    person.answer(telegram.token);
    await person.reads(/Telegram is set up: it answers as/);

    await person.reads(/Now write any message/);
    telegram.say("hello", { from: { id: ME, first_name: "Robin" } });
    const asked = await person.reads(/code in that chat is [A-Z2-9]{8}\. Is this you\?/);
    const code = /[A-Z2-9]{8}/.exec(asked)?.[0] ?? "none";
    await until(() => telegram.shown(ME).join("\n").includes(code), "the code in the chat");
    person.enter();
    await person.reads(/is the owner/);

    await person.reads(/What runs the gateway/);
    await person.pick("Nothing yet");
    await person.reads(/The gateway is well/);
    await person.reads(/The page: http:\/\/127\.0\.0\.1:\d+\/#token=/);
    expect(await person.ended()).toBe(0);
    expect(telegram.shown(ME).join("\n")).toContain("is set up and hears you");

    expect(configOf(home)).toMatchObject({
      commands: { ownerAllowFrom: [`telegram:${ME}`] },
      channels: { telegram: { enabled: true, botToken: telegram.token } },
    });
    expect(readFileSync(home.configPath, "utf8")).not.toContain(KEY);
    expect(person.all).not.toContain(KEY);
    expect((await home.run(["config", "validate"])).code).toBe(0);
    const seconds = Math.round((performance.now() - person.begun) / 100) / 10;
    process.stdout.write(`onboard: ${person.keys} keys, ${seconds} s\n`);
  });

  test("a step is left, gone back to and begun again; Ctrl-C twice leaves", async () => {
    const { home } = await stage();
    const person = await begin(home);
    person.enter();
    await person.reads(/Which model answers\?[\s\S]*None for now/);
    person.press(ESCAPE);
    await person.reads(/This step was left/);
    person.enter();
    await person.reads(/What is your agent called\?/);
    person.enter();
    await person.reads(/Which model answers\?[\s\S]*None for now/);
    person.press(CTRL_C);
    await person.reads(/This step was left/);
    await person.pick("Begin this step again");
    await person.reads(/Which model answers\?[\s\S]*None for now/);
    person.press(CTRL_C);
    await person.reads(/This step was left/);
    person.press(CTRL_C);
    await person.reads(/What is set up stays/);
    expect(await person.ended()).toBe(0);
    expect((await home.run(["config", "validate"])).code).toBe(0);
  });

  test("kill -9 leaves nothing half written: before the answer neither key nor model, after it both", async ({
    expect,
  }) => {
    const { model, home } = await stage();
    const first = await begin(home);
    first.enter();
    let asked = (): void => undefined;
    const reached = new Promise<void>((resolve) => (asked = resolve));
    model.answer(() => {
      asked();
      return "hang";
    });
    await typeServer(first, model.url, KEY);
    await reached;
    first.kill();
    await first.ended();
    expect([existsSync(keysPath(home)), configOf(home).models]).toEqual([false, undefined]);
    expect((await home.run(["config", "validate"])).code).toBe(0);

    model.answer(() => ({ text: "OK" }));
    const second = await begin(home);
    second.enter();
    await typeServer(second, model.url, KEY);
    await second.reads(/answered within/);
    second.kill();
    await second.ended();
    const [provider = ""] = Object.keys(configOf(home).models.providers);
    expect(configOf(home).agents.defaults.model.primary).toMatch(new RegExp(`^${provider}/`));
    expect(JSON.parse(readFileSync(keysPath(home), "utf8")).profiles[`${provider}:default`].key).toBe(KEY);
    expect((await home.run(["config", "validate"])).code).toBe(0);
  });

  test.each(["kill -9", "a hang-up", "Ctrl-C twice"])(
    "after %s the gateway that the set-up started does not run on",
    async (end) => {
      const { telegram, home } = await stage();
      const person = await begin(home);
      person.enter();
      await person.reads(/Which model answers\?[\s\S]*None for now/);
      await person.pick("None for now");
      await person.reads(/Where do you want to write/);
      await person.pick("Telegram");
      await person.reads(/Bot token/);
      person.answer(telegram.token);
      await person.reads(/Now write any message/);
      const owner = await readStateLock(home.stateDir);
      expect(owner?.alive).toBe(true);
      if (end === "Ctrl-C twice") {
        person.press(CTRL_C);
        await person.reads(/This step was left/);
        person.press(CTRL_C);
      } else person.kill(end === "kill -9" ? "SIGKILL" : "SIGHUP");
      await person.ended();
      await until(() => !runs(owner?.pid ?? 0), "the end of the gateway");
      expect((await readStateLock(home.stateDir))?.alive).not.toBe(true);
    },
  );

  test("an invalid config is refused before the first question, and a pipe is told the flags", async () => {
    const { home } = await stage({ gateway: { port: "x" } });
    const person = new Person(home, ["onboard"]);
    await person.reads(/gateway\.port[\s\S]*openclaw doctor/);
    expect(await person.ended()).toBe(78);
    expect(await home.run(["onboard"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--non-interactive --accept-risk"),
    });
    expect(await home.run(["onboard", "--openai-api-key", "x"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--openai-api-key belongs to a set-up without questions"),
    });
  });

  test("openclaw alone begins the set-up, shows the state, or says what is wrong with the config", async () => {
    const { home } = await stage();
    const valid = new Person(home, []);
    await valid.reads(/Gateway[\s\S]*Next:[\s\S]*openclaw dashboard/);
    expect(await valid.ended()).toBe(0);
    writeFileSync(home.configPath, "{ gateway: ");
    const broken = new Person(home, []);
    await broken.reads(/has a problem[\s\S]*openclaw doctor[\s\S]*CONFIG_SYNTAX/);
    expect(await broken.ended()).toBe(78);
    rmSync(home.configPath);
    const none = new Person(home, []);
    await none.reads(/Before you begin[\s\S]*Go on\?/);
    none.press(CTRL_C);
    await none.reads(/This step was left/);
    none.press(CTRL_C);
    expect(await none.ended()).toBe(0);
    expect(existsSync(home.configPath)).toBe(false);
    expect((await home.run([])).stdout).toContain("Usage: openclaw");
  });

  test("configure changes one section, and a config that is there can be set aside", async () => {
    const { home } = await stage();
    const gateway = new Person(home, ["configure", "--section", "gateway,web"]);
    await gateway.reads(/TCP port/);
    gateway.answer("");
    await gateway.reads(/Who may reach it\?/);
    gateway.enter();
    await gateway.reads(/How do clients log in\?/);
    await gateway.pick("With a password");
    await gateway.reads(/Password/);
    gateway.answer("sesame");
    await gateway.reads(/Who answers the agent's searches/);
    await gateway.pick("duckduckgo");
    expect(await gateway.ended()).toBe(0);
    expect(configOf(home)).toMatchObject({
      gateway: { bind: "loopback", auth: { mode: "password", password: "sesame" } },
      tools: { web: { search: { provider: "duckduckgo" } } },
    });
    const skills = new Person(home, ["configure", "--section", "skills"]);
    await skills.reads(/Which skills may the agent use\?/);
    skills.press("\u001b[B");
    skills.enter();
    await skills.reads(/off {2}/);
    skills.enter();
    expect(await skills.ended()).toBe(0);
    expect(Object.values(configOf(home).skills.entries)).toEqual([{ enabled: false }]);

    const text = readFileSync(home.configPath, "utf8");
    const anew = new Person(home, ["onboard", "--accept-risk"]);
    await anew.reads(/There is a config/);
    await anew.pick("Begin anew");
    await anew.reads(/What is set aside\?/);
    anew.enter();
    await anew.reads(/What is your agent called\?/);
    anew.kill();
    await anew.ended();
    const [aside = ""] = readdirSync(home.stateDir).filter((name) => /^openclaw\.json\..+\.bak$/.test(name));
    expect(readFileSync(join(home.stateDir, aside), "utf8")).toBe(text);
  });
});
