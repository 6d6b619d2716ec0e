import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { run, stateDir } from "../../kit/gateway/cli.ts";
import { fakeGateway, Refusal } from "./fake-gateway.ts";

const at = (config = "{\n  // mine\n  gateway: { port: 1 }, // stays\n}\n") => {
  const dir = stateDir(config);
  const env = { OPENCLAW_STATE_DIR: dir };
  const file = () => readFileSync(join(dir, "openclaw.json"), "utf8");
  return { dir, env, file, cli: (...args: readonly string[]) => run(["channels", ...args], env) };
};

describe("channels add", () => {
  test("writes an account, leaves comments alone and shows no token", async () => {
    const { cli, file } = at();
    const { code, out, err } = await cli("add", "--channel", "telegram", "--token", "123:secret");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^Telegram \(default\) is in .*; a running gateway starts it at once\.\n$/);
    expect(out).not.toContain("secret");
    expect(file()).toContain("// mine");
    expect(file()).toContain('"botToken": "123:secret"');
    expect((await cli("list")).out).toMatch(/telegram +default +on +pairing +allowlist/);
  });

  test("names the environment or a file instead of holding the token", async () => {
    const { cli, file, dir } = at();
    expect(await cli("add", "--channel", "slack", "--use-env")).toMatchObject({ code: 0 });
    expect(file()).not.toContain('"mode"');
    expect(file()).toContain('"SLACK_APP_TOKEN"');
    writeFileSync(join(dir, "token"), "abc");
    expect(await cli("add", "--channel", "discord", "--token-file", join(dir, "token"))).toMatchObject({ code: 0 });
    expect(file()).toContain('"source": "file"');
    expect(await cli("add", "--channel", "telegram", "--token-file", join(dir, "token"))).toMatchObject({ code: 0 });
    expect(file()).toContain('"tokenFile"');
  });

  test("a file with a token is there, and is named so that a gateway in another folder finds it", async () => {
    const { cli, file, dir } = at();
    const before = file();
    for (const [path, why] of [
      [join(dir, "none"), "There is no file"],
      [dir, "is no file"],
    ] as const)
      for (const channel of ["telegram", "discord", "slack"]) {
        const refused = await cli("add", "--channel", channel, "--token-file", path);
        expect([channel, refused.code, refused.err]).toEqual([channel, 2, expect.stringContaining(why)]);
      }
    expect(file()).toBe(before);
    writeFileSync(join(dir, "token"), "123:abc");
    const path = relative(process.cwd(), join(dir, "token"));
    expect(await cli("add", "--channel", "telegram", "--token-file", path)).toMatchObject({ code: 0 });
    expect(file()).toContain(`"tokenFile": "${join(dir, "token")}"`);
  });

  test("a second account leaves the first one as the default", async () => {
    const { cli, env } = at();
    await cli("add", "--channel", "telegram", "--token", "1:a");
    expect(await cli("add", "--channel", "telegram", "--account", "work", "--token", "2:b")).toMatchObject({ code: 0 });
    const { channels } = JSON.parse((await cli("list", "--json")).out);
    expect(channels.map((one: { account: string }) => one.account)).toEqual(["default", "work"]);
    const token = await run(["config", "get", "channels.telegram.accounts.work"], env);
    expect(token.out).toContain("[secret]");
  });

  test.each([
    [["--channel", "irc", "--token", "x"], 'There is no channel "irc"', 2],
    [["--channel", "telegram"], "The token of telegram is missing", 2],
    [["--channel", "telegram", "--app-token", "x"], "telegram has no flag --app-token", 2],
    [["--channel", "telegram", "--account", "../x", "--token", "x"], "is no name of an account", 2],
    [["--channel", "signal", "--token", "x"], "signal has no flag --token", 2],
    [["--channel", "signal", "--http-url", "nowhere"], "Not written: channels.signal.httpUrl", 78],
    [["--channel", "telegram", "--token", "abc"], "Telegram's bot token is a number, a colon and letters", 2],
    [["--channel", "slack", "--bot-token", "xapp-1", "--app-token", "xoxb-2"], "bot token begins with xoxb-", 2],
    [["--channel", "slack", "--bot-token", "xoxb-1", "--app-token", "xoxb-2"], "app token begins with xapp-", 2],
    [["--channel", "slack", "--bot-token", "xoxb-1", "--secret", "xapp-2"], "signing secret is not a token", 2],
    [["--channel", "slack", "--bot-token", "xoxb-1"], "Slack needs an app token for Socket Mode", 2],
    [["--channel", "slack", "--app-token", "xapp-1"], "Slack needs a bot token", 2],
  ])("%j is refused and changes nothing", async (args, why, exit) => {
    const { cli, file } = at();
    const before = file();
    const { code, err } = await cli("add", ...args);
    expect([code, err]).toEqual([exit, expect.stringContaining(why)]);
    expect(file()).toBe(before);
  });
});

