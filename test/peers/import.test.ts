import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, onTestFinished, test } from "vitest";
import { envFor, startGateway, type StartedGateway } from "./real-gateway/gateways.ts";

const OURS = join(import.meta.dirname, "../../bin/openclaw.mjs");
/** The programs of OpenClaw, which `npm run peers` installs, with how each takes a message for a session. */
const FIELD = [
  { era: "jsonl", program: process.env["OPENCLAW_FIELD_IN_FILES"] ?? "" },
  { era: "sqlite", program: process.env["OPENCLAW_FIELD"] ?? "" },
] as const;
const PATIENCE_MS = 600_000;

interface Ended {
  readonly code: number | null;
  readonly out: string;
}

async function command(
  env: Readonly<Record<string, string>>,
  program: string,
  ...args: readonly string[]
): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (out += piece.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, out };
}

let count = 0;
async function say(gateway: StartedGateway, program: string, sessionKey: string, message: string): Promise<void> {
  count += 1;
  const params = JSON.stringify({ sessionKey, message, idempotencyKey: `turn-${count}` });
  const place = ["--url", gateway.url, "--token", gateway.token, "--timeout", "120000"];
  const { code, out } = await command(
    gateway.env,
    program,
    "gateway",
    "call",
    "agent",
    "--expect-final",
    ...place,
    "--params",
    params,
  );
  expect({ code, out }).toMatchObject({ code: 0 });
}

/** Content and time of every file. */
const traceOf = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true })
    .map((name) => join(dir, String(name)))
    .filter((path) => statSync(path).isFile())
    .map((path) => `${path} ${statSync(path).mtimeMs} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`)
    .toSorted();

/** What people and the model said in the last prompt, without the additions of the gateways. */
function saidIn({ model }: StartedGateway): readonly string[] {
  const messages = model.calls.at(-1)?.messages ?? [];
  return messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .flatMap(({ content }) => JSON.stringify(content).match(/said: [a-z ]+\.|echo: the answer of the model/g) ?? []);
}

const DIRECT = "agent:main:telegram:direct:123";
const GROUP = "agent:main:telegram:group:-100555:topic:42";
const ANSWER = "echo: the answer of the model";

describe.each(FIELD)("a state directory of the $era time", ({ era, program }) => {
  test.skipIf(program === "")(
    "the next prompt of each imported conversation goes on where OpenClaw was",
    async () => {
      const real = await startGateway(program);
      onTestFinished(() => real.stop());
      await say(real, program, DIRECT, "said: the blue lamp.");
      await say(real, program, DIRECT, "said: the red chair.");
      await say(real, program, GROUP, "said: words in the group.");
      await say(real, program, "agent:main:main", "said: hello to the harbour.");
      const atReal = saidIn(real);
      expect(atReal.at(-1)).toBe("said: hello to the harbour.");
      await real.end();

      const home = mkdtempSync(join(tmpdir(), "openclaw-imported-"));
      onTestFinished(() => rmSync(home, { recursive: true, force: true }));
      const source = join(real.home, "state");
      const before = traceOf(source);
      const imported = await command(envFor(home), OURS, "import", source, "--json");
      expect(imported.code, imported.out).toBe(0);
      expect(imported.out).toContain(`"era": "${era}"`);
      expect(traceOf(source)).toEqual(before);
      const again = JSON.parse((await command(envFor(home), OURS, "import", source, "--json")).out) as {
        readonly kinds: readonly { readonly items: readonly { readonly state: string }[] }[];
      };
      expect(new Set(again.kinds.flatMap(({ items }) => items.map(({ state }) => state)))).toEqual(new Set(["there"]));

      const ours = await startGateway(OURS, { home, model: real.model });
      onTestFinished(() => ours.end());
      const next = async (key: string) => {
        const { code, out } = await command(ours.env, OURS, "agent", "-m", "said: and now.", "--session-key", key);
        expect({ code, out }).toMatchObject({ code: 0 });
        return saidIn(ours);
      };
      expect(await next("agent:main:telegram:default:123")).toEqual([
        "said: the blue lamp.",
        ANSWER,
        "said: the red chair.",
        ANSWER,
        "said: and now.",
      ]);
      expect(await next("agent:main:telegram:default:group:-100555:thread:42")).toEqual([
        "said: words in the group.",
        ANSWER,
        "said: and now.",
      ]);
      expect(await next("agent:main:main")).toEqual(["said: hello to the harbour.", ANSWER, "said: and now."]);
    },
    PATIENCE_MS,
  );
});
