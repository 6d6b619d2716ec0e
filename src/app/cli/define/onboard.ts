import { Option, type Command } from "commander";
import { KEY_CHOICES, REFUSED_FLAGS, SERVER_CHOICES } from "../provider-choices.ts";
import type { ConfigureFlags, SetupFlags } from "../commands/onboard/configure.ts";
import { listOf, wholeNumber, type Act } from "./act.ts";

/** `onboard`, which sets everything up; `setup` and `configure`, which do parts of it. */
export function defineOnboard(program: Command, act: Act): void {
  program
    .command("setup")
    .description("make the config, the folders of the state and the workspace; no model, no question")
    .option("--workspace <dir>", "folder of the agent")
    .addOption(new Option("--baseline", "no effect: the default").hideHelp())
    .option("--json", "for scripts")
    .action(act(async (io, flags: SetupFlags) => (await import("../commands/onboard/configure.ts")).setup(io, flags)));
  program
    .command("configure")
    .description("change parts of the set-up with questions: one section, or those that you choose")
    .option("--section <name>", "workspace, model, web, gateway, daemon, channels, plugins, skills or health", listOf)
    .action(
      act(async (io, flags: ConfigureFlags) => (await import("../commands/onboard/configure.ts")).configure(io, flags)),
    );
  const onboard = program
    .command("onboard")
    .description("set up a model, a channel, yourself as owner, and the service; every step can be left")
    .option("--adopt", "adopt a state directory that another program wrote last, so that channels start")
    .option("--non-interactive", "ask nothing: the flags have all answers; needs --accept-risk")
    .option("--accept-risk", "you know that the agent runs commands for whoever may write to it")
    .addOption(new Option("--mode <mode>", "where the gateway runs").choices(["local", "remote"]))
    .addOption(new Option("--flow <flow>", "how much is asked").choices(["quickstart", "advanced", "manual"]))
    .option("--workspace <dir>", "folder of the agent")
    .option("--agent-name <name>", "name of the agent")
    .option("--reset", "first set the config aside as a .bak, and what --reset-scope says")
    .addOption(
      new Option("--reset-scope <scope>", "what is set aside; the second unless given").choices([
        "config",
        "config+creds+sessions",
        "full",
      ]),
    )
    .option("--json", "for scripts");
  defineModelFlags(onboard);
  defineGatewayFlags(onboard);
  defineRest(onboard);
  onboard.action(
    act(async (io, flags: Readonly<Record<string, unknown>>) =>
      (await import("../commands/onboard/onboard.ts")).onboard(io, flags),
    ),
  );
}

function defineModelFlags(onboard: Command): void {
  onboard
    .option(
      "--auth-choice <choice>",
      "the model's provider: apiKey, openai-api-key, ollama, custom-api-key, token, skip, …",
    )
    .addOption(
      new Option("--secret-input-mode <mode>", "store a new key, or refer to its variable").choices([
        "plaintext",
        "ref",
      ]),
    )
    .option("--custom-base-url <url>", "address of a custom provider or of a server of your own")
    .option("--custom-model-id <id>", "model, where it is not the provider's usual one")
    .option("--custom-api-key <key>", "key of a custom provider")
    .option("--custom-provider-id <id>", "name of a custom provider; made of its address unless given")
    .addOption(
      new Option("--custom-compatibility <api>", "the API that a custom provider speaks; openai unless given").choices([
        "openai",
        "openai-responses",
        "anthropic",
      ]),
    )
    .option("--custom-image-input", "the custom model takes images")
    .option("--custom-text-input", "the custom model takes text only")
    .option("--token <token>", "token of a subscription, with --auth-choice token")
    .option("--token-provider <id>", "provider of that token; anthropic unless given")
    .option("--token-profile-id <id>", "name of that token; <provider>:manual unless given")
    .option("--token-expires-in <duration>", "when that token ends, such as 365d");
  const seen = new Set<string>();
  for (const { flag, label } of [...KEY_CHOICES, ...SERVER_CHOICES]) {
    if (flag === undefined || seen.has(flag)) continue;
    seen.add(flag);
    onboard.option(`--${flag} <key>`, `key of ${label}`);
  }
}

function defineGatewayFlags(onboard: Command): void {
  onboard
    .option("--gateway-port <port>", "TCP port of the gateway", wholeNumber(1, 65_535))
    .addOption(
      new Option("--gateway-bind <mode>", "address to listen on").choices([
        "loopback",
        "lan",
        "auto",
        "custom",
        "tailnet",
      ]),
    )
    .addOption(new Option("--gateway-auth <mode>", "how clients log in").choices(["token", "password"]))
    .option("--gateway-token <token>", "token of clients; the gateway makes one unless given")
    .option("--gateway-token-ref-env <name>", "variable that has the token of clients")
    .option("--gateway-password <password>", "password of clients")
    .addOption(new Option("--tailscale <mode>", "off; the gateway does not run Tailscale itself").hideHelp())
    .option("--remote-url <url>", "with --mode remote: address of the gateway elsewhere, ws:// or wss://")
    .option("--remote-token <token>", "its token")
    .option("--remote-password <password>", "its password");
}

function defineRest(onboard: Command): void {
  onboard
    .option("--install-daemon", "install the service")
    .option("--no-install-daemon", "do not install the service")
    .addOption(new Option("--skip-daemon", "the same").implies({ installDaemon: false }).hideHelp())
    .addOption(new Option("--daemon-runtime <name>", "Node runs the gateway").choices(["node"]).hideHelp())
    .option("--skip-bootstrap", "the workspace gets no files to begin with")
    .option("--skip-channels", "no channel")
    .option("--skip-health", "do not wait for the gateway")
    .option("--skip-ui", "do not name the page at the end")
    .addOption(new Option("--skip-skills", "no skills").hideHelp())
    .addOption(new Option("--skip-search", "no web search").hideHelp())
    .addOption(new Option("--skip-hooks", "no hooks").hideHelp())
    .addOption(new Option("--suppress-gateway-token-output", "do not show the token").hideHelp())
    .addOption(new Option("--classic", "as --flow manual").implies({ flow: "manual" }).hideHelp())
    .addOption(new Option("--modern", "no effect: the default").hideHelp());
  for (const [usage, reason] of REFUSED_FLAGS) onboard.addOption(new Option(usage, reason).hideHelp());
}
