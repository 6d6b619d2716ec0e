import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type ExpectStatic } from "vitest";
import type { ModelCall, ModelReply } from "../../fakes/model.ts";
import { test, type World } from "../../kit/gateway/world.ts";

/** A step of a skill, as a turn of a model would take it. */
interface Step {
  readonly skill: string;
  /** The beginning of the command, or of the tool's arguments, as the skill has it. */
  readonly line: string;
  /** The tool; `exec` unless the skill names another. */
  readonly tool?: string;
  readonly values?: Readonly<Record<string, string>>;
  /** Programs in PATH, by name: what each prints, as a shell script. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly entry?: object;
  /** Values of `skills.entries` are masked wherever they appear. */
  readonly tells: RegExp;
}

/** Prints its arguments, a line each, and what it reads. */
const ECHO = 'for one; do printf "[%s]" "$one"; done; [ -t 0 ] || cat';

const STEPS: readonly Step[] = [
  {
    skill: "weather",
    line: "curl -fsS --max-time 20 --get",
    values: { place: "Vienna" },
    programs: { curl: ECHO },
    entry: { env: { WEATHER_URL: "http://weather.example" } },
    tells: /\[\[secret\]\/Vienna\]\[--data-urlencode\]\[format=%l: %C, %t/,
  },
  {
    skill: "git",
    line: 'git -C "<folder>" status',
    values: { folder: "." },
    programs: { git: ECHO },
    tells: /\[-C\]\[\.\]\[status\]\[--short\]\[--branch\]/,
  },
  {
    skill: "github",
    line: "gh pr list",
    values: { "owner/name": "ann/tides" },
    programs: { gh: `${ECHO}; test -n "$GH_TOKEN" && echo logged in` },
    entry: { apiKey: "token-of-ann" },
    tells: /\[pr\]\[list\]\[--repo\]\[ann\/tides\][\s\S]*logged in/,
  },
  {
    skill: "pdf",
    line: "pdftotext -layout",
    values: { file: "my paper.pdf" },
    programs: { pdftotext: ECHO, pdfinfo: ECHO },
    tells: /\[-enc\]\[UTF-8\]\[my paper\.pdf\]\[-\]/,
  },
  {
    skill: "video-frames",
    line: 'ffmpeg -nostdin -v error -ss <time> -i "<file>" -frames:v 1',
    values: { time: "00:01:30", file: "a.mp4", picture: "a" },
    programs: { ffmpeg: ECHO, ffprobe: ECHO },
    tells: /\[-ss\]\[00:01:30\]\[-i\]\[a\.mp4\]\[-frames:v\]\[1\]\[-q:v\]\[2\]\[a\.jpg\]/,
  },
  {
    skill: "images",
    line: 'magick "<file>" -auto-orient',
    values: { file: "a.png", result: "small" },
    programs: { magick: ECHO },
    tells: /\[a\.png\]\[-auto-orient\]\[-resize\]\[1600x1600>\]\[-strip\]\[-quality\]\[85\]\[small\.jpg\]/,
  },
  {
    skill: "tmux",
    line: 'tmux -L agent send-keys -t "<name>" -l',
    values: { name: "build", text: "make test" },
    programs: { tmux: ECHO },
    tells: /\[send-keys\]\[-t\]\[build\]\[-l\]\[--\]\[make test\]/,
  },
  {
    skill: "data",
    line: "jq -r 'group_by",
    values: { field: "state", file: "rows.json" },
    programs: { jq: ECHO },
    tells: /\[-r\]\[group_by\(\.\["state"\]\).*\[rows\.json\]/,
  },
  {
    skill: "home-assistant",
    line: 'printf \'header = "Authorization: Bearer %s"\\n\' "$HASS_TOKEN" | curl -fsS --max-time 20 --config - "$HASS_URL/api/states',
    values: { entity: "light.kitchen" },
    // The token comes by the input alone.
    programs: { curl: 'for one; do printf "[%s]" "$one"; done; grep -c "Bearer token-of-the-home"' },
    entry: { apiKey: "token-of-the-home", env: { HASS_URL: "http://home.example" } },
    tells: /\[--config\]\[-\]\[\[secret\]\/api\/states\/light\.kitchen\]1/,
  },
  {
    skill: "system-health",
    line: "uptime && df",
    programs: { uptime: "echo up 3 days", df: ECHO },
    tells: /up 3 days\n\[-h\]\[\/\]/,
  },
  {
    skill: "gateway-backup",
    line: "openclaw backup create",
    values: { folder: "/safe" },
    programs: { openclaw: ECHO },
    tells: /\[backup\]\[create\]\[--verify\]\[--output\]\[\/safe\]\[--json\]/,
  },
  {
    skill: "mail",
    line: "himalaya envelope list --folder INBOX --page-size",
    programs: { himalaya: ECHO },
    tells: /\[envelope\]\[list\]\[--folder\]\[INBOX\]\[--page-size\]\[15\]/,
  },
  {
    skill: "reminders",
    tool: "cron",
    line: '{"action": "add"',
    values: { subject: "call Ann", moment: "2h" },
    tells: /call Ann/,
  },
  {
    skill: "web-research",
    tool: "web_search",
    line: '{"query"',
    values: { words: "tide tables" },
    tells: /provider|search/i,
  },
];

/** What a model does that follows the skill: reads the file that the system prompt names, then takes the step in it. */
function follow(call: ModelCall, { skill, line, tool = "exec", values = {} }: Step): ModelReply {
  if (!call.isAfterTool) {
    const [, location] =
      new RegExp(`<name>${skill}</name>[\\s\\S]*?<location>(.*?)</location>`).exec(call.system) ?? [];
    return location === undefined ? { text: `told: no skill ${skill}` } : { tool: "read", args: { path: location } };
  }
  const block = [...call.toolText.matchAll(/```(?:sh|json)\n([\s\S]*?)\n```/g)].map(([, text = ""]) => text);
  const found = block.find((text) => text.startsWith(line));
  if (found === undefined) return { text: `told: ${call.toolText}` };
  const filled = found.replaceAll(/<([\w/]+)>/g, (all, name: string) => values[name] ?? all);
  return { tool, args: tool === "exec" ? { command: filled } : (JSON.parse(filled) as Record<string, unknown>) };
}

async function walk(world: World, step: Step, expect: ExpectStatic): Promise<void> {
  const { skill, programs = {}, entry, tells } = step;
  world.model.answer((call) => follow(call, step));
  const home = await world.home(
    world.config({
      commands: { ownerAllowFrom: ["1001"] },
      agents: { defaults: { sandbox: { mode: "off" } } },
      tools: { exec: { security: "full", ask: "off" } },
      ...(entry && { skills: { entries: { [skill]: entry } } }),
    }),
  );
  const bin = join(home.stateDir, "..", `bin-${skill}`);
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  await home.start({ env: { PATH: `${bin}:${process.env["PATH"]}` } });
  world.telegram.say(`Use ${skill}.`);
  const told = await world.told("told:");
  const text = told.text.replaceAll("&quot;", '"').replaceAll("&gt;", ">");
  expect(text).toMatch(tells);
  expect(text).not.toMatch(/token-of/);
}

describe.concurrent("the command that a bundled skill documents runs with an owner's rights:", () => {
  for (const step of STEPS)
    test(step.skill, async ({ world, expect }) => {
      await walk(world, step, expect);
    });
});
