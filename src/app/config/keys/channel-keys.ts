import type { z } from "zod";
import {
  directConfig,
  dmConfig,
  groupConfig,
  groupTopicConfig,
  guildConfig,
  topicConfig,
} from "../../../channels/chat-config.ts";
import { streamingConfig } from "../../../channels/config.ts";
import { isRecord, type KeyPath } from "../problem.ts";
import { own } from "../../../utils/own.ts";

/** The paths of the sections that every channel has, and their keys; `*` is any name. */
const SECTIONS: readonly (readonly [at: KeyPath, shape: object])[] = [
  [["dm"], dmConfig.shape],
  [["guilds", "*"], guildConfig.shape],
  ...[["groups"], ["channels"], ["guilds", "*", "channels"]].flatMap((at) =>
    chatsAt(at, groupConfig.shape, groupTopicConfig.shape),
  ),
  ...chatsAt(["direct"], directConfig.shape, topicConfig.shape),
  [["streaming"], streamingConfig.shape],
];

function chatsAt(at: KeyPath, shape: object, topic: object): readonly (readonly [at: KeyPath, shape: object])[] {
  return [
    [[...at, "*"], shape],
    [[...at, "*", "topics", "*"], topic],
  ];
}

/** Keys without effect inside the sections that every channel has; the adapter checks its own keys. */
export function foreignBelow(input: Record<string, unknown>, schema: z.ZodType | undefined): KeyPath[] {
  const taken = schema && "shape" in schema && isRecord(schema.shape) ? schema.shape : {};
  return SECTIONS.filter(([[first = ""]]) => !Object.hasOwn(taken, first)).flatMap(([at, shape]) =>
    sectionsAt(input, at).flatMap(([path, section]) =>
      Object.keys(section)
        .filter((key) => !Object.hasOwn(shape, key))
        .map((key) => [...path, key]),
    ),
  );
}

/** The sections of a value that lie at such a path, each with its own path. */
function sectionsAt(value: unknown, at: KeyPath, path: KeyPath = []): (readonly [KeyPath, Record<string, unknown>])[] {
  if (!isRecord(value)) return [];
  const [first, ...rest] = at;
  if (first === undefined) return [[path, value]];
  const names = first === "*" ? Object.keys(value) : [String(first)];
  return names.flatMap((name) => sectionsAt(own(value, name), rest, [...path, name]));
}