test("what Slack needs may be there already, and a signing secret alone means the Events API", async () => {
  const { cli, file } = at();
  expect(await cli("add", "--channel", "slack", "--bot-token", "xoxb-1", "--secret", "5e")).toMatchObject({ code: 0 });
  expect(file()).toContain('"mode": "http"');
  expect(await cli("add", "--channel", "slack", "--bot-token", "xoxb-2")).toMatchObject({ code: 0 });
  expect(await cli("add", "--channel", "slack", "--account", "work", "--bot-token", "xoxb-3")).toMatchObject({
    code: 0,
  });
  expect(file()).toContain("xoxb-3");
});

test("channels remove takes one account, or the whole channel with its last one", async () => {
  const { cli, file } = at();
  await cli("add", "--channel", "telegram", "--token", "1:a");
  await cli("add", "--channel", "telegram", "--account", "work", "--token", "2:b");
  expect(await cli("remove", "--channel", "telegram", "--account", "work")).toMatchObject({ code: 2 });
  expect(await cli("remove", "--channel", "telegram", "--account", "other", "--yes")).toMatchObject({ code: 1 });
  expect(await cli("remove", "--channel", "telegram", "--account", "work", "--yes")).toMatchObject({ code: 0 });
  expect(file()).not.toContain("2:b");
  expect(file()).toContain("1:a");
  expect(await cli("remove", "--channel", "telegram", "--yes")).toMatchObject({ code: 0 });
  expect(file()).not.toContain("telegram");
  expect(file()).toContain("// stays");
});

test("channels list --all names those that are not set up", async () => {
  const { cli } = at();
  expect((await cli("list")).out).toBe("The config names no channel.\n");
  expect((await cli("list", "--all")).out).toMatch(/discord +not set up/);
  expect(JSON.parse((await cli("list", "--all", "--json")).out).notSetUp).toContain("slack");
});

test("channels capabilities work without a gateway", async () => {
  const { cli } = at();
  const row = /telegram +\(not set up\) +telegram-html +4096 +50 MB +1024 +10 +yes +no +\(not connected\)/;
  expect((await cli("capabilities")).out).toMatch(row);
  const { channels } = JSON.parse((await cli("capabilities", "--json", "--channel", "discord")).out);
  expect(channels).toMatchObject([{ channel: "discord", limits: { text: 2000 }, probe: true }]);
});

test("channels capabilities have a row for each account of the config, and no other", async () => {
  const { cli } = at();
  await cli("add", "--channel", "telegram", "--token", "1:a");
  await cli("add", "--channel", "telegram", "--account", "work", "--token", "2:b");
  await cli("add", "--channel", "discord", "--token", "c");
  const rows = async (...args: readonly string[]) =>
    JSON.parse((await cli("capabilities", "--json", ...args)).out).channels.map(
      (one: { channel: string; accountId?: string }) => `${one.channel}/${one.accountId}`,
    );
  expect(await rows()).toEqual(["telegram/default", "telegram/work", "discord/default"]);
  expect(await rows("--channel", "telegram")).toEqual(["telegram/default", "telegram/work"]);
  expect(await rows("--channel", "slack")).toEqual(["slack/undefined"]);
});

