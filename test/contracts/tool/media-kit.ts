import { mediaTools } from "../../../src/tools/media-tools.ts";
import { webFetchConfig } from "../../../src/tools/web/config.ts";
import type { MediaSettings } from "../../../src/types/media/settings.ts";
import type { ToolContribution } from "../../../src/types/run/tool.ts";
import { keepInWorkspace } from "../../../src/utils/files/keep-in-workspace.ts";

const MODELS = { models: [{ provider: "fake", id: "fake-1" }] };

/** An agent that has every tool for media. */
export const MEDIA: MediaSettings = {
  image: MODELS,
  pdf: MODELS,
  draw: MODELS,
  pdfMaxBytes: 10_485_760,
  pdfMaxPages: 20,
};

export const mediaContributions = (): readonly ToolContribution[] =>
  mediaTools({ web: () => webFetchConfig.parse({}), mediaDir: "/nowhere", keep: keepInWorkspace });
