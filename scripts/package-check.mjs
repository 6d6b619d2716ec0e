// Packs the package, installs it into an empty folder like a user, and starts it there. Needs the npm registry.
//   npm run package-check
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";

const root = path.dirname(import.meta.dirname);
const work = fs.mkdtempSync(path.join(os.tmpdir(), "package-check-"));
const home = path.join(work, "home");
const app = path.join(work, "app");
const CONNECT_WITHIN_MS = 5 * 60_000;

const npm = (args, cwd) => execFileSync("npm", args, { cwd, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });

function check(what, isTrue, seen = "") {
  if (!isTrue) throw new Error(`${what}: ${seen}`);
  console.log(`ok: ${what}`);
}

function installed() {
  const tgz = npm(["pack", "--pack-destination", work], root).trim().split("\n").at(-1);
  check("the repository keeps no shrinkwrap", !fs.existsSync(path.join(root, "npm-shrinkwrap.json")));
  fs.mkdirSync(app);
  fs.writeFileSync(path.join(app, "package.json"), "{}");
  npm(["install", "--ignore-scripts=false", "--foreground-scripts", "--no-audit", path.join(work, tgz)], app);
  const { packages } = JSON.parse(fs.readFileSync(path.join(app, "package-lock.json"), "utf8"));
  const scripts = Object.keys(packages).filter((place) => packages[place].hasInstallScript);
  check("nothing that is installed has an install script", scripts.length === 0, scripts.join());
  const modules = fs.readdirSync(path.join(app, "node_modules")).filter((name) => !name.startsWith("."));
  check("the gateway, ripgrep and a pty are all", modules.join() === "@lydell,@vscode,claw-gateway", modules.join());
  const commands = fs.readdirSync(path.join(app, "node_modules/.bin")).filter((name) => name.includes("claw"));
  check("it has both commands", commands.join() === "claw-gateway,openclaw", commands.join());
  const parts = ["npm-shrinkwrap.json", "dist/THIRD_PARTY_NOTICES", "dist/sbom.json"];
  const missing = parts.filter((name) => !fs.existsSync(path.join(app, "node_modules/claw-gateway", name)));
  check("shrinkwrap, notices and SBOM are there", missing.length === 0, missing.join());
}

const bin = path.join(app, "node_modules/.bin/claw-gateway");
const libraries = path.join(home, "state/libraries");
const env = { ...process.env, OPENCLAW_STATE_DIR: home };

/** Runs the gateway until a line of its log matches. Returns its peak memory in kB too, if /proc has it. */
async function gatewayUntil(config, fits) {
  fs.mkdirSync(home, { recursive: true, mode: 0o700 });
  fs.writeFileSync(path.join(home, "openclaw.json"), JSON.stringify(config), { mode: 0o600 });
  const child = spawn(process.execPath, [bin, "gateway", "run", "--port", "0"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const timer = setTimeout(() => child.kill("SIGKILL"), CONNECT_WITHIN_MS);
  const lines = [];
  const found = Promise.withResolvers();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      if (fits(line)) found.resolve(line);
    });
  }
  const line = await Promise.race([found.promise, ended.then(() => undefined)]);
  const status = `/proc/${child.pid}/status`;
  const kb = fs.existsSync(status) ? /VmRSS:\s+(\d+)/.exec(fs.readFileSync(status, "utf8"))?.[1] : undefined;
  clearTimeout(timer);
  child.kill("SIGTERM");
  await ended;
  return { line, lines, kb };
}

async function started() {
  const version = execFileSync(process.execPath, [bin, "--version"], { env, encoding: "utf8" }).trim();
  check("openclaw --version", /^\d+\.\d+\.\d+/.test(version), version);
  const without = await gatewayUntil({}, (line) => line.includes('"listening"') || line.includes("listening"));
  check(`the gateway starts, ${without.kb} kB`, without.line !== undefined, without.lines.join("\n"));
  check("without WhatsApp it fetches nothing", !fs.existsSync(libraries));
  const config = { channels: { whatsapp: { enabled: true } } };
  const end = await gatewayUntil(config, (line) => line.includes("channel stopped") || line.includes("in trouble"));
  const isLoaded = end.line?.includes("not linked yet") === true;
  check(`WhatsApp fetches its library and loads it, ${end.kb} kB`, isLoaded, end.lines.join("\n"));
  const names = fs.readdirSync(libraries);
  check("the library has a folder of its own", names.length === 1 && names[0].startsWith("whatsapp-"), names.join());
}

try {
  installed();
  await started();
} finally {
  fs.rmSync(work, { recursive: true, force: true });
}
