import { afterEach, describe, expect, test } from "vitest";
import { channelContract as suite } from "../../testing/channel/contract.ts";
import type { AnyPlatform } from "../../testing/channel/platform.ts";

export { Host } from "../../testing/channel/host.ts";
export type { AnyPlatform, Platform, PlatformFile } from "../../testing/channel/platform.ts";
export { closeLater, KEY, start, stopAll, text, textAs } from "../../testing/channel/running.ts";

/** The exported suite of channels, with this project's Vitest. `open` starts a new fake of the platform. */
export const channelContract = (name: string, open: () => Promise<AnyPlatform>): void =>
  suite({ afterEach, describe, expect, test }, { name, open });
