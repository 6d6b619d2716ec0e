import { BUILT_IN } from "../parts.ts";
import { section, type SystemSection } from "../system-context.ts";

export const workspace: SystemSection = {
  name: "workspace",
  minimal: true,
  source: () => "agents.defaults.workspace",
  render: (context) =>
    section(
      "## Workspace",
      `You work in: ${context.sandbox?.directory ?? context.workspace}`,
      "Relative paths start there. Keep your files in it unless you are told otherwise.",
    ),
};

export const documentation: SystemSection = {
  name: "documentation",
  source: ({ docsPath }) => docsPath ?? BUILT_IN,
  render: (context) =>
    context.docsPath === undefined
      ? undefined
      : section(
          "## Documentation",
          `The gateway's documentation lies in: ${context.docsPath}`,
          "Read there first when you are asked how OpenClaw behaves or is configured.",
        ),
};

export const sandbox: SystemSection = {
  name: "sandbox",
  minimal: true,
  source: () => "agents.defaults.sandbox",
  render: (context) => (context.sandbox === undefined ? undefined : section("## Sandbox", context.sandbox.text)),
};

export const runtime: SystemSection = {
  name: "runtime",
  minimal: true,
  source: () => "this machine",
  render({ runtime: facts }) {
    const parts = [
      `agent=${facts.agentId}`,
      `host=${facts.host}`,
      `os=${facts.os} (${facts.arch})`,
      `node=${facts.node}`,
      `model=${facts.provider}/${facts.model}`,
      `thinking=${facts.thinking}`,
      `reasoning=${facts.reasoning}`,
      facts.channel === undefined ? undefined : `channel=${facts.channel}`,
      facts.capabilities === undefined ? undefined : `capabilities=${facts.capabilities.join(",") || "none"}`,
    ];
    return section(
      "## Runtime",
      `Runtime: ${parts.filter((part) => part !== undefined).join(" | ")}`,
      `${facts.reasoning === "off" ? "Nobody is shown your thoughts" : "People are shown your thoughts"} (reasoning). \`/think\` and ` +
        "`/reasoning` in the chat change these levels.",
    );
  },
};
