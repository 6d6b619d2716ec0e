import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  ago,
  channelName,
  dayText,
  factLine,
  rowName,
  sessionTitle,
  titlesApart,
} from "../../extensions/webchat/page/model/format.ts";
import { NOBODY_KNOWN, partiesOf } from "../../extensions/webchat/page/policy/parties.ts";
import type { SessionRow } from "../../extensions/webchat/page/model/protocol.ts";

const PAGE = fileURLToPath(new URL("../../extensions/webchat/page", import.meta.url));
const [NOON, EVENING] = [Date.UTC(2026, 10, 30, 12), Date.UTC(2026, 10, 30, 19)];
const row = (key: string, updatedAt?: number): SessionRow => ({
  key,
  updatedAt,
  tokens: { input: 0, output: 0, total: 0, window: 0 },
  activeRuns: [],
  active: false,
});

test("conversations of one title are told apart in a list by their time, else by their key", () => {
  const titles = titlesApart([
    { key: "agent:main:main" },
    { key: "agent:main:webchat:default:a", updatedAt: NOON },
    { key: "agent:main:webchat:default:b", updatedAt: EVENING },
    { key: "agent:main:webchat:default:c", updatedAt: EVENING },
    { key: "agent:main:webchat:default:d", label: "Tea" },
  ]);
  expect(titles.get("agent:main:main")).toBe("Main chat");
  expect(titles.get("agent:main:webchat:default:a")).toMatch(/^New chat · Nov 30, 2026, .*[AP]M$/);
  expect(titles.get("agent:main:webchat:default:b")).toMatch(/^New chat · Nov 30, 2026, .* · .*b$/);
  expect(titles.get("agent:main:webchat:default:d")).toBe("Tea");
  expect(new Set(titles.values()).size).toBe(5);
});

test("what a job or another program began is called after it, and never after its key or its prompt", () => {
  const title = (key: string, row: object) => sessionTitle(key, rowName({ key, ...row }));
  const derivedTitle = "[cron:1f0c Morning report] How is the weather?";
  for (const key of ["cron:1f0c:run:asked-2", "agent:main:cron:1f0c:run:99", "agent:work:cron:1f0c:run:99"]) {
    expect(title(key, { displayName: "Morning report", derivedTitle: "Morning report" })).toBe("Job: Morning report");
    expect(title(key, { derivedTitle })).toBe("Run of a job");
    expect(title(key, { label: "Rain", displayName: "Morning report" })).toBe("Rain");
    expect(channelName(key)).toBe("Job");
  }
  expect(title("agent:main:hook:4", { displayName: "Build server" })).toBe("Webhook: Build server");
  expect(title("telegram:default:1", { displayName: "Ada", derivedTitle: "Ada" })).toBe("Ada");
  expect(title("webchat:default:a", { derivedTitle: "How is the weather?" })).toBe("How is the weather?");
});

test("the view of tools offers every conversation by a title of its own", () => {
  const sessions = ["a", "b", "c"].map((id) => row(`agent:main:webchat:default:${id}`, NOON));
  const labels = partiesOf(NOBODY_KNOWN, sessions).map(({ label }) => label);
  expect(new Set(labels).size).toBe(labels.length);
});

const sourcesWith = (words: RegExp): readonly string[] =>
  readdirSync(PAGE, { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.tsx?$/.test(name) && words.test(readFileSync(join(PAGE, name), "utf8")),
  );

test("one file of the page says how times are written, so that all are written alike", () => {
  const own = /toLocaleTimeString|dateStyle: "|month: "|timeStyle: "(?:short|medium)"|hour12|hour: "/;
  expect(sourcesWith(own)).toEqual(["model/format.ts"]);
  const noon = new Date(2026, 10, 30, 12).getTime();
  const old = new Date(2026, 8, 3, 9).getTime();
  expect(ago(old, noon)).toBe(dayText(old));
  expect(ago(old, noon)).toBe("Sep 3, 2026");
});

test("parts are joined in one place, which leaves out the empty ones", () => {
  expect(factLine(["Main chat", undefined, "", " ", "5m"])).toBe("Main chat · 5m");
  expect(sessionTitle("")).toBe("");
  expect(sourcesWith(/join\(" · "\)|\$\{[^}]*\} · \$\{/)).toEqual(["model/format.ts"]);
});
