import { sameInEachRun } from "./lazy-tool.ts";
import type { ToolContribution } from "../types/run/tool.ts";
import { type DrawPorts, imageGenerateTool } from "./media/image-generate.ts";
import { imageTool } from "./media/image.ts";
import { pdfTool } from "./media/pdf/pdf.ts";

/** The tools for images and documents. */
export const mediaTools = (ports: DrawPorts): readonly ToolContribution[] => [
  { name: "pdf", appearance: sameInEachRun, forRun: (scene) => pdfTool(scene, ports) },
  {
    name: "image",
    appearance: ({ agent }) => (agent.media?.image ? "" : false),
    forRun: (scene) => imageTool(scene, ports),
  },
  // Guests get the tool only by name, because an image costs as much as many answers.
  {
    name: "image_generate",
    namedFor: "guests",
    appearance: ({ agent }) => (agent.media?.draw ? "" : false),
    forRun: (scene) => imageGenerateTool(scene, ports),
  },
];