describe("channels test without a chat", () => {
  const tried = async (accounts: readonly object[], args: readonly string[] = []) => {
    const gateway = await fakeGateway({
      "channels.status": () => ({ channelAccounts: { telegram: accounts } }),
      "channels.probe": () => ({
        accounts: [
          { channel: "telegram", accountId: "default", status: "ok", message: "answers as @bot" },
          { channel: "telegram", accountId: "work", status: "fail", message: "Bad token.", fix: "Get one." },
          { channel: "telegram", accountId: "off", status: "skip", message: "disabled" },
        ],
      }),
    });
    return run(["channels", "test", ...args], gateway.env);
  };
  const fine = { accountId: "default", enabled: true, connected: true, lifecycle: "running" };

  test("has a row for each account that is on, and fails with the first that is not well", async () => {
    const dead = { accountId: "work", enabled: true, connected: false, lifecycle: "dead" };
    const { code, out } = await tried([fine, dead, { accountId: "off", enabled: false }]);
    expect(code).toBe(1);
    expect(out).toMatch(/telegram +default +running +ok +answers as @bot/);
    expect(out).toMatch(/telegram +work +dead +fail +Bad token\. +Get one\./);
    expect(out).not.toContain("disabled");
    const only = await tried([fine, dead], ["--account", "default", "--json"]);
    expect([only.code, JSON.parse(only.out).accounts]).toMatchObject([0, [{ accountId: "default", ok: true }]]);
  });

  test("fails for an account that the platform knows, but that is not connected", async () => {
    expect(await tried([{ ...fine, connected: false, lifecycle: "trouble" }])).toMatchObject({ code: 1 });
    expect(await tried([])).toMatchObject({ code: 0, out: "No channel is switched on.\n" });
  });

  test("fails for an account or a channel that is named and is not on", async () => {
    const other = await tried([fine], ["--account", "nobody"]);
    expect([other.code, other.err]).toEqual([2, expect.stringContaining("CHANNEL_MISSING: No account nobody is on.")]);
    const gateway = await fakeGateway({ "channels.status": () => ({ channelAccounts: { telegram: [fine] } }) });
    const slack = await run(["channels", "status", "--channel", "slack"], gateway.env);
    expect([slack.code, slack.err]).toEqual([
      2,
      expect.stringContaining("CHANNEL_MISSING: No account of slack is on."),
    ]);
  });
});

test("channels status shows when an account is tried again; --probe fails when a platform refuses", async () => {
  const account = { accountId: "default", lifecycle: "trouble", retryAt: Date.now() + 65_000, silentMs: 125_000 };
  const gateway = await fakeGateway({
    "channels.status": () => ({
      channelAccounts: { telegram: [{ ...account, lastError: "no network", fix: "Mend it." }] },
    }),
    "channels.probe": () => ({
      accounts: [{ channel: "telegram", accountId: "default", status: "fail", message: "Bad token.", fix: "Get one." }],
    }),
  });
  const plain = await run(["channels", "status", "--channel", "telegram"], gateway.env);
  expect(plain.code).toBe(0);
  expect(plain.out).toMatch(/trouble, again in 1 min +2 min ago +no network\. Mend it\./);
  const probed = await run(["channels", "status", "--probe", "--timeout", "1000"], gateway.env);
  expect(probed.code).toBe(1);
  expect(probed.out).toMatch(/telegram +default +fail +Bad token\. +Get one\./);
});

test("channels status shows what an account waits for before it can connect", async () => {
  const account = { accountId: "default", lifecycle: "starting", activity: "fetching a library" };
  const gateway = await fakeGateway({ "channels.status": () => ({ channelAccounts: { whatsapp: [account] } }) });
  expect((await run(["channels", "status"], gateway.env)).out).toMatch(/default +fetching a library/);
});

test("channels status shows problems that do not stop the account", async () => {
  const notices = [{ problem: "Signal asks for a captcha", fix: "Solve it." }];
  const account = { accountId: "default", connected: true, lifecycle: "running", lastError: null, notices };
  const gateway = await fakeGateway({ "channels.status": () => ({ channelAccounts: { signal: [account] } }) });
  const { out } = await run(["channels", "status"], gateway.env);
  expect(out).toMatch(/running .*Signal asks for a captcha\. Solve it\./);
});

test("the doctor shows the state of connections, which only the gateway knows", async () => {
  const looked = async (...accounts: object[]) => {
    const gateway = await fakeGateway({ "channels.status": () => ({ channelAccounts: { whatsapp: accounts } }) });
    const { out, code } = await run(["doctor", "--json", "--only", "app.accounts"], gateway.env);
    return { code, results: JSON.parse(out).checks.flatMap((check: { results: object[] }) => check.results) };
  };
  const running = { accountId: "default", lifecycle: "running" };
  expect(await looked(running, { accountId: "spare", enabled: false, lifecycle: "stopped" })).toMatchObject({
    code: 0,
    results: [{ status: "ok", message: "The one account hears from its platform." }],
  });
  const dead = {
    accountId: "work",
    lifecycle: "dead",
    silentMs: null,
    lastError: "It is not linked.",
    fix: "Link it.",
  };
  const deaf = { accountId: "old", lifecycle: "trouble", silentMs: 360_000, lastError: "no answer" };
  expect(await looked(running, dead, deaf)).toMatchObject({
    code: 1,
    results: [
      { status: "fail", message: "whatsapp/work is dead: It is not linked.", fix: "Link it." },
      {
        status: "warn",
        message: "whatsapp/old is not connected and tried again, 6 min without a sign: no answer",
      },
    ],
  });
  const notices = [{ problem: "Signal asks for a captcha", fix: "Solve it." }];
  expect(await looked({ ...running, notices })).toMatchObject({
    results: [{ status: "warn", message: "whatsapp/default: Signal asks for a captcha.", fix: "Solve it." }],
  });
  const unasked = { from: Date.UTC(2026, 0, 2, 3, 4), until: Date.UTC(2026, 0, 3, 4, 5) };
  expect(await looked({ ...running, unasked })).toMatchObject({
    results: [
      {
        status: "warn",
        message: "whatsapp/default was not asked for what came from 2026-01-02T03:04 to 2026-01-03T04:05 UTC.",
      },
    ],
  });
});

