import { openTestPlugin, type PluginUnderTest, type TestPlugin } from "./plugin.ts";
import type { TestRunner } from "./runner.ts";

/** Tests what every plugin owes the gateway, whatever it adds. */
export function pluginContract(
  { afterEach, describe, expect, test }: TestRunner,
  { name, ...under }: PluginUnderTest & { readonly name: string },
): void {
  const opened: TestPlugin[] = [];
  const open = async () => {
    const plugin = await openTestPlugin(under);
    opened.push(plugin);
    return plugin;
  };

  describe(`the plugin ${name}`, () => {
    afterEach(async () => {
      for (const plugin of opened.splice(0)) await plugin.close();
    });

    test("is loaded, and adds something", async () => {
      const { record } = await open();
      expect(Object.keys(record.added ?? {})).not.toEqual([]);
    });

    test("uses only members and hooks that the gateway has", async () => {
      const { record } = await open();
      expect([record.refusedParts, record.notServed, record.neverCalled].flatMap((list) => list ?? [])).toEqual([]);
    });

    test("leaves nothing when it is unloaded, and adds the same when it is loaded again", async () => {
      const first = await openTestPlugin(under);
      expect((await first.close()).left).toEqual({});
      expect((await open()).record.added).toEqual(first.record.added);
    });

    test("describes its tools to the model, with an object as their input", async () => {
      const { tools } = await open();
      for (const tool of tools) {
        expect(tool.description).not.toBe(tool.name);
        expect(tool.jsonSchema).toMatchObject({ type: "object" });
      }
    });
  });
}
