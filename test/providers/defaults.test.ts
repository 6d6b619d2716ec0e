import { describe, expect, it } from "vitest";
import { createModels } from "../../src/providers/catalog.ts";
import { KEYED_PROVIDERS } from "../../src/providers/keys.ts";

describe("the model that a key alone chooses", () => {
  it.each(KEYED_PROVIDERS)("is in the catalogue for $provider", async ({ provider, variables, model }) => {
    const models = createModels({ providers: {}, env: { [variables[0] ?? ""]: "key" }, probeLocal: false });
    expect(await models.choose()).toEqual({ provider, id: model });
    const listed = await models.list();
    expect(listed.map(({ id }) => id)).toContain(model);
    expect(await models.find({ provider, id: model })).toMatchObject({ info: { provider, id: model } });
  });
});