const STEPS = [
  { kind: "qr", text: "abc", rows: ["10", "01"] },
  { kind: "code", code: "ABCD-1234" },
  { kind: "text", text: "Nearly there." },
];

describe("channels login", () => {
  test("shows what the gateway's login shows, and its end", async () => {
    const views = [
      { loginId: "l", state: "waiting", steps: STEPS.slice(1), next: 3 },
      { loginId: "l", state: "linked", steps: [], next: 3, self: { id: "1", name: "Me" } },
    ];
    const gateway = await fakeGateway({
      "channels.login.start": () => ({ loginId: "l", state: "waiting", steps: STEPS.slice(0, 1), next: 1 }),
      "channels.login.wait": () => views.shift(),
    });
    const { code, out, err } = await run(["channels", "login", "whatsapp", "--phone", "+49301234567"], gateway.env);
    expect([code, err]).toEqual([0, "Nearly there.\n"]);
    expect(out.split("\n").slice(0, 5)).toEqual([
      "█".repeat(10),
      "█".repeat(10),
      "████▄▀████",
      "█".repeat(10),
      "█".repeat(10),
    ]);
    expect(out).toContain("Type this code into the app: ABCD-1234\n");
    expect(out).toMatch(/Linked whatsapp as Me\.\n$/);
    expect(gateway.requests).toMatchObject([
      { method: "channels.login.start", params: { channel: "whatsapp", phone: "+49301234567" } },
      { method: "channels.login.wait", params: { loginId: "l", next: 1 } },
      { method: "channels.login.wait", params: { loginId: "l", next: 3 } },
    ]);
  });

  test("a failed login is reported with its cause", async () => {
    const gateway = await fakeGateway({
      "channels.login.start": () => ({
        loginId: "l",
        state: "failed",
        steps: [],
        next: 0,
        error: "Too late.",
        fix: "Do it again.",
        code: "CHANNEL_CONFIG",
      }),
    });
    const { code, err } = await run(["channels", "login", "--channel", "whatsapp"], gateway.env);
    expect([code, err]).toEqual([78, "error CHANNEL_CONFIG: Too late.\nfix: Do it again.\n"]);
  });

  test("for a missing account the existing ones are listed, with and without a gateway", async () => {
    const told = "error CHANNEL_MISSING: No account nope.\nfix: It has: default.\n";
    const gateway = await fakeGateway({
      "channels.login.start": () => {
        const details = { code: "CHANNEL_MISSING", fix: "It has: default." };
        throw new Refusal("UNAVAILABLE", "No account nope. It has: default.", details);
      },
    });
    expect((await run(["channels", "login", "whatsapp", "--account", "nope"], gateway.env)).err).toBe(told);
    const { cli } = at("{ gateway: { port: 1 }, channels: { whatsapp: {} } }");
    expect((await cli("login", "whatsapp", "--account", "nope")).err).toContain("fix: It has: default. Add it:");
  });

  test("Signal's link is signal-cli's, which a logout says", async () => {
    const { cli } = at('{ gateway: { port: 1 }, channels: { signal: { account: "+15550009999" } } }');
    const { code, err } = await cli("logout", "signal");
    expect(code).toBe(1);
    expect(err).toMatch(/^signal \(default\) was not forgotten: signal-cli holds the link, not the gateway\.\nfix: /);
    expect(err).toContain("signal-cli -a +15550009999 deleteLocalAccountData");
    expect(JSON.parse((await cli("logout", "signal", "--json")).out)).toMatchObject({ cleared: false });
  });

  test("without a gateway it says what a channel without login needs, and which account is missing", async () => {
    const { cli } = at('{ gateway: { port: 1 }, channels: { telegram: { botToken: "1:a" } } }');
    expect((await cli("login", "telegram")).err).toContain("Telegram needs no login");
    expect((await cli("logout", "telegram")).out).toBe("telegram (default) is not linked: it has only its settings.\n");
    expect((await cli("login", "discord")).err).toContain("The config has no account default of discord");
    expect(await cli("login")).toMatchObject({ code: 2 });
  });
});
