import type { ToolContribution } from "../../types/run/tool.ts";
import { imageTool } from "./image.ts";
import { pdfTool } from "./pdf/pdf.ts";
import type { SourcePorts } from "./source.ts";

/** The tools for images, documents and speech. */
export const mediaTools = (ports: SourcePorts): readonly ToolContribution[] => [
  { name: "pdf", forRun: (scene) => pdfTool(scene, ports) },
  { name: "image", forRun: (scene) => imageTool(scene, ports) },
];
