/**
 * Test suites for plugins: `openclaw/plugin-sdk/testing`. Each takes the functions of your own Vitest first, so that this
 * package needs none.
 */
export { channelContract } from "../../testing/channel/contract.ts";
export type { ChannelUnderTest } from "../../testing/channel/contract.ts";
export { Host as ChannelTestHost } from "../../testing/channel/host.ts";
export type { AnyPlatform as ChannelTestPlatform, PlatformFile } from "../../testing/channel/platform.ts";
export { contextEngineContract } from "../../testing/context-engine.ts";
export type { EngineUnderTest } from "../../testing/context-engine.ts";
export type { TestRunner } from "../../testing/runner.ts";
export { openTestPlugin } from "../../testing/plugin.ts";
export type { PluginUnderTest, TestPlugin } from "../../testing/plugin.ts";
export { pluginContract } from "../../testing/plugin-contract.ts";
