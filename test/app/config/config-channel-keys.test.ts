import { expect, test } from "vitest";
import { z } from "zod";
import { checkConfig } from "../../../src/app/config/check.ts";
import { keysBelow } from "../../../src/app/config/keys/schema-keys.ts";
import { isRecord, showPath } from "../../../src/app/config/schema/problem.ts";
import { bundledContributions, contributedSchemas } from "../../../src/app/contributions/extensions.ts";
import { accountConfig } from "../../../src/channels/config.ts";

const contributions = bundledContributions();
const { channelSchemas } = await contributedSchemas(contributions);
const schemas = await channelSchemas(contributions.channels.map(({ id }) => id));

/** The sections of a schema, by their paths, each with the name of one of its keys. */
const sectionsOf = (schema: z.ZodType) =>
  keysBelow(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), []).flatMap(({ path, node }) => {
    const [key] = isRecord(node["properties"]) ? Object.keys(node["properties"]) : [];
    return key === undefined ? [] : [{ at: path.map((name) => (name === "[]" ? 0 : name)), key }];
  });

const holding = ([first, ...rest]: readonly (string | number)[], value: unknown): unknown => {
  if (first === undefined) return value;
  return first === 0 ? [holding(rest, value)] : { [first]: holding(rest, value) };
};

const warnedOf = (channel: string, account: unknown, channelSchemas = schemas) =>
  checkConfig({ channels: { [channel]: account } }, { channelSchemas }).warnings.map(
    ({ path, message }) => `${showPath(path)}: ${message}`,
  );

test.each(Object.entries(schemas))(
  "a mistyped key in a section of %s is named with the right one",
  (channel, schema) => {
    const sections = [...sectionsOf(accountConfig), ...sectionsOf(schema)];
    expect(sections.length).toBeGreaterThan(10);
    const missed = sections.filter(({ at, key }) => {
      const typo = `${key}s`;
      const whole = showPath(["channels", channel, ...at, typo]);
      const warned = warnedOf(channel, holding([...at, typo], "x")).find((text) => text.startsWith(`${whole}: `));
      return !warned?.includes("did you mean");
    });
    expect(missed.map(({ at, key }) => [channel, ...at, key].join("."))).toEqual([]);
  },
);

test("a key that nothing obeys is named in every section, one of the field as known", () => {
  const warned = warnedOf("slack", { slashCommand: { sessionPrefix: "x" }, thread: { zork: 1 } });
  expect(warned).toEqual([
    "channels.slack.slashCommand.sessionPrefix: is known, but has no effect here yet",
    "channels.slack.thread.zork: unknown to slack",
  ]);
});

test("the settings of an installed channel are known by each form of its schema", () => {
  const own = z.object({ botId: z.string(), way: z.object({ port: z.number() }) });
  const others = z.object({ secret: z.string() });
  const account = { botId: "1", way: { port: 1 }, secret: "s", groups: { g: { requireMention: true } } };
  for (const schema of [
    own.extend(others.shape),
    own.and(others),
    own.or(others),
    z.lazy(() => own.and(others)),
    z.any(),
  ])
    expect(warnedOf("third", account, { third: schema })).toEqual([]);
  expect(warnedOf("third", { ...account, way: { prt: 1 } }, { third: own.and(others) })).toEqual([
    "channels.third.way.prt: unknown to third; did you mean port?",
  ]);
});
