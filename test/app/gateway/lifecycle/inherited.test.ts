import { spawnSync } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

/** A program that starts `ls` for its own descriptors; with the argument, after it has closed what it inherited. */
const PROGRAM = `
  import { spawnSync } from "node:child_process";
  import { closeInherited } from ${JSON.stringify(new URL("../../../../src/app/gateway/lifecycle/inherited.ts", import.meta.url).pathname)};
  if (process.argv[2] === "close") closeInherited();
  console.log(spawnSync("ls", ["-l", "/proc/self/fd"], { encoding: "utf8" }).stdout);
  // Its own parts still work.
  setTimeout(() => fetch("data:,works").then((one) => one.text()).then(console.log), 1);
`;

it.runIf(process.platform === "linux")(
  "the gateway's commands inherit nothing that whoever started the gateway left open",
  () => {
    const dir = mkdtempSync(join(tmpdir(), "inherited-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const secret = join(dir, "secret");
    writeFileSync(secret, "s");
    const program = join(dir, "program.mts");
    writeFileSync(program, PROGRAM);
    const left = Array.from({ length: 40 }, (_, index) => (index === 39 ? openSync(secret, "r") : "ignore"));
    const run = (how: string) =>
      spawnSync(process.execPath, [program, how], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe", ...left.slice(3)],
      }).stdout;
    expect(run("keep")).toContain(secret);
    const said = run("close");
    expect(said).not.toContain(secret);
    expect(said).toMatch(/2 ->[^]*works/);
  },
);
