import type { Api } from "@mariozechner/pi-ai";
import { z } from "zod";
import type { PiStreamOptions } from "../pi.ts";

const fields = z.looseObject({});
const google = z.looseObject({ config: fields.optional() });
const bedrock = z.looseObject({ inferenceConfig: fields.optional() });

type Place = (body: unknown, topP: number) => unknown;

const atTop: Place = (body, topP) => ({ ...fields.parse(body), top_p: topP });
const inConfig: Place = (body, topP) => {
  const { config, ...rest } = google.parse(body);
  return { ...rest, config: { ...config, topP } };
};

/** Where each API has `top_p` in its request. The SDK has no option for it, and the server of Codex does not accept it. */
const PLACES: Readonly<Partial<Record<Api, Place>>> = {
  "openai-completions": atTop,
  "openai-responses": atTop,
  "azure-openai-responses": atTop,
  "anthropic-messages": atTop,
  "google-generative-ai": inConfig,
  "google-vertex": inConfig,
  "mistral-conversations": (body, topP) => ({ ...fields.parse(body), topP }),
  "bedrock-converse-stream": (body, topP) => {
    const { inferenceConfig, ...rest } = bedrock.parse(body);
    return { ...rest, inferenceConfig: { ...inferenceConfig, topP } };
  },
};

/** Adds `topP` to the request if its API accepts it. */
export function withTopP(api: Api, topP: number | undefined): Pick<PiStreamOptions, "onPayload"> {
  const place = PLACES[api];
  return topP === undefined || place === undefined ? {} : { onPayload: (body: unknown) => place(body, topP) };
}
