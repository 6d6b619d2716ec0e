import { packageVersion } from "./package-root.ts";

// The program's entry, which `bin/openclaw.mjs` imports on a suitable Node. Everything else is loaded on demand.
const args = process.argv.slice(2);

if (args.length === 1 && ["--version", "-v", "-V"].includes(args[0] ?? "")) {
  process.stdout.write(`${packageVersion()}\n`);
} else {
  // What any command writes is its user's alone, also where the code says nothing about rights.
  process.umask(0o077);
  const { runCli } = await import("./cli/run/run-cli.ts");
  await runCli(args);
}
