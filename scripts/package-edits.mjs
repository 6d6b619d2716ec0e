// What `scripts/build.mjs` changes in the packages that it bundles.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Parts of packages that the gateway never uses, each with what replaces it. They would be evaluated at each start: together
 * they take about 8 MB of memory. Each is replaced for one package only: `from` is a part of the importing file's path.
 */
const unused = [
  // The Telegram channel has its own HTTP client (extensions/telegram/api.ts), and Node has an AbortController.
  { from: /[\\/]grammy[\\/]/, name: /^node-fetch$/, contents: "module.exports = { default: globalThis.fetch };" },
  {
    from: /[\\/]grammy[\\/]/,
    name: /^abort-controller$/,
    contents: "exports.AbortController = globalThis.AbortController;",
  },
  // No route has a schema; src/server/server.ts gives Fastify compilers that say so.
  {
    from: /[\\/]fastify[\\/]lib[\\/]/,
    name: /^@fastify\/(?:ajv|fast-json-stringify)-compiler$/,
    contents: "module.exports = () => undefined;",
  },
  // No plugin of Fastify's is used that names a version, no route has a pattern, and nothing calls its `inject`.
  {
    from: /[\\/]fastify[\\/]lib[\\/]/,
    name: /^semver$/,
    contents: "module.exports = { satisfies: () => true, gt: () => false, coerce: (version) => version };",
  },
  { from: /[\\/]find-my-way[\\/]/, name: /^safe-regex2$/, contents: "module.exports = () => true;" },
  { from: /[\\/]fastify[\\/]fastify\.js$/, name: /^light-my-request$/, contents: "module.exports = {};" },
  // The gateway serves plain HTTP/1.1.
  { from: /[\\/]fastify[\\/]lib[\\/]/, name: /^node:http(?:s|2)$/, contents: "module.exports = {};" },
  // src/mcp gives the MCP SDK a validator.
  { from: /modelcontextprotocol/, name: /ajv-provider\.js$/, contents: "export class AjvJsonSchemaValidator {}" },
  // src/reply/markdown finds addresses itself.
  { from: /[\\/]markdown-it[\\/]/, name: /^linkify-it$/, contents: "export class LinkifyIt {}" },
  // Only English messages are ever shown.
  { from: /[\\/]zod[\\/]/, name: /^\.\.\/locales\/index\.js$/, contents: 'export { default as en } from "./en.js";' },
];

const withoutUnused = {
  name: "without-unused",
  setup(build) {
    for (const [index, { from, name, contents }] of unused.entries()) {
      build.onResolve({ filter: name }, ({ path: file, importer, resolveDir }) =>
        from.test(importer)
          ? { path: file, namespace: `unused-${index}`, pluginData: path.resolve(resolveDir, path.dirname(file)) }
          : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: `unused-${index}` }, ({ pluginData: resolveDir }) => ({
        contents,
        resolveDir,
      }));
    }
  },
};

/** The folder, below dist/, of the files with the models that the SDK knows of each provider. */
const CATALOGUE = "models";
const sdk = path.join(import.meta.dirname, "../node_modules/@mariozechner/pi-ai/dist");
const { MODELS } = await import(pathToFileURL(path.join(sdk, "models.generated.js")).href);

/** Those files, by their names below dist/. */
export const catalogueFiles = () =>
  Object.entries(MODELS).map(([provider, models]) => [`${CATALOGUE}/${provider}.json`, JSON.stringify(models)]);

/** In `file`, `before` becomes `after`. The build fails where a new version of a package has no such text. */
const edits = [
  {
    // The import is hidden from bundlers, for browsers. The gateway needs it: a chunk of its own.
    file: /pi-ai[\\/]dist[\\/]providers[\\/]register-builtins\.js$/,
    before: 'importNodeOnlyProvider("./amazon-bedrock.js")',
    after: 'import("./amazon-bedrock.js")',
  },
  {
    // The texts of a debug log are made for each request, also when nothing is logged. The gateway has a log of its own.
    file: /openai[\\/]internal[\\/]utils[\\/]log\.m?js$/,
    before: "formatRequestDetails = (details) => {",
    after: "formatRequestDetails = (details) => { return {};",
  },
  {
    // All known models of all providers are a program of 300 KB and objects that are larger, and a gateway uses one or two providers: each is
    // read when somebody asks for its models. The SDK is in dist/chunks/.
    file: /pi-ai[\\/]dist[\\/]models\.js$/,
    before: `import { MODELS } from "./models.generated.js";
const modelRegistry = new Map();
// Initialize registry from MODELS on module load
for (const [provider, models] of Object.entries(MODELS)) {
    const providerModels = new Map();
    for (const [id, model] of Object.entries(models)) {
        providerModels.set(id, model);
    }
    modelRegistry.set(provider, providerModels);
}
`,
    after: `import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
const providers = ${JSON.stringify(Object.keys(MODELS))};
const read = new Map();
function modelsOf(provider) {
  const file = fileURLToPath(new URL("../${CATALOGUE}/" + provider + ".json", import.meta.url));
  try {
    read.set(provider, new Map(Object.entries(JSON.parse(readFileSync(file, "utf8")))));
  } catch (error) {
    throw new Error("The models of " + provider + " cannot be read from " + file + " (" + error.message + "): install or build openclaw again.", { cause: error });
  }
  return read.get(provider);
}
const modelRegistry = {
  get: (provider) => read.get(provider) ?? (providers.includes(provider) ? modelsOf(provider) : undefined),
  keys: () => providers,
};
`,
  },
];

const withEdits = {
  name: "with-edits",
  setup(build) {
    for (const { file, before, after } of edits) {
      build.onLoad({ filter: file }, (args) => {
        const code = fs.readFileSync(args.path, "utf8");
        const contents = code.replace(before, () => after);
        if (contents === code) throw new Error(`${args.path} has no ${before}: adapt scripts/package-edits.mjs`);
        return { contents, loader: "js" };
      });
    }
  },
};

/** Plugins of esbuild. */
export const packageEdits = [withoutUnused, withEdits];
