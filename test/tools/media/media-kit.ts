import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DrawJobs } from "../../../src/tools/media/draw-jobs.ts";
import { mediaTools } from "../../../src/tools/media-tools.ts";
import { runTool } from "../../../src/tools/run.ts";
import { webFetchConfig } from "../../../src/tools/web/config.ts";
import { WebFetch } from "../../../src/tools/web/web-fetch.ts";
import type { AskedModel, SideAnswer, SidePart, SideQuestion } from "../../../src/types/media/side-call.ts";
import type { MediaSettings } from "../../../src/types/media/settings.ts";
import type { ModelRef } from "../../../src/types/run/model.ts";
import type { ToolResult } from "../../../src/types/run/tool.ts";
import type { Drawing, DrawQuestion } from "../../../src/types/media/drawing.ts";
import { keepInWorkspace } from "../../../src/utils/files/keep-in-workspace.ts";
import { createTools } from "../../kit/create-tools.ts";
import { png } from "../../kit/pictures.ts";
import { agentSettings, noRules, textOf, toolContext } from "../../kit/tools.ts";

export const EYES: ModelRef = { provider: "eyes", id: "eyes-1" };

/** The model that a tool asks; it sees images. */
export const SEEING: AskedModel = {
  info: { ...EYES, name: "Eyes", contextWindow: 100_000, maxTokens: 100, reasoning: false, input: ["text", "image"] },
  readsPdf: false,
};

export interface Given {
  readonly media?: Partial<MediaSettings>;
  readonly allowedModels?: readonly string[];
  readonly fetch?: object;
  /** The run has no tool `web_fetch`. */
  readonly offline?: boolean;
  /** False: the config names no model that draws. */
  readonly draws?: boolean;
  readonly mostChars?: number;
  /** Keeps drawings that take long. */
  readonly jobs?: DrawJobs;
  readonly signal?: AbortSignal;
  /** The model that is asked. */
  readonly model?: AskedModel;
  readonly answer?: Partial<SideAnswer>;
  /** What a model draws; a small image when unset. */
  drawing?(question: DrawQuestion, signal: AbortSignal): Promise<Partial<Drawing>>;
}

export interface MediaKit {
  readonly workspace: string;
  /** The received files. */
  readonly received: string;
  /** What models were asked, and shown. */
  readonly questions: SideQuestion[];
  readonly shown: SidePart[];
  readonly drawings: DrawQuestion[];
  tools(given?: Given): ReturnType<typeof createTools>;
  call(name: string, input: object, given?: Given): Promise<{ readonly result: ToolResult; readonly said: string }>;
  close(): void;
}

/** A workspace with the tools for media, and a model that answers "A cat." unless it is told otherwise. */
export function openMediaKit(): MediaKit {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "media-tools-")));
  const [workspace, received] = [join(root, "work"), join(root, "media")];
  for (const dir of [workspace, received]) mkdirSync(dir);
  const kit: MediaKit = {
    workspace,
    received,
    questions: [],
    shown: [],
    drawings: [],
    tools(given = {}) {
      const fetch = () => webFetchConfig.parse(given.fetch ?? { ssrfPolicy: { allowedHostnames: ["127.0.0.1"] } });
      const own = [
        ...(given.offline === true ? [] : [{ name: "web_fetch", forRun: () => new WebFetch(fetch).tool() }]),
        ...mediaTools({ web: fetch, mediaDir: received, keep: keepInWorkspace, jobs: given.jobs }),
      ];
      const settings = {
        ...agentSettings(workspace),
        media: {
          image: { models: [EYES] },
          ...(given.draws !== false && { draw: { models: [EYES] } }),
          pdfMaxBytes: 1_000_000,
          pdfMaxPages: 5,
          ...given.media,
        },
        ...(given.allowedModels && { allowedModels: given.allowedModels }),
      };
      return createTools({
        settings,
        rules: noRules,
        rights: "owner",
        deniedPaths: [],
        readablePaths: [received],
        own,
      });
    },
    async call(name, input, given = {}) {
      const tool = kit.tools(given).find((one) => one.name === name);
      if (!tool) throw new Error(`there is no tool ${name}`);
      const result = await runTool(tool, input, {
        ...toolContext(workspace, { ...(given.signal && { signal: given.signal }) }),
        mostChars: given.mostChars,
        aside: {
          async ask(question) {
            kit.questions.push(question);
            const parts = await question.show(given.model ?? SEEING);
            if ("why" in parts) throw new Error(parts.why);
            kit.shown.push(...parts);
            return { text: "A cat.", model: EYES, isCut: false, ...given.answer };
          },
          async draw(question, signal) {
            kit.drawings.push(question);
            const images = [{ bytes: png(2, 2), mime: "image/png", ending: "png" }];
            return { images, model: EYES, leftOut: [], ...(await given.drawing?.(question, signal)) };
          },
        },
      });
      return { result, said: textOf(result) };
    },
    close: () => rmSync(root, { recursive: true, force: true }),
  };
  return kit;
}
